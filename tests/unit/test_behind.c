#include "record_util.h"

#include "../../placement/behind.h"

static const char mounts[] =
    "22 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw\n"
    "30 22 0:52 / /mnt/nfs rw - nfs4 srv:/x rw,proto=rdma,clientaddr=10.0.0.1,addr=10.0.0.2\n"
    "31 22 0:53 / /mnt/nfs2 rw shared:5 - nfs srv:/y rw,proto=tcp,addr=10.0.0.3\n"
    "32 22 0:54 / /mnt/with\\040blank rw - tmpfs tmpfs rw\n"
    "33 30 0:55 / /mnt/nfs/over rw - tmpfs old rw\n"
    "34 30 0:56 / /mnt/nfs/over rw - overlay new rw\n";

static void mount_is(const char *path, const char *type, const char *source)
{
    struct behind_mount m;
    assert_true(behind_find_mount(mounts, path, &m));
    assert_string_equal(m.type, type);
    assert_string_equal(m.source, source);
}

static void longest_mount_point_holds(void **state)
{
    (void)state;
    struct behind_mount m;
    mount_is("/etc/x", "ext4", "/dev/vda1");
    mount_is("/mnt/nfs", "nfs4", "srv:/x");
    mount_is("/mnt/nfs/data", "nfs4", "srv:/x");
    mount_is("/mnt/nfs2/data", "nfs", "srv:/y");
    mount_is("/mnt/nfs3/data", "ext4", "/dev/vda1");
    mount_is("/mnt/with blank/a", "tmpfs", "tmpfs");
    mount_is("/mnt/nfs/over/a", "overlay", "new");
    assert_true(behind_find_mount(mounts, "/a", &m));
    assert_int_equal(m.dev_major, 254);
    assert_int_equal(m.dev_minor, 1);
    assert_false(behind_find_mount("", "/a", &m));
    assert_false(behind_find_mount("nonsense - \n1 2 x:y\n", "/a", &m));
}

static void rdma_by_gid_then_by_function(void **state)
{
    (void)state;
    tree_new();
    char name[DEVICE_NAME_MAX];
    struct err err;
    tree_put("/sys/class/infiniband/a_0/ports/1/gid_attrs/ndevs/0", "eth10\n");
    tree_put("/sys/class/infiniband/b_0/ports/2/gid_attrs/ndevs/3", "eth1\n");
    tree_put("/sys/class/infiniband/c_0/device/net/ib0/mtu", "2044\n");
    assert_true(behind_rdma_of("eth1", name, &err));
    assert_string_equal(name, "b_0");
    assert_true(behind_rdma_of("eth10", name, &err));
    assert_string_equal(name, "a_0");
    assert_true(behind_rdma_of("ib0", name, &err));
    assert_string_equal(name, "c_0");
    /* Through what a bond is made of, when the bond itself has no GID. */
    tree_put("/sys/class/net/bond0/lower_eth1/mtu", "1500\n");
    tree_put("/sys/class/net/eth1/device/local_cpulist", "0\n");
    assert_true(behind_rdma_of("bond0", name, &err));
    assert_string_equal(name, "b_0");
    assert_false(behind_rdma_of("eth2", name, &err));
    assert_non_null(strstr(err.text, "a_0, b_0, c_0"));
    tree_remove();
}

static void disks(void **state)
{
    (void)state;
    tree_new();
    char name[DEVICE_NAME_MAX], *how;
    struct err err;
    tree_put("/sys/devices/d/vda/uevent", "MAJOR=254\nDEVNAME=vda\n");
    tree_put("/sys/devices/d/vda/vda1/uevent", "DEVNAME=vda1\n");
    tree_put("/sys/devices/d/vda/vda1/partition", "1\n");
    tree_put("/sys/devices/d/dm-0/uevent", "DEVNAME=dm-0\n");
    tree_put("/sys/devices/d/dm-0/slaves/vda1/x", "\n");
    tree_put("/sys/devices/d/md0/uevent", "DEVNAME=md0\n");
    tree_put("/sys/devices/d/md0/slaves/vda/x", "\n");
    tree_put("/sys/devices/d/md0/slaves/vdb/x", "\n");
    tree_link("/sys/dev/block/254:1", "../../devices/d/vda/vda1");
    tree_link("/sys/dev/block/253:0", "../../devices/d/dm-0");
    tree_link("/sys/dev/block/9:0", "../../devices/d/md0");
    tree_link("/sys/class/block/vda1", "../../devices/d/vda/vda1");
    assert_true(behind_disk_of(254, 1, name, &err));
    assert_string_equal(name, "vda");
    assert_true(behind_disk_of(253, 0, name, &err));
    assert_string_equal(name, "vda");
    assert_false(behind_disk_of(9, 0, name, &err));
    assert_non_null(strstr(err.text, "md0 is made of 2 disks"));
    assert_false(behind_disk_of(8, 0, name, &err));

    tree_put("/proc/self/mountinfo", "%s", mounts);
    assert_true(behind_find("/etc/x", name, &how, &err));
    assert_string_equal(name, "vda");
    assert_string_equal(how, "the disk behind /etc/x (254:1)");
    free(how);
    assert_false(behind_find("/mnt/with blank/x", name, &how, &err));
    assert_non_null(strstr(err.text, "is on tmpfs"));
    assert_false(behind_find("/mnt/nfs/x", name, &how, &err));
    assert_non_null(strstr(err.text, "route to 10.0.0.2"));
    tree_remove();
}

/* Live: whatever this machine is, its own loopback address leads somewhere. */
static void route_on_a_live_machine(void **state)
{
    (void)state;
    char name[DEVICE_NAME_MAX], *how;
    struct err err;
    sysroot_set(NULL);
    assert_false(behind_find("/proc/self/stat", name, &how, &err));
    assert_non_null(strstr(err.text, "is on proc"));
    assert_false(behind_find("/does/not/exist", name, &how, &err));
    assert_true(behind_netdev_to("127.0.0.1", name, &err));
    assert_string_equal(name, "lo");
    assert_false(behind_netdev_to("not an address", name, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longest_mount_point_holds),
        cmocka_unit_test(rdma_by_gid_then_by_function),
        cmocka_unit_test(disks),
        cmocka_unit_test(route_on_a_live_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
