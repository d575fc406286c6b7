/* loadgen/run/generator.h: when a run says that it was short of CPUs. */
#include "../../loadgen/run/generator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Two threads in a window of 1 s, so 2 s of thread time. The caller owns the notes. */
static json_t *notes_of(double run_s, double wait_s)
{
    json_t *notes = json_array();
    json_t *window = json_pack("{s:I, s:{s:i, s:I, s:I, s:i, s:i}}", "window_ns",
                               (json_int_t)1000000000, "sched", "threads", 2, "run_ns",
                               (json_int_t)(run_s * 1e9), "wait_ns", (json_int_t)(wait_s * 1e9),
                               "voluntary_switches", 900, "involuntary_switches", 100);
    generator_note(window, notes);
    json_decref(window);
    return notes;
}

static void enough_cpus(void **state)
{
    const double cases[][2] = {
        {0, 0},      /* all asleep */
        {2, 0},      /* busy, and alone */
        {0.1, 0.09}, /* half of what was wanted, but of little */
        {1.7, 0.3},  /* 15 % of what was wanted */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        json_t *notes = notes_of(cases[i][0], cases[i][1]);
        assert_int_equal(json_array_size(notes), 0);
        json_decref(notes);
    }
}

static void too_few_cpus(void **state)
{
    (void)state;
    json_t *notes = notes_of(1, 1);
    assert_int_equal(json_array_size(notes), 1);
    const json_t *n = json_array_get(notes, 0);
    const char *text = json_string_value(json_object_get(n, "text"));
    assert_string_equal(json_string_value(json_object_get(n, "level")), "warning");
    assert_non_null(strstr(text, "wanted to run 100 % of the time"));
    assert_non_null(strstr(text, "waited for a CPU in 50 % of that"));
    assert_non_null(strstr(text, "1 ms each time")); /* 1 s over 1000 switches */
    json_decref(notes);
}

/* In a window of 1 ms whose readings were 4 ms apart, 4 ms of thread time are no more than that. */
static void readings_further_apart_than_the_window(void **state)
{
    (void)state;
    json_t *notes = json_array();
    json_t *window =
        json_pack("{s:I, s:{s:i, s:I, s:I, s:{s:i, s:i, s:i, s:i}}}", "window_ns",
                  (json_int_t)1000000, "sched", "threads", 2, "run_ns", (json_int_t)2000000,
                  "wait_ns", (json_int_t)4000000, "skew", "from_began_ns", 0, "from_ended_ns",
                  1000000, "to_began_ns", 3000000, "to_ended_ns", 4000000);
    generator_note(window, notes);
    const char *text = json_string_value(json_object_get(json_array_get(notes, 0), "text"));
    assert_non_null(text);
    assert_non_null(strstr(text, "wanted to run 75 % of the time")); /* 6 of 2 x 4 ms */
    json_decref(window);
    json_decref(notes);
}

/* Of 1000 requests with a mean latency of 100 us. */
static json_t *notes_of_unreaped(json_t *unreaped_ns)
{
    json_t *notes = json_array();
    json_t *window =
        json_pack("{s:I, s:{s:i, s:o}, s:{s:i}}", "window_ns", (json_int_t)1000000000, "submission",
                  "requests", 1000, "unreaped_ns", unreaped_ns, "latency", "mean_ns", 100000);
    generator_note(window, notes);
    json_decref(window);
    return notes;
}

static void reaped_late(void **state)
{
    (void)state;
    json_t *notes = notes_of_unreaped(json_integer(20000000)); /* 20 us each: a fifth */
    assert_int_equal(json_array_size(notes), 1);
    const char *text = json_string_value(json_object_get(json_array_get(notes, 0), "text"));
    assert_non_null(strstr(text, "mean latency of 100 us"));
    assert_non_null(strstr(text, "up to 20 us"));
    json_decref(notes);
    notes = notes_of_unreaped(json_integer(200000000)); /* a bound, and never above the latency */
    text = json_string_value(json_object_get(json_array_get(notes, 0), "text"));
    assert_non_null(strstr(text, "up to 100 us"));
    json_decref(notes);
}

static void reaped_in_time(void **state)
{
    (void)state;
    json_t *cases[] = {json_integer(19999000), json_integer(0), json_null()};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        json_t *notes = notes_of_unreaped(cases[i]);
        assert_int_equal(json_array_size(notes), 0);
        json_decref(notes);
    }
}

static void nothing_known(void **state)
{
    (void)state;
    json_t *notes = json_array(), *window = json_pack("{s:I}", "window_ns", (json_int_t)1000000000);
    generator_note(window, notes);
    assert_int_equal(json_array_size(notes), 0);
    json_decref(window);
    json_decref(notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enough_cpus),   cmocka_unit_test(too_few_cpus),
        cmocka_unit_test(reaped_late),   cmocka_unit_test(reaped_in_time),
        cmocka_unit_test(nothing_known), cmocka_unit_test(readings_further_apart_than_the_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
