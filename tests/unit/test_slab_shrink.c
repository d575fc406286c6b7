#include "record_util.h"

#include "../../loadgen/record/slab_shrink.h"

#define DIR "/sys/kernel/slab/nfs_page"

static json_t *notes;

static json_t *shrink(const char *cache)
{
    json_array_clear(notes);
    return slab_shrink(cache, notes);
}

/* A recorded tree is never written to: it stays as it is, and the record says why. */
static void test_recorded_tree(void **state)
{
    (void)state;
    tree_put(DIR "/slabs", "20 N0=6 N1=14\n");
    tree_put(DIR "/partial", "0\n");
    tree_put(DIR "/shrink", "\n");
    json_t *o = shrink("nfs_page");
    assert_true(json_is_false(json_object_get(o, "done")));
    assert_non_null(strstr(json_string_value(json_object_get(o, "reason")), "/shrink: Read-only"));
    assert_json_int(json_at(o, "before", "slabs", "total", NULL), 20);
    assert_json_int(json_at(o, "before", "slabs", "by_node", "0", NULL), 6);
    assert_json_int(json_at(o, "before", "slabs", "by_node", "1", NULL), 14);
    assert_json_int(json_at(o, "before", "partial", "total", NULL), 0);
    assert_int_equal(json_object_size(json_at(o, "before", "partial", "by_node", NULL)), 0);
    assert_true(json_is_null(json_object_get(o, "after")));
    assert_true(has_note(notes, "warning", "nfs_page was not emptied before the load"));
    json_decref(o);
}

/* What cannot be read is unavailable, not 0. */
static void test_unreadable(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "x\n", "5 N0=\n", "5 C0=5\n", "5 N0=5 and more\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        tree_put(DIR "/slabs", "%s", bad[i]);
        json_t *o = shrink("nfs_page"), *before = json_object_get(o, "before");
        assert_true(json_is_null(json_object_get(before, "slabs")));
        assert_non_null(json_object_get(before, "slabs_reason"));
        assert_true(json_is_null(json_object_get(before, "partial")));
        json_decref(o);
    }
}

static void test_names(void **state)
{
    (void)state;
    static const char *const bad[] = {"", ".", "../slab", "a/b"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        json_t *o = shrink(bad[i]);
        assert_true(json_is_false(json_object_get(o, "done")));
        assert_true(json_is_null(json_object_get(o, "before")));
        assert_int_equal(json_array_size(notes), 1);
        json_decref(o);
    }
}

/* As on a live machine whose kernel has no such cache. */
static void test_no_cache(void **state)
{
    (void)state;
    sysroot_set(NULL);
    json_t *o = shrink("numaload_has_no_such_cache");
    assert_true(json_is_false(json_object_get(o, "done")));
    assert_true(has_note(notes, "warning", "there is no cache \"numaload_has_no_such_cache\""));
    json_decref(o);
}

static int begin(void **state)
{
    (void)state;
    notes = json_array();
    tree_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    json_decref(notes);
    tree_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_recorded_tree, begin, end),
        cmocka_unit_test_setup_teardown(test_unreadable, begin, end),
        cmocka_unit_test_setup_teardown(test_names, begin, end),
        cmocka_unit_test_setup_teardown(test_no_cache, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
