/* The samplers that are a table of numbers: net, rdma, memory, softirq, sched. */
#include "record_util.h"

#include "../../loadgen/record/netdev.h"
#include "../../loadgen/record/proctext.h"

extern const struct sampler_ops net_sampler, rdma_sampler, memory_sampler, softirq_sampler,
    sched_sampler;

struct fixture {
    struct topo *topo;
    json_t *notes;
    const struct sampler_ops *ops;
    struct sampler *s;
};

/* Opens on the tree as it is. */
static struct fixture fixture(const struct sampler_ops *ops)
{
    struct fixture f = {.topo = topo_make(2, 1), .notes = json_array(), .ops = ops};
    struct err err;
    struct sample_ctx ctx = {.topo = f.topo, .edges_max = 3, .notes = f.notes};
    f.s = ops->open(&ctx, &err);
    assert_non_null(f.s);
    return f;
}

static void fixture_end(struct fixture *f)
{
    f->ops->close(f->s);
    json_decref(f->notes);
    topo_unmake(f->topo);
    tree_remove();
}

static void edge(struct fixture *f, unsigned e)
{
    if (f->ops->read)
        f->ops->read(f->s, e);
    if (f->ops->settle)
        f->ops->settle(f->s, e);
}

static json_t *window(struct fixture *f)
{
    return f->ops->window(f->s, 0, 1, f->notes);
}

static void assert_unavailable(const struct sampler_ops *ops)
{
    tree_new();
    struct fixture f = fixture(ops);
    edge(&f, 0);
    edge(&f, 1);
    json_t *w = window(&f);
    assert_true(json_is_false(json_at(w, "available", NULL)));
    assert_true(json_is_string(json_at(w, "reason", NULL)));
    json_decref(w);
    fixture_end(&f);
}

static void test_empty_tree(void **state)
{
    (void)state;
    assert_unavailable(&net_sampler);
    assert_unavailable(&rdma_sampler);
    assert_unavailable(&memory_sampler);
    assert_unavailable(&softirq_sampler);
    assert_unavailable(&sched_sampler);
}

static void test_text_value(void **state)
{
    (void)state;
    uint64_t v;
    const char *text = "Node 0 MemTotal:  19491028 kB\nNode 0 MemFree: 7 kB\nnuma_hit 5\nx:\t9";
    assert_true(text_value(text, strlen(text), "MemFree", &v));
    assert_int_equal(v, 7);
    assert_true(text_value(text, strlen(text), "numa_hit", &v));
    assert_int_equal(v, 5);
    assert_true(text_value(text, strlen(text), "x", &v));
    assert_int_equal(v, 9);
    assert_false(text_value(text, strlen(text), "Mem", &v));
    assert_false(text_value(text, strlen(text), "kB", &v));
    assert_false(text_value("", 0, "x", &v));
}

#define NET_HEAD                                                                                   \
    "Inter-|   Receive                            |  Transmit\n"                                   \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes\n"

