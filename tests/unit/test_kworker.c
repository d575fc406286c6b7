/* Kernel workers by work queue and node, on trees of /proc made by hand. */
#include "record_util.h"

extern const struct sampler_ops kworker_sampler;

/* ns: CPU time by schedstat; stat has the same in ticks, cut off. */
static void put_worker(int pid, const char *comm, uint64_t ns, unsigned cpu)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    tree_put(path,
             "%d (%s) I 2 0 0 0 -1 69238880 0 0 0 0 0 %llu 0 0 20 0 1 0 100 0 0 "
             "18446744073709551615 0 0 0 0 0 0 0 2147483647 0 1 0 0 17 %u 0 0 0 0 0 0 0 0 0 0 0 0 "
             "0\n",
             pid, comm, (unsigned long long)(ns / 10000000), cpu);
    snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
    tree_put(path, "%llu 5 1\n", (unsigned long long)ns);
}

static json_int_t ns_of(const json_t *o, const char *queue, const char *node)
{
    const json_t *q = json_object_get(json_object_get(o, "queues"), queue);
    return json_integer_value(node ? json_object_get(json_object_get(q, "by_node"), node)
                                   : json_object_get(q, "cpu_ns"));
}

static struct sampler *open_sampler(struct topo *topo)
{
    struct sample_ctx ctx = {.topo = topo, .edges_max = 4};
    struct err err;
    struct sampler *s = kworker_sampler.open(&ctx, &err);
    assert_non_null(s);
    return s;
}

static void time_goes_to_queue_and_node(bool with_children)
{
    tree_new();
    struct topo *topo = topo_make(2, 2); /* CPUs 0-1, 2-3 */
    if (with_children) {
        tree_put("/proc/2/comm", "kthreadd\n");
        tree_put("/proc/2/task/2/children", "10 11 12 13 ");
    }
    put_worker(10, "kworker/u8:1-rpciod", 500000000, 0);
    put_worker(11, "kworker/3:0H-ib-comp-wq", 7, 3);
    put_worker(12, "kworker/0:1-events", 1000, 0);
    put_worker(13, "ksoftirqd/0", 900, 0);
    put_worker(77, "bash", 123456789, 0);
    struct sampler *s = open_sampler(topo);
    kworker_sampler.settle(s, 0);
    /* On CPU 0 until the tick, on CPU 2 afterwards. */
    put_worker(10, "kworker/u8:1+rpciod", 500000300, 0);
    assert_true(kworker_sampler.watches(s));
    kworker_sampler.tick(s, 0);
    put_worker(10, "kworker/u8:1-rpciod", 500001000, 2);
    /* Tied to its CPU, so not looked at between edges. */
    put_worker(11, "kworker/3:0H+ib-comp-wq", 57, 3);
    put_worker(12, "kworker/0:1-events", 1004, 1);
    put_worker(13, "ksoftirqd/0", 5000, 0);
    put_worker(14, "kworker/u8:2-rxe_wq", 60, 1); /* new: all it used is of this window */
    if (with_children)
        tree_put("/proc/2/task/2/children", "14 10 11 12 13 ");
    kworker_sampler.settle(s, 1);
    /* It serves another queue now, and one has ended. */
    put_worker(10, "kworker/u8:1-xprtiod", 500001500, 3);
    tree_delete("/proc/14/stat");
    tree_delete("/proc/14/schedstat");
    if (with_children)
        tree_put("/proc/2/task/2/children", "10 11 12 13 ");
    kworker_sampler.settle(s, 2);

    json_t *o = kworker_sampler.window(s, 0, 1, NULL);
    assert_true(json_is_true(json_object_get(o, "available")));
    assert_int_equal(json_integer_value(json_object_get(o, "workers")), 4);
    assert_int_equal(ns_of(o, "rpciod", NULL), 1000);
    assert_int_equal(ns_of(o, "rpciod", "0"), 300);
    assert_int_equal(ns_of(o, "rpciod", "1"), 700);
    assert_int_equal(ns_of(o, "ib-comp-wq", "1"), 50);
    assert_int_equal(ns_of(o, "ib-comp-wq", "0"), 0);
    assert_int_equal(ns_of(o, "rxe_wq", "0"), 60);
    assert_int_equal(ns_of(o, "other", NULL), 4);
    assert_null(json_object_get(json_object_get(o, "queues"), "xprtiod"));
    assert_non_null(strstr(json_string_value(json_object_get(o, "how")), "CPU time"));
    json_decref(o);
    o = kworker_sampler.window(s, 1, 2, NULL);
    assert_int_equal(ns_of(o, "xprtiod", "1"), 500);
    assert_int_equal(json_integer_value(json_object_get(o, "workers")), 3);
    assert_null(json_object_get(json_object_get(o, "queues"), "rpciod"));
    json_decref(o);
    kworker_sampler.close(s);
    topo_unmake(topo);
    tree_remove();
}

static void by_the_children_of_kthreadd(void **state)
{
    (void)state;
    time_goes_to_queue_and_node(true);
}

static void by_all_of_proc(void **state)
{
    (void)state;
    time_goes_to_queue_and_node(false);
}

static void without_schedstat_in_ticks(void **state)
{
    (void)state;
    tree_new();
    struct topo *topo = topo_make(1, 1);
    put_worker(10, "kworker/u8:1-rpciod", 500000000, 0);
    tree_delete("/proc/10/schedstat");
    struct sampler *s = open_sampler(topo);
    kworker_sampler.settle(s, 0);
    put_worker(10, "kworker/u8:1-rpciod", 520000000, 0);
    tree_delete("/proc/10/schedstat");
    kworker_sampler.settle(s, 1);
    json_t *o = kworker_sampler.window(s, 0, 1, NULL);
    assert_int_equal(ns_of(o, "rpciod", NULL), 20000000);
    json_decref(o);
    kworker_sampler.close(s);
    topo_unmake(topo);
    tree_remove();
}

static void a_container_sees_none(void **state)
{
    (void)state;
    tree_new();
    struct topo *topo = topo_make(1, 1);
    put_worker(1, "sh", 5, 0);
    struct sampler *s = open_sampler(topo);
    kworker_sampler.settle(s, 0);
    kworker_sampler.settle(s, 1);
    json_t *o = kworker_sampler.window(s, 0, 1, NULL);
    assert_true(json_is_false(json_object_get(o, "available")));
    assert_non_null(strstr(json_string_value(json_object_get(o, "reason")), "no kernel worker"));
    json_decref(o);
    kworker_sampler.close(s);
    topo_unmake(topo);
    tree_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_the_children_of_kthreadd),
        cmocka_unit_test(by_all_of_proc),
        cmocka_unit_test(without_schedstat_in_ticks),
        cmocka_unit_test(a_container_sees_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
