#include "record_util.h"

#include "../../loadgen/record/proctext.h"

extern const struct sampler_ops iowq_sampler;

/* Fields 3 to 39 of /proc/PID/stat with these in place. */
static void put_task(int tid, const char *comm, unsigned utime, unsigned stime, unsigned cpu)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    tree_put(path,
             "%d (%s) S 1 1 1 0 -1 4194368 0 0 0 0 %u %u 0 0 20 0 1 0 100 0 0 18446744073709551615 "
             "1 1 0 0 0 0 0 2147483647 0 1 0 0 17 %u 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
             tid, comm, utime, stime, cpu);
}

static void remove_task(int tid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    tree_delete(path);
    *strrchr(path, '/') = '\0';
    tree_delete(path);
}

static void test_parse(void **state)
{
    (void)state;
    struct task_stat t;
    const char *text = "77 (a) b (c)) S 1 1 1 0 -1 4194368 0 0 0 0 11 22 0 0 20 0 1 0 100 0 0 1 "
                       "1 1 0 0 0 0 0 2147483647 0 1 0 0 17 5 0 0\n";
    assert_true(taskstat_parse(text, strlen(text), &t));
    assert_string_equal(t.comm, "a) b (c)");
    assert_int_equal(t.utime_ticks, 11);
    assert_int_equal(t.stime_ticks, 22);
    assert_int_equal(t.cpu, 5);
    static const char *const bad[] = {"", "77 (a", "77 )a(", "77 (a) S 1 2 3\n", "77 (a)"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(taskstat_parse(bad[i], strlen(bad[i]), &t));
    /* this process, as the kernel writes it */
    char *own;
    ssize_t n = sysroot_read("/proc/self/stat", &own);
    assert_true(n > 0 && taskstat_parse(own, (size_t)n, &t));
    assert_memory_equal(t.comm, "test_iowq", 9);
    free(own);
}

static void test_window(void **state)
{
    (void)state;
    tree_new();
    struct topo *topo = topo_make(2, 2);
    json_t *notes = json_array();
    struct sample_ctx ctx = {.topo = topo, .edges_max = 4, .notes = notes};
    struct err err;
    put_task(9, "numaload", 50, 50, 0);
    put_task(10, "iou-wrk-9", 1, 2, 0);
    struct sampler *s = iowq_sampler.open(&ctx, &err);
    iowq_sampler.settle(s, 0);
    put_task(9, "numaload", 5000, 50, 3);
    put_task(10, "iou-wrk-9", 5, 8, 1);
    put_task(11, "iou-wrk-9", 3, 4, 3);
    assert_true(iowq_sampler.watches(s));
    iowq_sampler.tick(s, 0);
    remove_task(10); /* what it used until it was seen last still counts */
    put_task(11, "iou-wrk-9", 3, 14, 3);
    iowq_sampler.settle(s, 1);
    iowq_sampler.settle(s, 2);

    json_t *w = iowq_sampler.window(s, 0, 1, notes);
    assert_json_int(json_at(w, "workers_seen", NULL), 2);
    assert_json_int(json_at(w, "samples", NULL), 3);
    assert_json_int(json_at(w, "by_node", "0", NULL), 2);
    assert_json_int(json_at(w, "by_node", "1", NULL), 1);
    assert_string_equal(json_string_value(json_at(w, "cpus", NULL)), "0-1,3");
    /* 13 - 3 ticks of the first, 17 of the second */
    assert_json_int(json_at(w, "cpu_ms", NULL), 27 * 1000 / sysconf(_SC_CLK_TCK));
    json_decref(w);
    w = iowq_sampler.window(s, 1, 2, notes);
    assert_json_int(json_at(w, "workers_seen", NULL), 1);
    assert_string_equal(json_string_value(json_at(w, "cpus", NULL)), "3");
    assert_json_int(json_at(w, "cpu_ms", NULL), 0);
    json_decref(w);
    iowq_sampler.close(s);
    json_decref(notes);
    topo_unmake(topo);
    tree_remove();
}

static void test_none(void **state)
{
    (void)state;
    struct topo *topo = topo_make(1, 1);
    json_t *notes = json_array();
    struct sample_ctx ctx = {.topo = topo, .edges_max = 2, .notes = notes};
    struct err err;
    struct sampler *s = iowq_sampler.open(&ctx, &err);
    iowq_sampler.settle(s, 0);
    iowq_sampler.settle(s, 1);
    json_t *w = iowq_sampler.window(s, 0, 1, notes);
    assert_true(json_is_true(json_at(w, "available", NULL)));
    assert_json_int(json_at(w, "workers_seen", NULL), 0);
    assert_string_equal(json_string_value(json_at(w, "cpus", NULL)), "");
    json_decref(w);
    iowq_sampler.close(s);

    tree_new();
    s = iowq_sampler.open(&ctx, &err);
    iowq_sampler.settle(s, 0);
    w = iowq_sampler.window(s, 0, 1, notes);
    assert_true(json_is_false(json_at(w, "available", NULL)));
    json_decref(w);
    iowq_sampler.close(s);
    json_decref(notes);
    topo_unmake(topo);
    tree_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
