#include "check.h"

static void root_is_checked(void **state)
{
    (void)state;
    assert_false(sysroot_set("/nonexistent-directory"));
    assert_false(sysroot_set(__FILE__));
    assert_true(sysroot_set(NULL));
    assert_true(sysroot_live());
    assert_string_equal(sysroot_get(), "");
    use_tree("two-nodes");
    assert_false(sysroot_live());
    assert_true(sysroot_set("/"));
    assert_true(sysroot_live());
}

static void reads_under_root(void **state)
{
    (void)state;
    use_tree("two-nodes");
    char *text, buf[8];
    int64_t v;
    assert_int_equal(sysroot_read("/sys/devices/system/node/node1/cpulist", &text), 4);
    assert_string_equal(text, "2-3\n");
    free(text);
    assert_int_equal(sysroot_read("/sys/nothing", &text), -ENOENT);
    assert_null(text);
    assert_int_equal(sysroot_read_into("/sys/devices/system/node/node1/cpulist", buf, sizeof(buf)),
                     4);
    assert_int_equal(sysroot_read_into("/sys/devices/system/node/node1/meminfo", buf, sizeof(buf)),
                     -EOVERFLOW);
    assert_string_equal(buf, "Node 1 ");
    assert_int_equal(sysroot_read_i64("/sys/devices/system/cpu/cpu3/topology/core_id", &v), 0);
    assert_int_equal(v, 1);
    assert_int_equal(sysroot_read_i64("/sys/devices/system/node/node1/cpulist", &v), -EINVAL);
    assert_int_equal(sysroot_write("/sys/devices/virtual/workqueue/cpumask", "1"), -EROFS);
    sysroot_set(NULL);
}

static void lists_sorted_by_number(void **state)
{
    (void)state;
    char *dir = make_dir(), **names;
    put_file(dir, "d/node10/x", "");
    put_file(dir, "d/node2/x", "");
    put_file(dir, "d/node1/x", "");
    assert_true(sysroot_set(dir));
    assert_int_equal(sysroot_list("/d", &names), 3);
    assert_string_equal(names[0], "node1");
    assert_string_equal(names[1], "node2");
    assert_string_equal(names[2], "node10");
    assert_null(names[3]);
    sysroot_list_free(names);
    assert_int_equal(sysroot_list("/e", &names), -ENOENT);
    sysroot_set(NULL);
    remove_dir(dir);
}

static void follows_links_as_stored(void **state)
{
    (void)state;
    char *dir = make_dir(), link[PATH_MAX], buf[64];
    put_file(dir, "file", "12345");
    snprintf(link, sizeof(link), "%s/link", dir);
    assert_int_equal(symlink("../../devices/pci0", link), 0);
    assert_true(sysroot_set(dir));
    assert_int_equal(sysroot_readlink("/link", buf, sizeof(buf)), 18);
    assert_string_equal(buf, "../../devices/pci0");
    assert_int_equal(sysroot_readlink("/link", buf, 8), -ENAMETOOLONG);
    assert_int_equal(sysroot_readlink("/file", buf, sizeof(buf)), -EINVAL);
    sysroot_set(NULL);
    remove_dir(dir);
}

static void long_files_come_whole(void **state)
{
    (void)state;
    char *dir = make_dir(), *text, *long_text = malloc(100001);
    memset(long_text, 'y', 100000);
    long_text[100000] = '\0';
    put_file(dir, "long", long_text);
    assert_true(sysroot_set(dir));
    assert_int_equal(sysroot_read("/long", &text), 100000);
    assert_string_equal(text, long_text);
    free(text);
    free(long_text);
    sysroot_set(NULL);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root_is_checked),        cmocka_unit_test(reads_under_root),
        cmocka_unit_test(lists_sorted_by_number), cmocka_unit_test(follows_links_as_stored),
        cmocka_unit_test(long_files_come_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
