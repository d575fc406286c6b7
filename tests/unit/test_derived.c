/* The figures of the published windows (T2 and T3), and what follows from them. */
#include "record_util.h"

#include "../../loadgen/record/derived.h"
#include "../../loadgen/record/record.h"

#include <glob.h>

static json_t *window(double bytes)
{
    return json_pack("{s:{s:I}, s:{s:b, s:i, s:i, s:{}}}", "throughput", "bytes", (json_int_t)bytes,
                     "slab", "available", 1, "sheaf_capacity", 60, "page_bytes", 4096, "counters");
}

static void count(json_t *w, const char *name, json_int_t total)
{
    json_object_set_new(json_at(w, "slab", "counters", NULL), name,
                        json_pack("{s:I, s:{}}", "total", total, "by_node"));
}

static void assert_figure(json_t *d, const char *key, double value, double tolerance)
{
    assert_json_near(json_object_get(d, key), value, tolerance);
}

static void assert_missing(json_t *d, const char *key, const char *reason)
{
    char reason_key[128];
    snprintf(reason_key, sizeof(reason_key), "%s_reason", key);
    assert_true(json_is_null(json_object_get(d, key)));
    const char *text = json_string_value(json_object_get(d, reason_key));
    assert_non_null(text);
    if (!strstr(text, reason))
        fail_msg("%s: \"%s\" does not say \"%s\"", key, text, reason);
}

static void test_t2_node0(void **state)
{
    (void)state;
    json_t *w = window(45e10);
    count(w, "free_fastpath", 119680629);
    count(w, "free_slowpath", 8999);
    count(w, "sheaf_flush", 13436760);
    count(w, "barn_put", 1596175);
    count(w, "barn_put_fail", 223950);
    count(w, "barn_get", 1596219);
    count(w, "barn_get_fail", 224090);
    count(w, "alloc_slowpath", 0);
    json_t *d = derived_from_window(w);
    assert_figure(d, "sheaf_flush_sheaves", 223946, 1e-6);
    assert_figure(d, "sheaf_flush_sheaves_per_barn_put_fail", 223946.0 / 223950, 1e-9);
    assert_figure(d, "barn_put_fail_share", 0.12, 0.005);
    assert_figure(d, "barn_get_fail_share", 224090.0 / (1596219 + 224090), 1e-9);
    assert_missing(d, "alloc_per_page", "alloc_fastpath");
    assert_missing(d, "cmpxchg_double_fail_per_million_frees", "cmpxchg_double_fail");
    json_decref(d);
    json_decref(w);
}

static json_t *t3(double bytes, json_int_t fast, json_int_t slow, json_int_t retries)
{
    json_t *w = window(bytes);
    count(w, "free_fastpath", fast);
    count(w, "free_slowpath", slow);
    count(w, "cmpxchg_double_fail", retries);
    json_t *d = derived_from_window(w);
    json_decref(w);
    return d;
}

static void test_t3(void **state)
{
    (void)state;
    json_t *a = t3(45.5e10, 34906233, 85039753, 7471);
    json_t *b = t3(45.7e10, 119984226, 2814, 713);
    json_t *c = t3(45.5e10, 59469931, 60145870, 1503);
    assert_figure(a, "remote_free_share", 0.71, 0.005);
    assert_figure(b, "remote_free_share", 0.00002, 0.000005);
    assert_figure(c, "remote_free_share", 0.50, 0.005);
    /* ~45.7 GB/s is 111.6 M pages in 10 s; 120.0 M frees */
    assert_figure(b, "objects_per_page", 1.0, 0.1);
    assert_figure(a, "cmpxchg_double_fail_per_million_frees", 7471 / 119.945986, 1e-6);
    assert_figure(b, "cmpxchg_double_fail_per_million_frees", 713 / 119.98704, 1e-6);
    assert_json_near(json_at(b, "counters_per_gib", "free_slowpath", NULL),
                     2814 / (45.7e10 / (1 << 30)), 1e-6);
    json_decref(a);
    json_decref(b);
    json_decref(c);
}

