/* What the machine-wide levers would write, on the tree of devices. */
#include "check.h"

#include "../../placement/place.h"

static void add_write(void *ctx, const char *path, const char *now, const char *want)
{
    char *text = ctx;
    int now_len = (int)strcspn(now, "\n");
    snprintf(text + strlen(text), 1024 - strlen(text), "%s %.*s>%s\n", path, now_len, now, want);
}

static void writes(struct place_ask ask, const char *want)
{
    struct topo *t = load_tree("devices");
    struct place *p;
    struct err err = {0};
    char got[1024] = "";
    ask.threads = 1;
    if (!place_plan(&p, t, &ask, &err))
        fail_msg("%s", err.text);
    place_each_write(p, add_write, got);
    assert_string_equal(got, want);
    place_free(p);
    topo_free(t);
}

static void refuses(struct place_ask ask, enum status status, const char *why)
{
    struct topo *t = load_tree("devices");
    struct place *p;
    struct err err = {0};
    ask.threads = 1;
    if (place_plan(&p, t, &ask, &err))
        fail_msg("taken instead of: %s", why);
    assert_contains(err.text, why);
    assert_int_equal(err.status, status);
    topo_free(t);
}

#define IRQ(n, to) "/proc/irq/" #n "/smp_affinity_list 0-3>" #to "\n"

static void one_cpu_a_vector(void **state)
{
    (void)state;
    writes((struct place_ask){.cq = "node:1", .device = "eth0"}, IRQ(25, 2) IRQ(26, 2));
    writes((struct place_ask){.cq = "node:0", .device = "mlx5_0"},
           IRQ(101, 0) IRQ(102, 1) IRQ(103, 0) IRQ(104, 1));
    writes((struct place_ask){.cq = "cpus:1-3", .device = "mlx5_0"},
           IRQ(101, 1) IRQ(102, 2) IRQ(103, 3) IRQ(104, 1));
    writes((struct place_ask){.cq = "balanced", .device = "mlx5_0"},
           IRQ(101, 0) IRQ(102, 2) IRQ(103, 1) IRQ(104, 3));
    writes((struct place_ask){.cq = "leave", .device = "mlx5_0"}, "");
    writes((struct place_ask){.cq = NULL}, "");
    /* The disk behind the file is found, and only when something needs it. */
    writes((struct place_ask){.cq = "node:1", .path = "/data/x"},
           IRQ(140, 2) "/proc/irq/141/smp_affinity_list 2>3\n");
    writes((struct place_ask){.cq = "leave", .path = "/mnt/nfs/x"}, "");
}

static void node_of_the_device_and_the_other(void **state)
{
    (void)state;
    writes((struct place_ask){.cq = "nic", .device = "rocep23s0"}, IRQ(114, 0) IRQ(115, 1));
    writes((struct place_ask){.cq = "remote", .device = "rocep23s0"}, IRQ(114, 2) IRQ(115, 3));
    refuses((struct place_ask){.cq = "nic", .device = "eth0"}, STATUS_FAILED,
            "cq = nic: the kernel does not know the node of eth0");
}

static void threads_follow_the_device(void **state)
{
    (void)state;
    struct topo *t = load_tree("devices");
    struct place *p;
    const struct place_ask nic = {.cpus = "nic", .device = "mlx5_0", .threads = 1};
    const struct place_ask remote = {.cpus = "remote", .device = "mlx5_0", .threads = 1};
    assert_true(place_plan(&p, t, &nic, NULL));
    assert_set(place_thread_cpus(p, 0), "2-3");
    place_free(p);
    assert_true(place_plan(&p, t, &remote, NULL));
    assert_set(place_thread_cpus(p, 0), "0-1");
    place_free(p);
    topo_free(t);
    refuses((struct place_ask){.cpus = "nic"}, STATUS_USAGE, "cpus = nic: of which device?");
}

