#include "check.h"

#include "../../placement/device.h"
#include "../../placement/irqbalance.h"
#include "../../placement/vectors.h"

/* "25,26" of the vectors that a placement of this device means. */
static void means(const char *name, const char *want)
{
    struct device d;
    struct vectors v;
    struct err err = {0};
    char got[128] = "";
    if (!device_find(&d, name, &err) || !vectors_of_device(&v, &d, &err))
        fail_msg("%s: %s", name, err.text);
    for (size_t i = 0; i < v.n; i++)
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%u", i ? "," : "", v.list[i].irq);
    assert_string_equal(got, want);
    vectors_free(&v);
    device_free(&d);
}

static void vectors_come_from_the_function(void **state)
{
    (void)state;
    use_tree("devices");
    means("eth0", "25,26");             /* virtio: the function is one above the device */
    means("eth1", "101,102,103,104");   /* mlx5: without async, without the unused 105 */
    means("mlx5_0", "101,102,103,104"); /* which serve its RDMA device as well */
    means("eth10", "111,112");          /* not those of eth1, not irdma's */
    means("rocep23s0", "114,115");      /* CEQ, not AEQ, not the interface's */
    means("bnxt_re0", "121,122");
    means("eno1", "120");
    means("eth7", "11"); /* a legacy line */
    means("nvme0n1", "140,141");
}