static void test_lab_identities(void **state)
{
    (void)state;
    json_t *w = window(388.0 * (1 << 20));
    count(w, "alloc_fastpath", 99328);
    count(w, "alloc_slowpath", 0);
    count(w, "free_fastpath", 99328);
    count(w, "free_slowpath", 0);
    json_t *d = derived_from_window(w);
    assert_figure(d, "alloc_per_page", 1, 0);
    assert_figure(d, "objects_per_page", 1, 0);
    assert_figure(d, "remote_free_share", 0, 0);
    json_decref(d);
    /* the same objects on a kernel with 64 KiB pages are 16 times as many a page */
    json_object_set_new(json_at(w, "slab", NULL), "page_bytes", json_integer(65536));
    d = derived_from_window(w);
    assert_figure(d, "alloc_per_page", 16, 0);
    json_decref(d);
    json_decref(w);
}

static void test_nothing_to_divide(void **state)
{
    (void)state;
    json_t *w = window(0);
    count(w, "free_fastpath", 0);
    count(w, "free_slowpath", 0);
    count(w, "barn_put", 0);
    count(w, "barn_put_fail", 0);
    count(w, "sheaf_flush", 0);
    json_object_set_new(json_at(w, "slab", "counters", NULL), "cmpxchg_double_fail",
                        json_pack("{s:n}", "total"));
    json_t *d = derived_from_window(w);
    assert_missing(d, "objects_per_page", "nothing was read");
    assert_missing(d, "remote_free_share", "no object was freed");
    assert_missing(d, "barn_put_fail_share", "no sheaf");
    assert_missing(d, "sheaf_flush_sheaves_per_barn_put_fail", "no put");
    assert_missing(d, "cmpxchg_double_fail_per_million_frees", "reset");
    assert_missing(d, "counters_per_gib", "nothing was read");
    json_object_set_new(json_at(w, "slab", NULL), "sheaf_capacity", json_integer(0));
    json_decref(d);
    d = derived_from_window(w);
    assert_missing(d, "sheaf_flush_sheaves", "capacity is 0");
    json_decref(d);
    json_decref(w);
}

/* encode.py computed the derived figures of the published tables apart from derived.c. */
static void test_published(void **state)
{
    (void)state;
    glob_t files;
    assert_int_equal(glob(TEST_DATA "/published/*.json", 0, NULL, &files), 0);
    assert_int_equal(files.gl_pathc, 15);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct err err;
        json_t *r, *w, *value;
        size_t k;
        const char *key;
        assert_true(record_read(files.gl_pathv[i], &r, &err));
        json_array_foreach(json_object_get(r, "windows"), k, w)
        {
            json_t *d = derived_from_window(w);
            json_object_foreach(json_object_get(w, "derived"), key, value)
            {
                if (json_is_number(value))
                    assert_figure(d, key, json_number_value(value),
                                  1e-9 * json_number_value(value));
                else if (json_is_null(value))
                    assert_true(json_is_null(json_object_get(d, key)));
            }
            json_decref(d);
        }
        json_decref(r);
    }
    globfree(&files);
}

static void test_unavailable(void **state)
{
    (void)state;
    json_t *w = json_pack("{s:{s:I}, s:{s:b, s:s}}", "throughput", "bytes", (json_int_t)4096,
                          "slab", "available", 0, "reason", "needs root");
    json_t *d = derived_from_window(w);
    assert_missing(d, "objects_per_page", "needs root");
    assert_missing(d, "remote_free_share", "needs root");
    assert_missing(d, "sheaf_flush_sheaves", "needs root");
    assert_missing(d, "counters_per_gib", "needs root");
    json_decref(d);
    json_decref(w);
    w = json_object();
    d = derived_from_window(w);
    assert_missing(d, "objects_per_page", "not recorded");
    json_decref(d);
    json_decref(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_t2_node0),       cmocka_unit_test(test_t3),
        cmocka_unit_test(test_lab_identities), cmocka_unit_test(test_nothing_to_divide),
        cmocka_unit_test(test_unavailable),    cmocka_unit_test(test_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
