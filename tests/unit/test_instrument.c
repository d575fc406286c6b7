/* loadgen/run/instrument.h: words of the key and the table of perf lock contention. */
#include "check.h"

#include "../../loadgen/run/instrument.h"

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

/* Rows as perf-lock(1) 6.1 prints them; figures made up. */
static void test_rows(void **state)
{
    (void)state;
    json_t *lock = instrument_parse_lock(
        "[ perf record: Captured and wrote 0.273 MB x (416 samples) ]\n"
        " contended   total wait     max wait     avg wait         type   caller\n"
        "\n"
        "      2845      1.50 s      16.64 us      12.73 us     spinlock   __slab_free+0x3a\n"
        "       155    500.00 ms     18.12 us       2.03 us     spinlock   __slab_free+0x1f0\n"
        "         5    206.28 us    100.73 us      41.26 us      rwsem:W   do_filp_open+0xc3\n"
        "         1      2.00 m       2.00 m        2.00 m       mutex     slow\n");
    assert_non_null(lock);
    assert_true(json_is_true(json_object_get(lock, "available")));
    assert_int_equal(json_integer_value(json_object_get(lock, "contentions")), 3006);
    assert_float_equal(number(lock, "total_wait_ns"), 1.5e9 + 0.5e9 + 206280 + 120e9, 1);
    assert_float_equal(number(lock, "mean_wait_ns"), (122e9 + 206280) / 3006, 1);
    const json_t *callers = json_object_get(lock, "by_caller");
    assert_int_equal(json_object_size(callers), 3);
    assert_int_equal(json_integer_value(json_object_get(callers, "__slab_free")), 3000);
    assert_int_equal(json_integer_value(json_object_get(callers, "do_filp_open")), 5);
    json_decref(lock);
}

static void test_no_rows(void **state)
{
    (void)state;
    assert_null(instrument_parse_lock(""));
    assert_null(instrument_parse_lock("failed to open perf.data: No such file or directory\n"));
    assert_null(instrument_parse_lock("12 of 13\n"));
    assert_null(instrument_parse_lock("  1  2.00 us  3.00 us  4.00 parsecs spinlock f+0x1\n"));
    assert_null(instrument_parse_lock("  1  2.00 us  3.00 us  4.00 us spinlock"));
    assert_null(instrument_parse_lock("99999999999999999999 1 us 1 us 1 us spinlock f\n"));
}

static void test_words(void **state)
{
    struct err err = {0};
    (void)state;
    assert_true(instrument_check(NULL, &err));
    assert_true(instrument_check("none", &err));
    assert_true(instrument_check("perf-lock", &err));
    assert_true(instrument_check("cmd:vmstat 1", &err));
    assert_false(instrument_check("cmd: ", &err));
    assert_int_equal(err.status, STATUS_USAGE);
    assert_false(instrument_check("perf", &err));
    assert_non_null(strstr(err.text, "perf-stat"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_no_rows),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
