/* loadgen/report/view.h: which window stands for a run. */
#include "check.h"

#include "../../loadgen/report/view.h"

static void add(json_t *record, double rate, bool valid, bool cut)
{
    json_array_append_new(json_object_get(record, "windows"),
                          json_pack("{s:b, s:b, s:{s:f}}", "valid", valid, "cut_short", cut,
                                    "throughput", "bytes_per_s", rate));
}

static double median(const json_t *record, size_t *of)
{
    return json_real_value(json_object_get(
        json_object_get(view_median_window(record, of), "throughput"), "bytes_per_s"));
}

static void a_window_cut_short_is_never_the_median(void **state)
{
    (void)state;
    size_t of;
    json_t *record = json_pack("{s:[]}", "windows");
    assert_null(view_median_window(record, &of));
    assert_int_equal(of, 0);
    add(record, 10, true, false);
    add(record, 5, true, true);
    assert_true(median(record, &of) == 10);
    assert_int_equal(of, 1);
    add(record, 30, true, false);
    add(record, 20, true, false);
    add(record, 19, false, false); /* nor one that is not valid */
    assert_true(median(record, &of) == 20);
    assert_int_equal(of, 3);
    json_decref(record);

    /* Where there is no other it is better than none. */
    record = json_pack("{s:[]}", "windows");
    add(record, 5, true, true);
    assert_true(median(record, &of) == 5);
    json_decref(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_cut_short_is_never_the_median),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
