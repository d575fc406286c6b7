#include "record_util.h"

#include "../../loadgen/record/proctext.h"

extern const struct sampler_ops cpu_sampler;

static void test_parse(void **state)
{
    (void)state;
    const char *text = "cpu  9 9 9 9 9 9 9 9 0 0\n"
                       "cpu0 1 2 3 4 5 6 7 8 9 10\n"
                       "cpu2 10 0 0 40\n"
                       "cpu7 1 1 1 1 1 1 1 1 1 1\n"
                       "intr 5 x\n"
                       "cpu1 1 1 1 1\n";
    struct cpu_times t[3];
    unsigned beyond;
    assert_true(procstat_parse(text, strlen(text), t, 3, &beyond));
    assert_true(t[0].present);
    assert_false(t[1].present); /* offline: no line; what follows "intr" is not read */
    assert_int_equal(t[0].ticks[CPU_USER], 1);
    assert_int_equal(t[0].ticks[CPU_NICE], 2);
    assert_int_equal(t[0].ticks[CPU_SYSTEM], 3);
    assert_int_equal(t[0].ticks[CPU_IDLE], 4);
    assert_int_equal(t[0].ticks[CPU_IOWAIT], 5);
    assert_int_equal(t[0].ticks[CPU_IRQ], 6);
    assert_int_equal(t[0].ticks[CPU_SOFTIRQ], 7);
    assert_int_equal(t[0].ticks[CPU_STEAL], 8);
    assert_int_equal(t[2].ticks[CPU_IDLE], 40);
    assert_int_equal(beyond, 1);
    static const char *const bad[] = {"",
                                      "cpu  1 2 3 4\n",
                                      "cpu0 1 2 3\n",
                                      "cpu0 1 x 3 4\n",
                                      "cpu0 1 2 3 4",
                                      "intr 1\n",
                                      "cpu0 99999999999999999999 1 1 1\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(procstat_parse(bad[i], strlen(bad[i]), t, 3, &beyond));
}

static void edge(struct sampler *s, unsigned e)
{
    cpu_sampler.read(s, e);
    cpu_sampler.settle(s, e);
}

static void test_window(void **state)
{
    (void)state;
    tree_new();
    struct topo *topo = topo_make(2, 1);
    json_t *notes = json_array();
    struct sample_ctx ctx = {.topo = topo, .edges_max = 4, .notes = notes};
    struct err err;
    tree_put("/proc/stat",
             "cpu  0\ncpu0 100 0 100 1000 50 0 0 0 0 0\ncpu1 0 0 0 2000 9 0 0 0 0 0\n");
    struct sampler *s = cpu_sampler.open(&ctx, &err);
    edge(s, 0);
    /* node 0: 100 ticks, 10 user 20 system 5 softirq 65 idle; node 1: idle, iowait steps back */
    tree_put("/proc/stat",
             "cpu  0\ncpu0 110 0 120 1065 50 0 5 0 0 0\ncpu1 0 0 0 2100 7 0 0 0 0 0\n");
    edge(s, 1);
    json_t *w = cpu_sampler.window(s, 0, 1, notes);
    assert_json_near(json_at(w, "by_node", "0", "user_percent", NULL), 10, 1e-9);
    assert_json_near(json_at(w, "by_node", "0", "softirq_percent", NULL), 5, 1e-9);
    assert_json_near(json_at(w, "by_node", "0", "idle_percent", NULL), 65, 1e-9);
    assert_json_near(json_at(w, "by_node", "1", "idle_percent", NULL), 100, 1e-9);
    assert_json_near(json_at(w, "by_node", "1", "iowait_percent", NULL), 0, 1e-9);
    assert_json_near(json_at(w, "all", "idle_percent", NULL), 82.5, 1e-9);
    assert_json_int(json_at(w, "all", "cpus", NULL), 2);
    assert_json_int(json_at(w, "clamped_fields", NULL), 1);
    assert_int_equal(json_array_size(notes), 0);
    json_decref(w);

    /* nothing passed: unavailable figures, not zeros */
    edge(s, 2);
    w = cpu_sampler.window(s, 1, 2, notes);
    assert_true(json_is_null(json_at(w, "all", "idle_percent", NULL)));
    json_decref(w);

    tree_put("/proc/stat", "cpu  0\ncpu0 210 0 120 1065 50 0 5 0 0 0\n");
    edge(s, 3);
    w = cpu_sampler.window(s, 2, 3, notes);
    assert_true(has_note(notes, "invalid", "1 went offline"));
    assert_null(json_at(w, "by_node", "1", NULL));
    json_decref(w);
    cpu_sampler.close(s);
    json_decref(notes);
    topo_unmake(topo);
    tree_remove();
}

static void test_long_file(void **state)
{
    (void)state;
    tree_new();
    struct topo *topo = topo_make(1, 1);
    json_t *notes = json_array();
    struct sample_ctx ctx = {.topo = topo, .edges_max = 2, .notes = notes};
    struct err err;
    static char intr[100000];
    memset(intr, '1', sizeof(intr) - 1);
    tree_put("/proc/stat", "cpu  0\ncpu0 1 1 1 1\nintr %s\n", intr);
    struct sampler *s = cpu_sampler.open(&ctx, &err);
    edge(s, 0);
    tree_put("/proc/stat", "cpu  0\ncpu0 2 1 1 1\nintr %s\n", intr);
    edge(s, 1);
    json_t *w = cpu_sampler.window(s, 0, 1, notes);
    assert_json_near(json_at(w, "all", "user_percent", NULL), 100, 1e-9);
    json_decref(w);
    cpu_sampler.close(s);
    tree_delete("/proc/stat");
    s = cpu_sampler.open(&ctx, &err);
    edge(s, 0);
    w = cpu_sampler.window(s, 0, 1, notes);
    assert_true(json_is_false(json_at(w, "available", NULL)));
    json_decref(w);
    cpu_sampler.close(s);
    json_decref(notes);
    topo_unmake(topo);
    tree_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_long_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
