/* Statements: what they mean, what is refused and in which words, and the three answers. */
#include "../../loadgen/matrix/expect.h"
#include "../../loadgen/matrix/metric.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define NEAR(a, b, by) assert_true(fabs((a) - (b)) <= (by))

static const char *const keys[] = {"cpus", "cq", "instrument"};
static const char *const values[] = {
    "node:0", "node:0", "none", "node:0", "node:1", "none",      "node:1", "node:0",    "none",
    "node:1", "node:1", "none", "node:0", "node:0", "perf-lock", "node:0", "perf-stat", "perf-stat",
};
static const struct expect_cells cells = {keys, 3, values, 6};

static void refused(const char *statement, const char *why)
{
    struct expect *e;
    struct err err;
    assert_false(expect_parse("cost", statement, "m.ini", 12, &cells, &e, &err));
    assert_null(e);
    assert_int_equal(err.status, STATUS_USAGE);
    assert_int_equal(strncmp(err.text, "m.ini:12: expectation 'cost': ", 30), 0);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" is not in \"%s\"", why, err.text);
}

static void errors_say_what_and_where(void **state)
{
    (void)state;
    refused("", "expected a number, '(' or median, mean, min, max at 'the end'");
    refused("median", "expected '(METRIC");
    refused("median(bytes_per_s", "expected ')' at 'the end'");
    refused("median(bytes_per_s)", "expected >=, <=, >, < or 'within X of Y'");
    refused("median(bytes_per_s) >= ", "at 'the end'");
    refused("median(bytes_per_s) >= 1 2", "'2' is left over");
    refused("median(byte_per_s) >= 1", "unknown metric 'byte_per_s'; did you mean 'bytes_per_s'?");
    refused("median(qqq) >= 1", "slab.COUNTER");
    refused("median(bytes_per_s, cpus) >= 1", "expected AXIS=VALUE");
    refused("median(bytes_per_s, cpus=) >= 1", "'cpus=' has no value");
    refused("median(bytes_per_s, cpus=node:7) >= 1",
            "no cell has cpus=node:7; there is node:0, node:1");
    refused("median(bytes_per_s, threads=4) >= 1",
            "'threads' is no axis of this matrix; there is cpus, cq, instrument");
    refused("median(bytes_per_s, cpus=node:1 instrument=perf-lock) >= 1", "no cell has all of");
    refused("median(bytes_per_s, cq=perf-stat) >= 1", "name the instrument");
    refused("1 >= 2", "says nothing about any cell");
    refused("average(bytes_per_s) > 1", "at 'average(");
    refused("max(bytes_per_s) within 3 of median(bytes_per_s)", "must be a number");
    refused("max(bytes_per_s) within 3 %", "expected 'of'");
    refused("max(bytes_per_s) > 0x10", "'x10' is left over");
    refused("max(bytes_per_s) > 1e999", "expected a number");
    char deep[300];
    memset(deep, '(', 200);
    deep[200] = '\0';
    refused(deep, "more than 32 levels");
    char many[2000] = "max(bytes_per_s) > 1";
    for (int i = 0; i < 150; i++)
        strcat(many, " + 1");
    refused(many, "more than 128 numbers");
    struct expect *e;
    struct err err;
    assert_false(expect_parse("cost", "1", NULL, 0, NULL, &e, &err));
    assert_int_equal(strncmp(err.text, "expectation 'cost': ", 20), 0);
}

/* Cell c, block b: bytes 100 * (c + 1) + b; slab.x is 5; others are unavailable. */
static struct stats_run runs[24];

static double value(const void *data, size_t run, const char *metric)
{
    (void)data;
    if (strcmp(metric, "bytes_per_s") == 0)
        return 100.0 * (double)(runs[run].cell + 1) + (double)runs[run].block;
    return strcmp(metric, "slab.x") == 0 ? 5 : NAN;
}

