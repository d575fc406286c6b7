/* All samplers together, on the machine that runs the tests. */
#include "record_util.h"

#include <time.h>

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void test_live(void **state)
{
    (void)state;
    struct topo *topo = topo_make(1, (unsigned)sysconf(_SC_NPROCESSORS_CONF));
    json_t *notes = json_array();
    struct sample_ctx ctx = {
        .topo = topo, .slab = "nfs_page", .allow_merged = true, .edges_max = 3, .notes = notes};
    struct err err;
    struct sampling *s = sampling_open(&ctx, &err);
    assert_non_null(s);
    for (unsigned e = 0; e < 3; e++) {
        sampling_edge(s, e, now_ns(), e != 1);
        for (uint64_t until = now_ns() + 60000000u; now_ns() < until;)
            ;
        sampling_tick(s);
    }
    json_t *w = json_object();
    sampling_window(s, 0, 2, w, notes);
    for (size_t i = 0; samplers[i]; i++) {
        json_t *o = json_object_get(w, samplers[i]->name);
        assert_true(json_is_boolean(json_at(o, "available", NULL)));
        if (json_is_false(json_at(o, "available", NULL)))
            assert_true(json_is_string(json_at(o, "reason", NULL)));
        json_int_t from = json_integer_value(json_at(o, "skew", "from_began_ns", NULL));
        json_int_t to = json_integer_value(json_at(o, "skew", "to_ended_ns", NULL));
        assert_true(from >= 0 && from < 1000000000);
        assert_true(to > 0 && to < 1000000000);
    }
    assert_true(json_is_true(json_at(w, "cpu", "available", NULL)));
    assert_true(json_number_value(json_at(w, "cpu", "all", "idle_percent", NULL)) < 100);
    assert_true(json_is_true(json_at(w, "irq", "available", NULL)));
    assert_true(json_integer_value(json_at(w, "irq", "total", NULL)) > 0);
    json_int_t cpu = json_integer_value(json_at(w, "sampling", "cpu_ns", NULL));
    assert_true(cpu > 0);
    /* this thread spun for 120 ms beside the samplers */
    assert_true(json_integer_value(json_at(w, "sampling", "thread_cpu_ns", NULL)) > cpu);
    json_decref(w);

    /* edges that are not there are not made up */
    w = json_object();
    sampling_window(s, 1, 1, w, notes);
    sampling_window(s, 0, 3, w, notes);
    assert_int_equal(json_object_size(w), 0);
    sampling_edge(s, 3, now_ns(), true);
    json_decref(w);
    sampling_close(s);
    sampling_close(NULL);
    json_decref(notes);
    topo_unmake(topo);
}

static void test_refused(void **state)
{
    (void)state;
    tree_new();
    tree_put("/sys/kernel/slab/:0000128/free_fastpath", "9 C0=9\n");
    tree_link("/sys/kernel/slab/nfs_page", ":0000128");
    tree_link("/sys/kernel/slab/uid_cache", ":0000128");
    struct topo *topo = topo_make(1, 1);
    json_t *notes = json_array();
    struct sample_ctx ctx = {.topo = topo, .slab = "nfs_page", .edges_max = 1, .notes = notes};
    struct err err;
    assert_null(sampling_open(&ctx, &err));
    assert_non_null(strstr(err.text, "uid_cache"));
    json_decref(notes);
    topo_unmake(topo);
    tree_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_live),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