static void soft_device_acts_through_work_queues(void **state)
{
    (void)state;
    const char *both = "/sys/devices/virtual/workqueue/cpumask f>c\n"
                       "/sys/devices/virtual/workqueue/ib-comp-unb-wq/cpumask f>c\n";
    writes((struct place_ask){.cq = "node:1", .device = "rxe0"}, both);
    writes((struct place_ask){.unbound = "node:1"}, both);
    writes((struct place_ask){.unbound = "all"}, "");
    writes((struct place_ask){.cq = "balanced", .device = "rxe0"}, "");
    refuses((struct place_ask){.cq = "node:1", .unbound = "node:0", .device = "rxe0"}, STATUS_USAGE,
            "cq = node:1 sets this mask already");

    struct topo *t = load_tree("devices");
    struct place *p;
    const struct place_ask ask = {.cq = "node:1", .device = "rxe0", .threads = 1};
    assert_true(place_plan(&p, t, &ask, NULL));
    json_t *levers = json_array();
    place_observe(p, NULL, 0, 0, 1, levers);
    json_t *cq = lever_of(levers, "cq"), *unbound = lever_of(levers, "unbound");
    assert_contains(text_of(cq, "reason"), "not applicable: rxe0 is a soft device");
    assert_true(json_is_null(json_object_get(cq, "reached")));
    assert_string_equal(text_of(unbound, "asked"), "node:1");
    json_t *detail = json_object_get(unbound, "detail");
    assert_true(json_is_true(json_object_get(detail, "asked_by_cq")));
    assert_string_equal(text_of(json_object_get(detail, "affinity_scopes"), "ib-comp-unb-wq"),
                        "default (cache)");
    json_decref(levers);
    place_free(p);
    topo_free(t);
}

static void rps_and_balancing(void **state)
{
    (void)state;
    writes((struct place_ask){.rps = "node:1", .device = "eth0"},
           "/sys/class/net/eth0/queues/rx-0/rps_cpus 0>c\n"
           "/sys/class/net/eth0/queues/tx-0/xps_cpus 0>c\n");
    writes((struct place_ask){.rps = "cpus:0", .device = "rxe0"},
           "/sys/class/net/eth0/queues/rx-0/rps_cpus 0>1\n"
           "/sys/class/net/eth0/queues/tx-0/xps_cpus 0>1\n");
    refuses((struct place_ask){.rps = "node:1", .device = "eth1"}, STATUS_FAILED, "no rps or xps");
    refuses((struct place_ask){.rps = "node:1"}, STATUS_USAGE, "name a network device");
    writes((struct place_ask){.numa_balancing = "off"}, "/proc/sys/kernel/numa_balancing 1>0\n");
    writes((struct place_ask){.numa_balancing = "leave"}, "");
    writes((struct place_ask){.wq_scope = "numa"},
           "/sys/devices/virtual/workqueue/ib-comp-unb-wq/affinity_scope default (cache)>numa\n");
    writes((struct place_ask){.wq_scope = "leave"}, "");
    refuses((struct place_ask){.wq_scope = "node"}, STATUS_USAGE, "none of leave | cpu");
    refuses((struct place_ask){.numa_balancing = "on"}, STATUS_USAGE, "none of leave | off");
}

static void what_cannot_be_asked(void **state)
{
    (void)state;
    refuses((struct place_ask){.cq = "node:1"}, STATUS_USAGE, "cq = node:1: of which device?");
    refuses((struct place_ask){.cq = "node:1", .path = "/mnt/nfs/x"}, STATUS_USAGE,
            "Name it with --device; it was not found: a recorded tree does not hold the route");
    refuses((struct place_ask){.cq = "node:2", .device = "eth0"}, STATUS_FAILED,
            "cq = node:2: there is no node 2");
    refuses((struct place_ask){.cq = "node:1", .device = "lo"}, STATUS_FAILED,
            "lo has no interrupts of its own");
    refuses((struct place_ask){.cq = "spread", .device = "eth0"}, STATUS_USAGE,
            "cq = 'spread' is none of leave | node:N | nic | remote | balanced | cpus:LIST");
    refuses((struct place_ask){.cq = "cpus:4", .device = "eth0"}, STATUS_FAILED,
            "CPU 4 does not exist");
    refuses((struct place_ask){.device = "eth99"}, STATUS_FAILED, "device 'eth99'");
}

