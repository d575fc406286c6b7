#include "record_util.h"

#include "../../loadgen/record/hostfacts.h"

static const char *text(json_t *host, const char *key)
{
    const char *s = json_string_value(json_object_get(host, key));
    assert_non_null(s);
    return s;
}

/* The shape of the published machine: 2 sockets x 24 cores x 2 threads, made small (2 x 2 x 2). */
static void test_tree(void **state)
{
    (void)state;
    tree_new();
    tree_put("/proc/sys/kernel/osrelease", "7.3.0-rc1\n");
    tree_put("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC\n");
    tree_put("/proc/cmdline", "root=/dev/sda1 slab_nomerge \n");
    tree_put("/proc/sys/kernel/random/boot_id", "6e1f0000-0000-4000-8000-000000000001\n");
    tree_put("/proc/uptime", "605.86 591.07\n");
    tree_put("/proc/cpuinfo",
             "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Silver 4516Y+\nflags\t: a\n");
    tree_put("/sys/devices/system/cpu/smt/active", "1\n");
    tree_put("/proc/sys/kernel/numa_balancing", "1\n");
    tree_put("/proc/812/comm", "irqbalance\n");
    tree_put("/proc/9/comm", "irqbalance-ui\n");
    tree_put("/sys/kernel/slab/nfs_page/free_slowpath", "0\n");
    tree_put("/boot/config-7.3.0-rc1", "CONFIG_SLUB_STATS=y\n# CONFIG_KASAN is not set\n"
                                       "CONFIG_DEBUG_LIST=y\nCONFIG_LOCK_STATISTICS=y\n");
    tree_put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
    tree_put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    tree_put("/sys/devices/system/cpu/vulnerabilities/mds", "Mitigation: Clear CPU buffers\n");
    tree_put("/sys/class/infiniband/mlx5_0/fw_ver", "28.39.1002\n");
    tree_put("/sys/class/infiniband/mlx5_0/device/numa_node", "1\n");
    tree_link("/sys/class/infiniband/mlx5_0/device/driver",
              "../../../../bus/pci/drivers/mlx5_core");
    tree_put("/sys/class/infiniband/rxe0/fw_ver", "\n");
    tree_put("/sys/class/infiniband/rxe0/device/numa_node", "-1\n");
    tree_put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
    struct topo *topo = topo_make(2, 4);
    json_t *notes = json_array();
    json_t *h = hostfacts_read(topo, notes);
    assert_string_equal(text(h, "kernel_release"), "7.3.0-rc1");
    assert_string_equal(text(h, "command_line"), "root=/dev/sda1 slab_nomerge");
    assert_string_equal(text(h, "cpu_model"), "Intel(R) Xeon(R) Silver 4516Y+");
    assert_json_near(json_at(h, "uptime_s", NULL), 605.86, 1e-9);
    assert_json_int(json_at(h, "sockets", NULL), 2);
    assert_json_int(json_at(h, "cores", NULL), 4);
    assert_json_int(json_at(h, "threads", NULL), 8);
    assert_true(json_is_true(json_at(h, "smt_active", NULL)));
    assert_true(json_is_true(json_at(h, "slub_stats", NULL)));
    assert_json_int(json_at(h, "numa_balancing", NULL), 1);
    assert_true(json_is_true(json_at(h, "irqbalance_running", NULL)));
    assert_string_equal(text(json_array_get(json_at(h, "nodes", NULL), 1), "cpus"), "4-7");
    assert_true(json_is_false(json_at(h, "kernel_debugging", "CONFIG_KASAN", NULL)));
    assert_true(json_is_true(json_at(h, "kernel_debugging", "CONFIG_DEBUG_LIST", NULL)));
    assert_true(json_is_false(json_at(h, "kernel_debugging", "CONFIG_LOCK_STAT", NULL)));
    assert_true(json_is_null(json_at(h, "product_name", NULL)));
    text(h, "product_name_reason");
    assert_string_equal(text(h, "cpu_governor"), "performance");
    assert_string_equal(text(h, "transparent_hugepage"), "madvise");
    assert_string_equal(text(json_at(h, "vulnerabilities", NULL), "mds"),
                        "Mitigation: Clear CPU buffers");
    json_t *devices = json_at(h, "rdma_devices", NULL);
    assert_int_equal(json_array_size(devices), 2);
    assert_string_equal(text(json_array_get(devices, 0), "firmware"), "28.39.1002");
    assert_string_equal(text(json_array_get(devices, 0), "driver"), "mlx5_core");
    assert_json_int(json_at(json_array_get(devices, 0), "numa_node", NULL), 1);
    /* -1 is "unknown" and never a node */
    assert_true(json_is_null(json_at(json_array_get(devices, 1), "numa_node", NULL)));
    assert_true(json_is_null(json_at(json_array_get(devices, 1), "firmware", NULL)));
    assert_true(has_note(notes, "warning", "irqbalance"));
    assert_true(has_note(notes, "warning", "numa_balancing"));
    assert_true(has_note(notes, "warning", "CONFIG_DEBUG_LIST"));
    assert_string_equal(text(h, "clocksource"), "hpet");
    assert_true(has_note(notes, "warning", "every time stamp is a system call"));
    json_decref(h);
    json_decref(notes);
    topo_unmake(topo);
    tree_remove();
}

static void test_empty_tree(void **state)
{
    (void)state;
    tree_new();
    struct topo *topo = topo_make(1, 1);
    topo->cpus[0].package = topo->cpus[0].core = -1;
    json_t *notes = json_array();
    json_t *h = hostfacts_read(topo, notes);
    static const char *const keys[] = {"kernel_release", "command_line", "boot_id",
                                       "uptime_s",       "cpu_model",    "sockets",
                                       "cores",          "smt_active",   "numa_balancing",
                                       "slub_stats",     "product_name", "clocksource"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        char reason[64];
        snprintf(reason, sizeof(reason), "%s_reason", keys[i]);
        assert_true(json_is_null(json_object_get(h, keys[i])));
        text(h, reason);
    }
    assert_true(json_is_null(json_at(h, "kernel_debugging", "CONFIG_KASAN", NULL)));
    text(h, "kernel_debugging_reason");
    assert_int_equal(json_array_size(notes), 0);
    json_decref(h);
    json_decref(notes);
    topo_unmake(topo);
    tree_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_empty_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