static void test_net(void **state)
{
    (void)state;
    tree_new();
    tree_put("/proc/net/dev", NET_HEAD "    lo: 5 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n"
                                       "  eth0: 1000 10 0 0 0 0 0 0 50 5 0 0 0 0 0 0\n"
                                       "ib0:100 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                                       "broken: 1 2 3\n");
    struct fixture f = fixture(&net_sampler);
    edge(&f, 0);
    tree_put("/proc/net/dev", NET_HEAD "    lo: 5 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n"
                                       "  eth0: 9000 15 0 2 0 0 0 0 50 9 0 0 0 0 0 0\n"
                                       "ib0:7 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                                       "  new: 4 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    edge(&f, 1);
    json_t *w = window(&f), *i = json_at(w, "interfaces", NULL);
    assert_int_equal(json_object_size(i), 3); /* lo did not move */
    assert_json_int(json_at(i, "eth0", "rx_bytes", NULL), 8000);
    assert_json_int(json_at(i, "eth0", "rx_dropped", NULL), 2);
    assert_json_int(json_at(i, "eth0", "tx_packets", NULL), 4);
    assert_null(json_at(i, "eth0", "tx_bytes", NULL));
    assert_true(json_is_null(json_at(i, "ib0", "rx_bytes", NULL)));
    assert_json_int(json_at(i, "new", "rx_bytes", NULL), 4);
    assert_true(has_note(f.notes, "warning", "ib0"));
    json_decref(w);
    fixture_end(&f);
}

#define PORT "/sys/class/infiniband/mlx5_0/ports/1"

static void test_rdma(void **state)
{
    (void)state;
    tree_new();
    tree_put(PORT "/counters/port_rcv_data", "1000\n");
    tree_put(PORT "/counters/port_xmit_data", "500\n");
    tree_put(PORT "/counters/link_downed", "0\n");
    tree_put(PORT "/counters/VL15_dropped", "N/A (no PMA)\n");
    tree_put(PORT "/hw_counters/rnr_nak_retry_err", "3\n");
    tree_put(PORT "/hw_counters/lifespan", "10\n");
    tree_put("/sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts", "7\n");
    struct fixture f = fixture(&rdma_sampler);
    edge(&f, 0);
    tree_put(PORT "/counters/port_rcv_data", "263144\n");
    tree_put(PORT "/counters/port_xmit_data", "5\n");
    tree_delete(PORT "/hw_counters/rnr_nak_retry_err");
    tree_put("/sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts", "17\n");
    edge(&f, 1);
    json_t *w = window(&f), *p = json_at(w, "ports", "mlx5_0/1", NULL);
    assert_json_int(json_at(p, "port_rcv_data", NULL), 262144);
    assert_true(json_is_null(json_at(p, "port_xmit_data", NULL)));
    assert_true(json_is_null(json_at(p, "rnr_nak_retry_err", NULL)));
    assert_null(json_at(p, "link_downed", NULL)); /* did not move */
    assert_null(json_at(p, "VL15_dropped", NULL));
    assert_null(json_at(p, "lifespan", NULL));
    assert_json_int(json_at(w, "ports", "rxe0/1", "rcvd_pkts", NULL), 10);
    assert_true(has_note(f.notes, "warning", "port_xmit_data of mlx5_0/1"));
    json_decref(w);
    fixture_end(&f);
}

static void put_node(int node, int hit, int other, int free_kb)
{
    char path[96];
    snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/numastat", node);
    tree_put(path,
             "numa_hit %d\nnuma_miss 0\nnuma_foreign 0\ninterleave_hit 1\nlocal_node %d\n"
             "other_node %d\n",
             hit, hit, other);
    snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
    tree_put(path,
             "Node %d MemTotal:       100 kB\nNode %d MemFree:     %d kB\n"
             "Node %d FilePages:   4 kB\nNode %d AnonPages:   4 kB\n",
             node, node, free_kb, node, node);
}

static void test_memory(void **state)
{
    (void)state;
    tree_new();
    put_node(0, 100, 5, 50);
    put_node(1, 100, 5, 50);
    struct fixture f = fixture(&memory_sampler);
    edge(&f, 0);
    put_node(0, 300, 5, 42);
    put_node(1, 100, 6, 60);
    edge(&f, 1);
    json_t *w = window(&f);
    assert_json_int(json_at(w, "by_node", "0", "numa_hit", NULL), 200);
    assert_json_int(json_at(w, "by_node", "0", "other_node", NULL), 0);
    assert_json_int(json_at(w, "by_node", "1", "other_node", NULL), 1);
    assert_json_int(json_at(w, "by_node", "0", "free_bytes", NULL), 42 * 1024);
    assert_json_int(json_at(w, "by_node", "0", "free_change_bytes", NULL), -8 * 1024);
    assert_json_int(json_at(w, "by_node", "1", "free_change_bytes", NULL), 10 * 1024);
    /* this kernel's meminfo lacks it: not 0 */
    assert_true(json_is_null(json_at(w, "by_node", "0", "slab_unreclaimable_bytes", NULL)));
    assert_true(json_is_string(json_at(w, "by_node", "0", "reason", NULL)));
    json_decref(w);
    fixture_end(&f);
}

static void test_softirq(void **state)
{
    (void)state;
    tree_new();
    tree_put("/proc/softirqs", "                    CPU0       CPU1       \n"
                               "          HI:          0          0\n"
                               "      NET_RX:          5          7\n");
    struct fixture f = fixture(&softirq_sampler);
    edge(&f, 0);
    tree_put("/proc/softirqs", "                    CPU0       CPU1       \n"
                               "          HI:          0          0\n"
                               "      NET_RX:          5       1007\n");
    edge(&f, 1);
    json_t *w = window(&f), *rows = json_at(w, "rows", NULL);
    assert_int_equal(json_array_size(rows), 1);
    assert_string_equal(json_string_value(json_at(json_array_get(rows, 0), "softirq", NULL)),
                        "NET_RX");
    assert_json_int(json_at(json_array_get(rows, 0), "by_node", "1", NULL), 1000);
    assert_json_int(json_at(w, "by_node", "0", NULL), 0);
    json_decref(w);
    fixture_end(&f);
}

static void put_thread(int tid, const char *name, int run, int wait, int voluntary, int involuntary)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
    tree_put(path,
             "Name:\t%s\nState:\tS\nvoluntary_ctxt_switches:\t%d\n"
             "nonvoluntary_ctxt_switches:\t%d\n",
             name, voluntary, involuntary);
    snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
    tree_put(path, "%d %d 9\n", run, wait);
}

static void test_sched(void **state)
{
    (void)state;
    tree_new();
    put_thread(9, "numaload", 100, 10, 1, 1);
    put_thread(10, "numaload", 100, 10, 1, 1);
    put_thread(11, "iou-wrk-9", 100, 10, 1, 1);
    struct fixture f = fixture(&sched_sampler);
    edge(&f, 0);
    put_thread(9, "numaload", 150, 11, 2, 1);
    put_thread(10, "numaload", 250, 310, 5, 8);
    put_thread(11, "iou-wrk-9", 9000, 9000, 9000, 9000);
    put_thread(12, "numaload", 7, 7, 7, 7); /* not there at the first edge */
    edge(&f, 1);
    json_t *w = window(&f);
    assert_json_int(json_at(w, "threads", NULL), 2);
    assert_json_int(json_at(w, "run_ns", NULL), 200);
    assert_json_int(json_at(w, "wait_ns", NULL), 301);
    assert_json_int(json_at(w, "worst_wait_ns", NULL), 300);
    assert_json_int(json_at(w, "worst_tid", NULL), 10);
    assert_json_int(json_at(w, "voluntary_switches", NULL), 5);
    assert_json_int(json_at(w, "involuntary_switches", NULL), 7);
    json_decref(w);
    /* a kernel without schedstat */
    tree_delete("/proc/self/task/10/schedstat");
    edge(&f, 1);
    w = window(&f);
    assert_true(json_is_null(json_at(w, "wait_ns", NULL)));
    assert_true(json_is_string(json_at(w, "wait_ns_reason", NULL)));
    assert_json_int(json_at(w, "involuntary_switches", NULL), 7);
    json_decref(w);
    fixture_end(&f);
}

/* What the process did is asked of the kernel at once where io_uring made no threads; each thread
 * is looked at where an edge is thorough. */
static void test_sched_live(void **state)
{
    (void)state;
    json_t *notes = json_array();
    struct sample_ctx ctx = {.edges_max = 3, .notes = notes};
    struct err err;
    struct sampler *s = sched_sampler.open(&ctx, &err);
    assert_non_null(s);
    for (unsigned e = 0; e < 3; e++) {
        sched_sampler.settle(s, e);
        if (e != 1)
            sched_sampler.settle_thorough(s, e);
        for (int i = 0; i < 10; i++)
            usleep(1000);
    }
    for (unsigned from = 0; from < 2; from++) {
        json_t *w = sched_sampler.window(s, from, 2, notes);
        assert_true(json_integer_value(json_at(w, "threads", NULL)) >= 1);
        assert_true(json_integer_value(json_at(w, "voluntary_switches", NULL)) >= 10);
        assert_true(json_is_integer(json_at(w, "involuntary_switches", NULL)));
        assert_true(json_is_integer(json_at(w, "run_ns", NULL)));
        assert_true(json_is_integer(json_at(w, "wait_ns", NULL)));
        assert_true(json_is_integer(json_at(w, "worst_wait_ns", NULL)) ||
                    (from == 1 && json_is_string(json_at(w, "worst_wait_ns_reason", NULL))));
        json_decref(w);
    }
    sched_sampler.close(s);
    json_decref(notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_tree), cmocka_unit_test(test_text_value),
        cmocka_unit_test(test_net),        cmocka_unit_test(test_rdma),
        cmocka_unit_test(test_memory),     cmocka_unit_test(test_softirq),
        cmocka_unit_test(test_sched),      cmocka_unit_test(test_sched_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
