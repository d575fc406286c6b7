#include "check.h"

#define GIB (1ull << 30)

static void two_nodes(void **state)
{
    (void)state;
    struct topo *t = load_tree("two-nodes");
    assert_true(t->numa);
    assert_int_equal(t->nodes_n, 2);
    assert_int_equal(t->cpus_n, 4);
    assert_set(t->nodes[0].cpus, "0-1");
    assert_set(t->nodes[1].cpus, "2-3");
    assert_int_equal(t->nodes[0].mem_total_bytes, 4 * GIB);
    assert_int_equal(t->nodes[0].mem_free_bytes, 2 * GIB);
    assert_int_equal(t->nodes[0].mem_file_bytes, GIB / 2 + GIB / 4);
    assert_int_equal(t->nodes[0].hugepages_free, 7);
    assert_int_equal(t->nodes[1].hugepages_free, 0);
    assert_int_equal(t->nodes[0].distance[0], 10);
    assert_int_equal(t->nodes[0].distance[1], 20);
    assert_int_equal(t->cpus[3].package, 1);
    assert_int_equal(t->cpus[3].core, 1);
    assert_int_equal(topo_cpu_node(t, 2), 1);
    assert_int_equal(topo_cpu_node(t, 4), -1);
    assert_int_equal(topo_node_index(t, 1), 1);
    assert_int_equal(topo_node_index(t, 2), -1);
    topo_free(t);
}

static void one_node(void **state)
{
    (void)state;
    struct topo *t = load_tree("one-node");
    assert_true(t->numa);
    assert_int_equal(t->nodes_n, 1);
    assert_set(t->nodes[0].cpus, "0-1");
    assert_set(t->allowed, "0-1");
    assert_int_equal(t->nodes[0].hugepages_free, -1);
    topo_free(t);
}

static void kernel_without_numa(void **state)
{
    (void)state;
    struct topo *t = load_tree("no-numa");
    assert_false(t->numa);
    assert_int_equal(t->nodes_n, 1);
    assert_int_equal(t->nodes[0].id, 0);
    assert_set(t->nodes[0].cpus, "0-3");
    assert_true(t->nodes[0].has_memory);
    assert_int_equal(t->nodes[0].mem_total_bytes, 2 * GIB);
    assert_int_equal(t->nodes[0].mem_file_bytes, 3 << 20);
    assert_int_equal(t->nodes[0].hugepages_free, 3);
    assert_int_equal(t->nodes[0].distance[0], 10);
    assert_int_equal(t->cpus[3].node, 0);
    topo_free(t);
}

static void memory_less_nodes(void **state)
{
    (void)state;
    struct topo *t = load_tree("memory-less");
    assert_int_equal(t->nodes_n, 4);
    assert_set(t->nodes[0].cpus, "0-5,24-29");
    assert_set(t->nodes[1].cpus, "6-11,30-35");
    assert_set(t->nodes[2].cpus, "12-17,36-41");
    assert_set(t->nodes[3].cpus, "18-23,42-47");
    assert_false(t->nodes[0].has_memory);
    assert_true(t->nodes[1].has_memory);
    assert_true(t->nodes[2].has_memory);
    assert_false(t->nodes[3].has_memory);
    assert_int_equal(t->nodes[3].distance[0], 12);
    hwloc_bitmap_t mem = topo_nodes_with_memory(t);
    assert_set(mem, "1-2");
    hwloc_bitmap_free(mem);
    topo_free(t);
}

static void sparse_ids(void **state)
{
    (void)state;
    struct topo *t = load_tree("sparse");
    assert_int_equal(t->nodes_n, 2);
    assert_int_equal(t->nodes[0].id, 2);
    assert_int_equal(t->nodes[1].id, 5);
    assert_int_equal(topo_node_index(t, 0), -1);
    assert_int_equal(topo_node_index(t, 5), 1);
    assert_int_equal(topo_cpu_node(t, 4), 5);
    /* Distances come by position among the nodes, not by id; has_cpu says "0" here and is wrong. */
    assert_int_equal(t->nodes[1].distance[0], 20);
    assert_int_equal(t->nodes[1].distance[1], 10);
    hwloc_bitmap_t nodes = topo_nodes_with_cpus(t);
    assert_set(nodes, "2,5");
    hwloc_bitmap_free(nodes);
    topo_free(t);
}

static void nodes_without_cpus(void **state)
{
    (void)state;
    struct topo *t = load_tree("cpu-less");
    hwloc_bitmap_t cpus = topo_nodes_with_cpus(t), mem = topo_nodes_with_memory(t),
                   all = topo_nodes(t);
    assert_set(cpus, "0");
    assert_set(mem, "0-1");
    assert_set(all, "0-2");
    hwloc_bitmap_free(cpus);
    hwloc_bitmap_free(mem);
    hwloc_bitmap_free(all);
    topo_free(t);
}

static void offline_cpus(void **state)
{
    (void)state;
    struct topo *t = load_tree("offline");
    assert_set(t->nodes[1].listed, "4-7");
    assert_set(t->nodes[1].cpus, "4-5");
    assert_set(t->nodes[2].cpus, "");
    assert_true(t->cpus[7].present);
    assert_false(t->cpus[7].online);
    assert_int_equal(topo_cpu_node(t, 7), 1);
    topo_free(t);
}