/* Each kind of vector counts its own turns. */
static void turns(const char *name, const unsigned *want, size_t n)
{
    struct device d;
    struct vectors v;
    assert_true(device_find(&d, name, NULL));
    assert_true(vectors_of_device(&v, &d, NULL));
    assert_int_equal(v.n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(v.list[i].turn, want[i]);
    vectors_free(&v);
    device_free(&d);
}

static void vectors_of_a_kind_take_turns(void **state)
{
    (void)state;
    use_tree("devices");
    turns("eth0", (unsigned[]){0, 0}, 2); /* input.0 and output.0 */
    turns("mlx5_0", (unsigned[]){0, 1, 2, 3}, 4);
    turns("rocep23s0", (unsigned[]){0, 1}, 2);
}

static void put_nic(const char *dir, const char *name, const char *irq, const char *node,
                    const char *cpus)
{
    char path[128];
    FORMAT(path, "sys/class/net/%s/device/msi_irqs/%s", name, irq);
    put_file(dir, path, "msix\n");
    FORMAT(path, "sys/class/net/%s/device/numa_node", name);
    put_file(dir, path, node);
    FORMAT(path, "sys/class/net/%s/device/local_cpulist", name);
    put_file(dir, path, cpus);
}

static void made_of(const char *name, const char *want, int node, const char *cpus)
{
    struct device d;
    struct err err = {0};
    char got[64] = "";
    if (!device_find(&d, name, &err))
        fail_msg("%s", err.text);
    for (char **l = d.lowers; l && *l; l++)
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s ", *l);
    assert_string_equal(got, want);
    assert_int_equal(d.numa_node, node);
    assert_set(d.local_cpus, cpus);
    device_free(&d);
}

/* Bonds, VLANs and bridges have the vectors of the hardware below them, and its node if that is
 * one. */
static void devices_made_of_others(void **state)
{
    (void)state;
    char *dir = make_dir();
    assert_true(sysroot_set(dir));
    put_nic(dir, "eth0", "20", "0\n", "0-1\n");
    put_nic(dir, "eth1", "11", "0\n", "0-1\n");
    put_nic(dir, "eth2", "12", "1\n", "2-3\n");
    put_file(dir, "sys/class/net/bond0/lower_eth0/mtu", "1500\n");
    put_file(dir, "sys/class/net/bond0/lower_eth1/mtu", "1500\n");
    put_file(dir, "sys/class/net/bond0.7/lower_bond0/mtu", "1500\n");
    put_file(dir, "sys/class/net/br0/lower_bond0.7/mtu", "1500\n");
    put_file(dir, "sys/class/net/br0/lower_eth2/mtu", "1500\n");
    put_file(dir, "sys/class/net/br0/lower_tap0/mtu", "1500\n");
    put_file(dir, "sys/class/net/tap0/mtu", "1500\n");
    put_file(dir, "sys/class/net/loop0/lower_loop0/mtu", "1500\n"); /* not of this world */
    put_file(dir, "proc/interrupts",
             "  CPU0 CPU1\n 11: 1 1 PCI-MSI 1-edge eth1-rx\n 12: 0 0 PCI-MSI 1-edge eth2-rx\n"
             " 20: 1 1 PCI-MSI 1-edge eth0-rx\n");
    made_of("eth0", "", 0, "0-1");
    made_of("bond0", "eth0 eth1 ", 0, "0-1");
    made_of("bond0.7", "eth0 eth1 ", 0, "0-1");
    made_of("br0", "eth0 eth1 eth2 ", -1, "0-3");
    made_of("tap0", "", -1, "");
    made_of("loop0", "", -1, "");
    means("bond0", "11,20");
    means("bond0.7", "11,20");
    means("br0", "11,12,20");
    sysroot_set(NULL);
    remove_dir(dir);
}

static void names_say_what_a_vector_is_for(void **state)
{
    (void)state;
    assert_int_equal(vector_use("mlx5_comp3@pci:0000:81:00.0"), VECTOR_QUEUE);
    assert_int_equal(vector_use("mlx5_async0@pci:0000:81:00.0"), VECTOR_CONTROL);
    assert_int_equal(vector_use("irdma-0000:17:00.0-CEQ-1"), VECTOR_COMPLETION);
    assert_int_equal(vector_use("irdma-0000:17:00.0-AEQ"), VECTOR_CONTROL);
    assert_int_equal(vector_use("bnxt_re-nq-0@pci:0000:65:00.0"), VECTOR_COMPLETION);
    assert_int_equal(vector_use("virtio1-config"), VECTOR_CONTROL);
    assert_int_equal(vector_use("virtio1-input.0"), VECTOR_QUEUE);
    assert_int_equal(vector_use("eth0-TxRx-3"), VECTOR_QUEUE);
}

static void nodes_of_devices(void **state)
{
    (void)state;
    struct topo *t = load_tree("devices");
    struct device d;
    struct err err = {0};
    int node;
    assert_true(device_find(&d, "mlx5_0", &err));
    assert_int_equal(d.numa_node, 1);
    assert_set(d.local_cpus, "2-3");
    assert_string_equal(d.netdev, "eth1");
    assert_false(d.soft);
    assert_true(d.msi);
    assert_true(device_node(&d, t, &node, &err));
    assert_int_equal(node, 1);
    assert_null(device_contradiction(&d, t));
    device_free(&d);

    /* -1 is unknown, not node 0. */
    assert_true(device_find(&d, "eth0", &err));
    assert_int_equal(d.numa_node, -1);
    assert_false(device_node(&d, t, &node, &err));
    assert_contains(err.text, "does not know the node of eth0 (numa_node is -1)");
    device_free(&d);

    assert_true(device_find(&d, "eth9", &err));
    char *text = device_contradiction(&d, t);
    assert_string_equal(text,
                        "eth9: numa_node says node 0 (CPUs 0-1), local_cpulist says CPUs 2-3");
    free(text);
    device_free(&d);
    topo_free(t);

    /* With one node there is no doubt. */
    assert_true(device_find(&d, "eth0", &err));
    t = load_tree("one-node");
    assert_true(device_node(&d, t, &node, &err));
    assert_int_equal(node, 0);
    device_free(&d);
    topo_free(t);
}

static void soft_devices(void **state)
{
    (void)state;
    struct device d;
    struct vectors v;
    struct err err = {0};
    use_tree("devices");
    assert_true(device_find(&d, "rxe0", &err));
    assert_true(d.soft);
    assert_string_equal(d.netdev, "eth0");
    assert_int_equal(d.irqs_n, 0);
    assert_false(vectors_of_device(&v, &d, &err));
    assert_contains(err.text, "it is a soft device");
    device_free(&d);
    assert_true(device_find(&d, "lo", &err));
    assert_false(d.soft);
    assert_false(vectors_of_device(&v, &d, &err));
    assert_string_equal(err.text, "lo has no interrupts of its own");
    device_free(&d);
}

static void unknown_devices(void **state)
{
    (void)state;
    struct device d;
    struct err err = {0};
    use_tree("devices");
    assert_false(device_find(&d, "eth", &err));
    assert_int_equal(err.status, STATUS_FAILED);
    assert_contains(err.text, "bnxt_re0, mlx5_0, rocep23s0, rxe0, eno1, eth0");
    device_free(&d);
    static const char *const bad[] = {"", ".", "..", "../x", "a/b"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_false(device_find(&d, bad[i], &err));
        assert_int_equal(err.status, STATUS_USAGE);
        device_free(&d);
    }
}

static int remote_of(const char *tree, int from)
{
    struct topo *t = load_tree(tree);
    int node = -1;
    device_remote_node(t, from, &node, NULL);
    topo_free(t);
    return node;
}

static void remote_is_the_farthest_with_cpus(void **state)
{
    (void)state;
    assert_int_equal(remote_of("two-nodes", 0), 1);
    assert_int_equal(remote_of("two-nodes", 1), 0);
    assert_int_equal(remote_of("snc", 1), 4); /* 21 to all of 4-7: the lowest id */
    assert_int_equal(remote_of("snc", 6), 0);
    assert_int_equal(remote_of("memory-less-asymmetric", 0), 1); /* 31 rather than 17 */
    assert_int_equal(remote_of("sparse", 5), 2);
    assert_int_equal(remote_of("cpu-less", 0), -1); /* node 1 is farther, but has no CPUs */
    assert_int_equal(remote_of("one-node", 0), -1);
}

static void counts_between_two_moments(void **state)
{
    (void)state;
    struct topo *t = load_tree("devices");
    struct device d;
    struct vectors v;
    struct vector_counts a, b;
    assert_true(device_find(&d, "eth1", NULL));
    assert_true(vectors_of_device(&v, &d, NULL));
    v.list[0].accept = hwloc_bitmap_alloc();
    hwloc_bitmap_set_range(v.list[0].accept, 2, 3);
    vector_counts_read(&a, &v, t);
    vector_counts_read(&b, &v, t);
    assert_true(a.read);
    assert_string_equal(a.effective[3], "3");
    assert_int_equal(a.total[0], 1000); /* vector 101 fired on CPU 0 only */
    assert_int_equal(a.accepted[0], 0);
    assert_int_equal(a.accepted[1], 1000); /* no set: anywhere */
    assert_int_equal(vector_delta(&a, &b, 0).total, 0);
    b.total[0] += 5;
    b.accepted[0] += 3;
    b.by_node[0 * 2 + 1] += 3;
    b.by_node[0 * 2 + 0] += 2;
    struct vector_delta delta = vector_delta(&a, &b, 0);
    assert_int_equal(delta.total, 5);
    assert_int_equal(delta.accepted, 3);
    assert_false(delta.reset);
    uint64_t by_node[2] = {0, 0};
    vector_delta_by_node(&a, &b, 0, t, by_node);
    assert_int_equal(by_node[0], 2);
    assert_int_equal(by_node[1], 3);
    /* Freed and requested again: what is there now was counted since. */
    b.total[0] = 7;
    b.accepted[0] = 0;
    delta = vector_delta(&a, &b, 0);
    assert_int_equal(delta.total, 7);
    assert_true(delta.reset);
    vector_counts_free(&a, v.n);
    vector_counts_free(&b, v.n);
    vectors_free(&v);
    device_free(&d);
    topo_free(t);
}

static void irqbalance_is_seen(void **state)
{
    (void)state;
    use_tree("devices");
    assert_int_equal(irqbalance_pid(), 4711);
    use_tree("two-nodes");
    assert_int_equal(irqbalance_pid(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_come_from_the_function),
        cmocka_unit_test(vectors_of_a_kind_take_turns),
        cmocka_unit_test(devices_made_of_others),
        cmocka_unit_test(names_say_what_a_vector_is_for),
        cmocka_unit_test(nodes_of_devices),
        cmocka_unit_test(soft_devices),
        cmocka_unit_test(unknown_devices),
        cmocka_unit_test(remote_is_the_farthest_with_cpus),
        cmocka_unit_test(counts_between_two_moments),
        cmocka_unit_test(irqbalance_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
