/* loadgen/matrix/remount: which mount holds a path, and what a killed remount left. */
#include "check.h"

#include "../../loadgen/matrix/remount.h"
#include "../../placement/sysroot.h"

#include <jansson.h>
#include <unistd.h>

static struct mount_line m;
static struct err err;

static void found(const char *text, const char *path, const char *point)
{
    mount_line_free(&m);
    assert_true(mount_line_find(text, path, &m));
    assert_string_equal(m.point, point);
}

/* Lines in the form of proc_pid_mountinfo(5). */
static const char table[] =
    "21 1 0:19 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "40 21 0:40 / /mnt/nfs rw,relatime shared:9 master:2 - nfs 10.0.0.1:/export "
    "rw,vers=3,proto=rdma,port=20049\n"
    "41 21 0:41 / /mnt/nfs-b rw - nfs4 10.0.0.1:/b rw,vers=4.2\n"
    "42 21 0:42 / /mnt/with\\040blank\\134and\\011tab ro,noatime - nfs h:/a\\040b rw\n";

static void the_mount_of_a_path(void **state)
{
    (void)state;
    found(table, "/mnt/nfs/data", "/mnt/nfs");
    assert_string_equal(m.source, "10.0.0.1:/export");
    assert_string_equal(m.fstype, "nfs");
    /* Those of the mount point and those of the file system. */
    assert_string_equal(m.options, "rw,relatime,rw,vers=3,proto=rdma,port=20049");
    found(table, "/mnt/nfs", "/mnt/nfs");
    /* A name that only begins alike is another folder. */
    found(table, "/mnt/nfs-b/x", "/mnt/nfs-b");
    assert_string_equal(m.fstype, "nfs4");
    found(table, "/mnt/nfs-c", "/");
    found(table, "/home", "/");
}

static void escapes(void **state)
{
    (void)state;
    found(table, "/mnt/with blank\\and\ttab/file", "/mnt/with blank\\and\ttab");
    assert_string_equal(m.source, "h:/a b");
    assert_string_equal(m.options, "ro,noatime,rw");
}

/* Of two on one point the later one covers the first. */
static void covered(void **state)
{
    (void)state;
    found("1 0 0:1 / /a rw - ext4 first rw\n2 1 0:2 / /a rw - nfs second rw\n", "/a/f", "/a");
    assert_string_equal(m.source, "second");
}

static void no_mount(void **state)
{
    (void)state;
    mount_line_free(&m);
    assert_false(mount_line_find("", "/a", &m));
    assert_false(mount_line_find("1 0 0:1 / / rw ext4 x rw\n", "/a", &m)); /* no dash */
    assert_false(mount_line_find("1 0 0:1 / / rw - ext4 x\n", "/a", &m));  /* a field is missing */
    assert_false(mount_line_find("1 0 0:1 / /b rw - ext4 x rw\n", "/a", &m));
}

static void journal(void **state)
{
    (void)state;
    char dir[64], path[128];
    bool done = true;
    snprintf(dir, sizeof(dir), "%s", make_dir());
    snprintf(path, sizeof(path), "%s/remount.json", dir);
    assert_true(remount_restore(path, &done, &err)); /* nothing was left */
    assert_false(done);

    /* It is mounted: somebody was faster, and the journal has done its service. */
    char *text;
    assert_true(sysroot_read("/proc/self/mountinfo", &text) > 0);
    mount_line_free(&m);
    assert_true(mount_line_find(text, "/proc", &m));
    free(text);
    json_t *o = json_pack("{s:s, s:s, s:s, s:s}", "point", m.point, "source", m.source, "fstype",
                          m.fstype, "options", m.options);
    assert_int_equal(json_dump_file(o, path, 0), 0);
    json_decref(o);
    assert_true(remount_restore(path, &done, &err));
    assert_false(done);
    assert_int_not_equal(access(path, F_OK), 0);

    /* One that cannot be read is kept, and said. */
    put_file(dir, "remount.json", "{\"point\": \"/x\"");
    assert_false(remount_restore(path, &done, &err));
    assert_contains(err.text, "cannot be read");
    assert_int_equal(access(path, F_OK), 0);
    remove_dir(dir);
}

static void only_nfs(void **state)
{
    (void)state;
    assert_false(remount_nfs("/proc/version", &err));
    assert_int_equal(err.status, STATUS_USAGE);
    assert_contains(err.text, "/proc (proc), not on NFS");
}

static int end(void **state)
{
    (void)state;
    mount_line_free(&m);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mount_of_a_path),
        cmocka_unit_test(escapes),
        cmocka_unit_test(covered),
        cmocka_unit_test(no_mount),
        cmocka_unit_test(journal),
        cmocka_unit_test(only_nfs),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
