/* The share of frees on the nodes asked for, and what it means for the window; on the tree of
 * devices, whose nodes 0 and 1 have CPUs 0-1 and 2-3. */
#include "check.h"

#include "../../loadgen/record/completions.h"

static json_t *notes;

/* The completions of a window in which so many objects were freed. */
static json_t *freed(struct place_ask ask, int on_0, int on_1)
{
    struct topo *t = load_tree("devices");
    struct place *p;
    struct err err = {0};
    ask.threads = 1;
    if (!place_plan(&p, t, &ask, &err))
        fail_msg("%s", err.text);
    json_decref(notes);
    notes = json_array();
    json_t *window =
        json_pack("{s:{s:b, s:s, s:b, s:{s:{s:i, s:{s:i, s:i}}, s:{s:i, s:{s:i, s:i}}}}}", "slab",
                  "available", 1, "cache", "nfs_page", "per_node_complete", 1, "counters",
                  "free_fastpath", "total", on_0, "by_node", "0", on_0, "1", 0, "free_slowpath",
                  "total", on_1, "by_node", "0", 0, "1", on_1);
    json_t *o = completions_of_window(window, p, notes);
    json_decref(window);
    place_free(p);
    topo_free(t);
    return o;
}

static double share(const json_t *o)
{
    return json_real_value(json_object_get(o, "share_where_asked"));
}

static void work_queues_must_be_where_asked(void **state)
{
    (void)state;
    struct place_ask ask = {.cq = "node:1", .device = "rxe0"};
    json_t *o = freed(ask, 50, 950);
    assert_string_equal(text_of(o, "rule"), "frees");
    assert_string_equal(text_of(o, "asked"), "node:1");
    assert_true(json_is_true(json_object_get(o, "reached")));
    assert_true(share(o) == 0.95);
    assert_int_equal(json_integer_value(json_object_get(o, "frees")), 1000);
    assert_int_equal(json_array_size(notes), 0);
    json_decref(o);

    o = freed(ask, 60, 940);
    assert_true(json_is_false(json_object_get(o, "reached")));
    assert_int_equal(json_array_size(notes), 1);
    assert_string_equal(text_of(json_array_get(notes, 0), "level"), "invalid");
    assert_string_equal(text_of(json_array_get(notes, 0), "text"),
                        "cq = node:1: only 94 % of the frees of nfs_page were on the node asked "
                        "for, at least 95 % must");
    json_decref(o);

    ask.min_share = 0.9; /* the key decides */
    o = freed(ask, 60, 940);
    assert_true(json_is_true(json_object_get(o, "reached")));
    json_decref(o);

    o = freed((struct place_ask){.unbound = "node:0"}, 40, 60);
    assert_contains(text_of(json_array_get(notes, 0), "text"), "unbound = node:0: only 40 %");
    json_decref(o);
}

/* They follow interrupts as a tendency: told, not judged. */
static void interrupts_have_a_rule_of_their_own(void **state)
{
    (void)state;
    json_t *o = freed((struct place_ask){.cq = "node:1", .device = "mlx5_0"}, 200, 800);
    assert_string_equal(text_of(o, "rule"), "interrupts");
    assert_true(share(o) == 0.8);
    assert_true(json_is_null(json_object_get(o, "reached")));
    assert_int_equal(json_array_size(notes), 0);
    json_decref(o);
}

static void nothing_to_compare_with(void **state)
{
    (void)state;
    static const struct place_ask asks[] = {
        {.cq = "leave"},
        {.unbound = "all"},
        {.cq = "balanced", .device = "rxe0"},
        {.cq = "balanced", .device = "mlx5_0"},
        {.cq = "cpus:1-2", .device = "rxe0"}, /* both nodes */
    };
    for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++) {
        json_t *o = freed(asks[i], 300, 700);
        assert_true(json_is_null(json_object_get(o, "asked")));
        assert_true(json_is_null(json_object_get(o, "rule")));
        assert_null(json_object_get(o, "share_where_asked"));
        json_t *by_node = json_object_get(o, "by_node");
        assert_int_equal(json_integer_value(json_object_get(by_node, "0")), 300);
        assert_int_equal(json_integer_value(json_object_get(by_node, "1")), 700);
        assert_int_equal(json_array_size(notes), 0);
        json_decref(o);
    }
    json_t *o = freed((struct place_ask){.cq = "node:1", .device = "rxe0"}, 50, 49);
    assert_true(json_is_null(json_object_get(o, "frees")));
    assert_string_equal(text_of(o, "frees_reason"), "too few objects were freed to tell");
    assert_true(json_is_null(json_object_get(o, "reached")));
    json_decref(o);
    json_decref(notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_queues_must_be_where_asked),
        cmocka_unit_test(interrupts_have_a_rule_of_their_own),
        cmocka_unit_test(nothing_to_compare_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