static struct expect_answer answer(const char *statement, size_t blocks)
{
    struct expect *e;
    struct err err;
    struct expect_answer a;
    if (!expect_parse("cost", statement, NULL, 0, &cells, &e, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < 6 * blocks; i++)
        runs[i] = (struct stats_run){.cell = i % 6, .boot = 1, .block = (long)(i / 6) + 1};
    expect_answer(e, runs, 6 * blocks, value, NULL, 1, &a);
    expect_free(e);
    return a;
}

#define CELL(c) "(bytes_per_s, cpus=node:" #c " cq=node:0)"

static void figures(void **state)
{
    (void)state;
    /* cells 0 and 2, blocks 1 2 3: medians 102 and 302 */
    NEAR(answer("median" CELL(1) " - median" CELL(0) " > 0", 3).figure, 200, 1e-9);
    NEAR(answer("min" CELL(0) " > 0", 3).figure, 101, 1e-9);
    NEAR(answer("max" CELL(0) " > 0", 3).figure, 103, 1e-9);
    NEAR(answer("mean" CELL(0) " > 0", 3).figure, 102, 1e-9);
    NEAR(answer("2 + 3 * (4 - 1) / -median(slab.x, cq=node:1) > 0", 3).figure, 2 - 9 / 5.0, 1e-9);
    NEAR(answer("median" CELL(1) " > median" CELL(0), 3).figure, 200, 1e-9);
    NEAR(answer("median" CELL(0) " > 0", 4).figure, 102.5, 1e-9); /* of 101 .. 104 */
    /* without a selector: the four cells without an instrument */
    NEAR(answer("max(bytes_per_s) > 0", 3).figure, 403, 1e-9);
    NEAR(answer("max(bytes_per_s, instrument=perf-stat) > 0", 3).figure, 603, 1e-9);
}

static void verdict(const char *statement, enum expect_verdict v)
{
    struct expect_answer a = answer(statement, 3);
    if (a.verdict != v)
        fail_msg("\"%s\" is %s: %g (%g-%g) %s", statement, expect_word(a.verdict), a.figure,
                 a.interval.low, a.interval.high, a.reason);
}

static void verdicts(void **state)
{
    (void)state;
    /* median 102 of 101 102 103: standard error about 0.75 of 1/sqrt(3) ..., t(2) = 4.3 */
    verdict("median" CELL(0) " >= 90", EXPECT_REPRODUCED);
    verdict("median" CELL(0) " >= 102", EXPECT_UNDECIDED);
    verdict("median" CELL(0) " >= 120", EXPECT_NOT_REPRODUCED);
    verdict("median" CELL(0) " <= 120", EXPECT_REPRODUCED);
    verdict("median" CELL(0) " < 90", EXPECT_NOT_REPRODUCED);
    verdict("median" CELL(0) " > 102", EXPECT_UNDECIDED);
    verdict("median(slab.x) >= 5", EXPECT_REPRODUCED); /* no spread: an interval of one point */
    verdict("median(slab.x) > 5", EXPECT_NOT_REPRODUCED);
    verdict("median(slab.x) within 1 % of 5.04", EXPECT_REPRODUCED);
    verdict("median(slab.x) within 1 % of 5.06", EXPECT_NOT_REPRODUCED);
    verdict("median(slab.x) within 0.1 of 5.06", EXPECT_REPRODUCED);
    verdict("median" CELL(0) " within 1 of 102", EXPECT_UNDECIDED);
    verdict("median" CELL(1) " > median" CELL(0), EXPECT_REPRODUCED);
    verdict("median" CELL(1) " < median" CELL(0), EXPECT_NOT_REPRODUCED);
    /* the blocks move both alike: the difference is exact though each cell spreads */
    verdict("mean" CELL(1) " - mean" CELL(0) " within 0.001 of 200", EXPECT_REPRODUCED);
}

static void nothing_is_decided_without_figures(void **state)
{
    (void)state;
    struct expect_answer a = answer("median" CELL(0) " >= 1", 1);
    assert_int_equal(a.verdict, EXPECT_UNDECIDED);
    NEAR(a.figure, 101, 1e-9);
    assert_non_null(strstr(a.reason, "single run"));
    a = answer("median(p99_ns, cpus=node:0) >= 1", 3);
    assert_int_equal(a.verdict, EXPECT_UNDECIDED);
    assert_string_equal(a.reason, "no counted run of 'cpus=node:0' has p99_ns");
    a = answer("1 / (median(slab.x) - 5) > 1", 3);
    assert_string_equal(a.reason, "a division by 0");
}

static void exit_statuses(void **state)
{
    (void)state;
    const enum expect_verdict v[] = {EXPECT_REPRODUCED, EXPECT_UNDECIDED, EXPECT_NOT_REPRODUCED};
    assert_int_equal(expect_exit_status(v, 1), 0);
    assert_int_equal(expect_exit_status(v, 2), 125);
    assert_int_equal(expect_exit_status(v, 3), 1);
}

static void metrics_of_a_window(void **state)
{
    (void)state;
    json_t *w =
        json_pack("{s:{s:f, s:I}, s:{s:{s:{s:i}, s:i, s:{s:n}}}, s:{s:{s:{s:f}}}}", "throughput",
                  "bytes_per_s", 5.0, "bytes", (json_int_t)1 << 31, "slab", "counters", "a",
                  "total", 7, "b", 8, "c", "total", "cpu", "by_node", "1", "idle_percent", 12.5);
    assert_non_null(w);
    NEAR(metric_value(w, "bytes_per_s"), 5, 0);
    NEAR(metric_value(w, "slab.a"), 7, 0);
    NEAR(metric_value(w, "slab.b"), 8, 0); /* slimmed */
    NEAR(metric_value(w, "idle_percent.1"), 12.5, 0);
    NEAR(metric_value(w, "slab_per_gib.a"), 3.5, 1e-12);
    assert_true(isnan(metric_value(w, "slab_per_gib.d")));
    assert_true(isnan(metric_value(NULL, "slab_per_gib.a")));
    assert_true(isnan(metric_value(w, "slab.c")));
    assert_true(isnan(metric_value(w, "slab.d")));
    assert_true(isnan(metric_value(w, "p99_ns")));
    assert_true(isnan(metric_value(NULL, "bytes_per_s")));
    assert_false(metric_known("slab."));
    assert_false(metric_known("slab_per_gib."));
    assert_true(metric_known("slab_per_gib.a"));
    json_decref(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_say_what_and_where),
        cmocka_unit_test(figures),
        cmocka_unit_test(verdicts),
        cmocka_unit_test(nothing_is_decided_without_figures),
        cmocka_unit_test(exit_statuses),
        cmocka_unit_test(metrics_of_a_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