static void cpus_in_no_node(void **state)
{
    (void)state;
    struct topo *t = load_tree("stray-cpus");
    assert_int_equal(t->cpus_n, 6);
    assert_true(t->cpus[5].online);
    assert_int_equal(topo_cpu_node(t, 5), -1);
    topo_free(t);
}

static void sub_numa_clusters(void **state)
{
    (void)state;
    struct topo *t = load_tree("snc");
    assert_int_equal(t->nodes_n, 8);
    assert_set(t->nodes[7].cpus, "14-15,30-31");
    assert_int_equal(t->nodes[0].distance[3], 12);
    assert_int_equal(t->nodes[0].distance[4], 21);
    assert_int_equal(t->cpus[31].package, 1);
    assert_int_equal(t->cpus[15].sibling, 0);
    assert_int_equal(t->cpus[31].sibling, 1);
    topo_free(t);
}

static void cpuset_with_a_hole(void **state)
{
    (void)state;
    struct topo *t = load_tree("cpuset");
    assert_set(t->allowed, "0-1,3,6-7");
    assert_set(t->nodes[0].cpus, "0-1,3");
    assert_set(t->nodes[1].cpus, "");
    assert_false(t->nodes[0].mem_allowed);
    assert_true(t->nodes[1].mem_allowed);
    assert_false(t->cpus[2].allowed);
    topo_free(t);
}

static void isolated(void **state)
{
    (void)state;
    struct topo *t = load_tree("isolated");
    assert_set(t->isolated, "2-3,6-9");
    assert_true(t->cpus[3].isolated);
    assert_false(t->cpus[1].isolated);
    /* Cpus_allowed is 0-1,4-5: a process does not begin on isolated CPUs, but may ask for them. */
    assert_set(t->allowed, "0-9");
    assert_set(t->nodes[2].cpus, "8-9");
    topo_free(t);
}

/* 1280 CPUs on 80 nodes of 16: above 1024 and above 64. */
static void large_machine(void **state)
{
    (void)state;
    char *dir = make_dir(), path[128], text[1024];
    put_file(dir, "sys/devices/system/cpu/online", "0-1279\n");
    for (int n = 0; n < 80; n++) {
        snprintf(path, sizeof(path), "sys/devices/system/node/node%d/cpulist", n);
        snprintf(text, sizeof(text), "%d-%d\n", n * 16, n * 16 + 15);
        put_file(dir, path, text);
        size_t at = 0;
        for (int m = 0; m < 80; m++)
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%d ", m == n ? 10 : 20);
        snprintf(path, sizeof(path), "sys/devices/system/node/node%d/distance", n);
        put_file(dir, path, text);
    }
    assert_true(sysroot_set(dir));
    struct topo *t;
    assert_true(topo_load(&t, NULL));
    assert_int_equal(t->cpus_n, 1280);
    assert_int_equal(t->nodes_n, 80);
    assert_set(t->nodes[79].cpus, "1264-1279");
    assert_int_equal(topo_cpu_node(t, 1279), 79);
    assert_int_equal(t->nodes[79].distance[79], 10);
    assert_int_equal(t->nodes[79].distance[0], 20);
    topo_free(t);
    sysroot_set(NULL);
    remove_dir(dir);
}

static void broken_files(void **state)
{
    (void)state;
    struct topo *t;
    struct err err = {0};
    char *dir = make_dir();
    assert_true(sysroot_set(dir));
    assert_false(topo_load(&t, &err));
    assert_int_equal(err.status, STATUS_FAILED);
    assert_contains(err.text, "no CPUs");
    put_file(dir, "sys/devices/system/cpu/online", "0-3\n");
    put_file(dir, "sys/devices/system/node/node0/cpulist", "0-3,x\n");
    put_file(dir, "sys/devices/system/node/node0/distance", "10 20\n");
    assert_false(topo_load(&t, &err));
    assert_int_equal(err.status, STATUS_FAILED);
    assert_contains(err.text, "/sys/devices/system/node/node0/cpulist");
    assert_null(t);
    /* A distance line of another length than there are nodes says nothing. */
    put_file(dir, "sys/devices/system/node/node0/cpulist", "0-3\n");
    assert_true(topo_load(&t, &err));
    assert_int_equal(t->nodes[0].distance[0], -1);
    assert_false(t->nodes[0].has_memory);
    topo_free(t);
    sysroot_set(NULL);
    remove_dir(dir);
}

static void this_machine(void **state)
{
    (void)state;
    struct topo *t;
    struct err err = {0};
    assert_true(sysroot_set(NULL));
    if (!topo_load(&t, &err))
        fail_msg("%s", err.text);
    assert_true(t->nodes_n >= 1);
    assert_int_equal(hwloc_bitmap_weight(t->online), sysconf(_SC_NPROCESSORS_ONLN));
    assert_false(hwloc_bitmap_iszero(t->allowed));
    topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_nodes),
        cmocka_unit_test(one_node),
        cmocka_unit_test(kernel_without_numa),
        cmocka_unit_test(memory_less_nodes),
        cmocka_unit_test(sparse_ids),
        cmocka_unit_test(nodes_without_cpus),
        cmocka_unit_test(offline_cpus),
        cmocka_unit_test(cpus_in_no_node),
        cmocka_unit_test(sub_numa_clusters),
        cmocka_unit_test(cpuset_with_a_hole),
        cmocka_unit_test(isolated),
        cmocka_unit_test(large_machine),
        cmocka_unit_test(broken_files),
        cmocka_unit_test(this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