/* A copy of the tree's files in which counts can move between edges. */
static void put_interrupts(const char *dir, const char *rows)
{
    char text[1024];
    snprintf(text, sizeof(text), "      CPU0 CPU1 CPU2 CPU3\n%s", rows);
    put_file(dir, "proc/interrupts", text);
}

static void leave_still_tells_where_interrupts_fire(void **state)
{
    (void)state;
    char *dir = make_dir();
    put_file(dir, "sys/devices/system/cpu/online", "0-3\n");
    put_file(dir, "sys/devices/system/node/node0/cpulist", "0-1\n");
    put_file(dir, "sys/devices/system/node/node1/cpulist", "2-3\n");
    put_file(dir, "sys/class/net/eth0/device/local_cpulist", "0-3\n");
    put_file(dir, "sys/class/net/eth0/device/msi_irqs/24", "msix\n");
    put_file(dir, "sys/class/net/eth0/device/msi_irqs/25", "msix\n");
    put_file(dir, "proc/irq/24/smp_affinity_list", "0-3\n");
    put_file(dir, "proc/irq/25/smp_affinity_list", "0-3\n");
    put_interrupts(dir, "24: 5 0 0 0  PCI-MSI  eth0-0\n25: 0 0 7 0  PCI-MSI  eth0-1\n");
    assert_true(sysroot_set(dir));
    struct topo *t;
    struct place *p;
    struct err err = {0};
    const struct place_ask ask = {.device = "eth0", .threads = 1};
    assert_true(topo_load(&t, &err));
    if (!place_plan(&p, t, &ask, &err))
        fail_msg("%s", err.text);
    place_edge(p, 0);
    put_interrupts(dir, "24: 15 0 0 0  PCI-MSI  eth0-0\n25: 0 0 37 0  PCI-MSI  eth0-1\n");
    place_edge(p, 1);
    put_interrupts(dir, "24: 15 0 0 0  PCI-MSI  eth0-0\n25: 0 0 1 0  PCI-MSI  eth0-1\n");
    place_edge(p, 2);
    json_t *levers = json_array();
    assert_true(place_observe(p, NULL, 0, 0, 1, levers));
    json_t *cq = lever_of(levers, "cq");
    assert_string_equal(text_of(cq, "observed"), "node0 25 %, node1 75 %");
    assert_string_equal(text_of(cq, "reason"), "not asked for");
    json_t *vectors = json_object_get(json_object_get(cq, "detail"), "vectors");
    assert_int_equal(json_array_size(vectors), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(vectors, 1), "interrupts")),
                     30);
    json_array_clear(levers);

    /* From 37 to 1: reset, one interrupt since. */
    assert_true(place_observe(p, NULL, 0, 1, 2, levers));
    vectors = json_object_get(json_object_get(lever_of(levers, "cq"), "detail"), "vectors");
    json_t *second = json_array_get(vectors, 1);
    assert_true(json_is_true(json_object_get(second, "count_was_reset")));
    assert_int_equal(json_integer_value(json_object_get(second, "interrupts")), 1);
    json_decref(levers);
    place_free(p);
    topo_free(t);
    sysroot_set(NULL);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_cpu_a_vector),
        cmocka_unit_test(node_of_the_device_and_the_other),
        cmocka_unit_test(threads_follow_the_device),
        cmocka_unit_test(soft_device_acts_through_work_queues),
        cmocka_unit_test(rps_and_balancing),
        cmocka_unit_test(what_cannot_be_asked),
        cmocka_unit_test(leave_still_tells_where_interrupts_fire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
