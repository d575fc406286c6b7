/* A folder of records as a matrix: cells, what counts and why not, and what the reports say. */
#include "record_util.h"

#include "../../loadgen/record/notes.h"
#include "../../loadgen/record/record.h"
#include "../../loadgen/report/study_report.h"

#include <math.h>

#define NEAR(a, b, by) assert_true(fabs((a) - (b)) <= (by))

static json_t *load(const char *name)
{
    char path[PATH_MAX];
    struct err err;
    json_t *r;
    snprintf(path, sizeof(path), TEST_DATA "/published/%s", name);
    if (!record_read(path, &r, &err))
        fail_msg("%s", err.text);
    return r;
}

static void assert_says(const char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("\"%s\" is not in:\n%s", what, text);
}

/* The text report; each line fits a mail. */
static char *report(const struct study *s)
{
    char *text;
    size_t len;
    struct err err;
    FILE *out = open_memstream(&text, &len);
    assert_true(study_text(out, s, &err));
    fclose(out);
    for (const char *p = text; *p;) {
        size_t line = strcspn(p, "\n");
        if (line > 72 || (line && p[line - 1] == ' '))
            fail_msg("line of %zu columns: \"%.*s\"", line, (int)line, p);
        p += line + (p[line] == '\n');
    }
    return text;
}

static const char *const cpus[] = {"node:0", "node:1"};

/* Two cells; GB/s of a run of cell c in block b: 40 + 4 c + b / 10. */
static json_t *run(int number, int cell, int block)
{
    json_t *r = load("t3-b-none.json"), *w = json_array_get(json_object_get(r, "windows"), 0);
    char started[40];
    double rate = 1e9 * (40 + 4 * cell + block / 10.0);
    snprintf(started, sizeof(started), "2026-09-01T%02d:%02d:00Z", number / 60, number % 60);
    json_object_set_new(r, "started_at", json_string(started));
    json_object_set_new(json_object_get(r, "host"), "boot_id", json_string("b"));
    json_object_set_new(json_object_get(w, "throughput"), "bytes_per_s", json_real(rate));
    json_object_set_new(json_object_get(r, "profile"), "cpus", json_string(cpus[cell]));
    json_object_set_new(r, "matrix",
                        json_pack("{s:s, s:{s:s}, s:i, s:i, s:i, s:i, s:i, s:b, s:i, s:i}",
                                  "series", "0123", "cell", "cpus", cpus[cell], "run", number,
                                  "attempt", 1, "repeat", block, "block", block, "order", 1,
                                  "warmup", 0, "boot", 1, "mount", 1));
    return r;
}

enum { RUNS = 10 };

static void make_runs(json_t **r)
{
    for (int i = 0; i < RUNS; i++)
        r[i] = run(i + 1, i % 2, i / 2 + 1);
}

static void free_runs(json_t **r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        json_decref(r[i]);
}

static json_t *plan_with(const char *statement)
{
    return json_pack("{s:[{s:s, s:[s, s]}], s:[{s:s}, {s:s}], s:{s:s}, s:s, s:i, s:n, "
                     "s:[{s:s, s:s, s:i}]}",
                     "axes", "key", "cpus", "values", cpus[0], cpus[1], "cells", "cpus", cpus[0],
                     "cpus", cpus[1], "baseline", "cpus", cpus[0], "order", "blocks", "seed", 7,
                     "precision", "expect", "name", "cross", "statement", statement, "line", 12);
}

#define CROSS "median(bytes_per_s, cpus=node:1) / median(bytes_per_s, cpus=node:0) >= 1.04"

static struct study study_of(json_t **r, size_t n, const json_t *plan)
{
    struct study s;
    struct err err;
    if (!study_make(&s, (const json_t *const *)r, n, plan, NULL, "plan.json", &err))
        fail_msg("%s", err.text);
    return s;
}

static void a_matrix(void **state)
{
    (void)state;
    json_t *r[RUNS], *plan = plan_with(CROSS);
    make_runs(r);
    struct study s = study_of(r, RUNS, plan);
    assert_int_equal(s.cells_n, 2);
    assert_int_equal(s.counted_n, RUNS);
    assert_int_equal(s.boots, 1);
    assert_int_equal(s.seed, 7);
    NEAR(s.cells[0].rate.median, 40.3e9, 1);
    /* a hand-made line through 40.1 .. 40.5 and 44.1 .. 44.5 in the 8 minutes of a cell */
    NEAR(s.drift.hours, 8 / 60.0, 1e-9);
    NEAR(s.drift.change, 0.5 * (0.4 / 40.3 + 0.4 / 44.3), 2e-4);
    NEAR(s.cells[1].baseline.ratio, 44.3 / 40.3, 1e-4);
    assert_int_equal(s.cells[1].baseline.interval.level, STATS_BLOCK);
    assert_int_equal(s.expectations[0].answer.verdict, EXPECT_REPRODUCED);
    char *text = report(&s);
    assert_says(text, "numaload: matrix of 2 cells, 10 runs");
    assert_says(text, "B node1  5   44.30  44.30   44.10-44.50");
    assert_says(text, "One boot: the intervals speak of this boot only.");
    assert_says(text, "node1  faster by 9.9 % (9.9-10.0)");
    assert_says(text, "cross  reproduced: 1.0993 (");
    assert_says(text,
                "% in 8 min, p < 0.001 over"); /* each block is 0.1 GB/s faster than the last */
    assert_says(text, ": it drifts");
    assert_says(text, "10 counted of 10, 1 boot, 1 mount");
    assert_says(text, "blocks, seed 7");
    free(text);
    study_free(&s);
    json_decref(plan);
    free_runs(r, RUNS);
}

/* A rate that is unavailable is not 0; the counters of its run count nevertheless. */
static void rate_unavailable(void **state)
{
    (void)state;
    json_t *r[RUNS], *plan = plan_with("median(remote_free_share, cpus=node:0) <= 0.001");
    make_runs(r);
    json_t *w = json_array_get(json_object_get(r[0], "windows"), 0);
    json_object_set_new(json_object_get(w, "throughput"), "bytes_per_s", json_null());
    w = json_array_get(json_object_get(r[2], "windows"), 0);
    json_object_set_new(json_object_get(w, "throughput"), "bytes_per_s", json_real(-1));
    struct study s = study_of(r, RUNS, plan);
    assert_int_equal(s.counted_n, RUNS - 1);
    assert_null(s.runs[0].left_out);
    assert_string_equal(s.runs[2].left_out, "its throughput of -1 bytes per second is none");
    assert_int_equal(s.cells[0].rate.n, 3);
    NEAR(s.cells[0].rate.mean, 40.4e9, 1);
    NEAR(s.cells[0].rate.least, 40.3e9, 1);
    study_free(&s);
    json_decref(plan);
    free_runs(r, RUNS);
}

static void instrument_of(json_t *r, const char *name)
{
    json_object_set_new(json_object_get(r, "profile"), "instrument", json_string(name));
}

/* A run under an instrument is never mixed with others, whatever the plan says or there is none. */
static void never_mixed(void **state)
{
    (void)state;
    json_t *r[RUNS], *plan = plan_with(CROSS);
    make_runs(r);
    instrument_of(r[0], "perf-lock");
    struct study s = study_of(r, RUNS, plan);
    assert_string_equal(s.runs[0].left_out, "instrument perf-lock; the plan has none");
    assert_int_equal(s.cells[0].rate.n, 4);
    study_free(&s);
    /* no plan: the first cell is instrumented, and no baseline; node1 has no cell without */
    for (int i = 0; i < RUNS; i++)
        instrument_of(r[i], i % 2 ? "perf-stat" : i < 4 ? "perf-lock" : "none");
    s = study_of(r, RUNS, NULL);
    assert_int_equal(s.cells_n, 3);
    assert_string_equal(study_instrument(&s, s.baseline), "none");
    for (size_t i = 0; i < 3; i++)
        assert_false(s.cells[i].baseline.known);
    char *text = report(&s);
    assert_null(strstr(text, "Against"));
    free(text);
    study_free(&s);
    json_decref(plan);
    free_runs(r, RUNS);
}

/* The report on a series that is still running says so. */
static void incomplete(void **state)
{
    (void)state;
    json_t *r[RUNS], *plan = plan_with(CROSS);
    make_runs(r);
    json_object_set_new(plan, "repeats", json_integer(6));
    struct study s = study_of(r, RUNS, plan);
    char *text = report(&s);
    assert_says(text, "!!  2 of the 12 runs of the plan are missing: not run yet, or left out;");
    free(text);
    study_free(&s);
    json_object_set_new(plan, "repeats", json_integer(5));
    s = study_of(r, RUNS, plan);
    text = report(&s);
    assert_null(strstr(text, "!!"));
    free(text);
    study_free(&s);
    json_decref(plan);
    free_runs(r, RUNS);
}

static void set(json_t *r, const char *key, json_t *value)
{
    json_object_set_new(json_object_get(r, "matrix"), key, value);
}

static void what_is_left_out_is_listed(void **state)
{
    (void)state;
    json_t *r[RUNS], *plan = plan_with(CROSS);
    make_runs(r);
    json_object_set_new(r[0], "status", json_string("invalid"));
    note_add(json_object_get(r[0], "notes"), NOTE_INVALID, "cpus", "worker 3 left its node");
    set(r[1], "warmup", json_true());
    set(r[2], "settle",
        json_pack("{s:b, s:f, s:f}", "settled", 0, "idle_percent", 50.0, "level_idle_percent",
                  99.0));
    json_object_set_new(json_array_get(json_object_get(r[3], "windows"), 0), "nfs",
                        json_pack("{s:b, s:{s:i, s:i}}", "available", 1, "read", "operations", 1000,
                                  "transmissions", 1002));
    set(r[4], "run", json_integer(7)); /* and r[6] is run 7 too: a second attempt */
    set(r[6], "attempt", json_integer(2));
    json_object_set_new(json_object_get(json_object_get(r[5], "matrix"), "cell"), "cpus",
                        json_string("node:9"));
    json_object_set_new(r[7], "cut_short", json_true());
    struct study s = study_of(r, RUNS, plan);
    assert_string_equal(s.runs[0].left_out, "INVALID: cpus: worker 3 left its node");
    assert_string_equal(s.runs[1].left_out, "warm-up");
    assert_string_equal(s.runs[2].left_out,
                        "other load: before it 50.0 % idle, 99.0 % when the series began");
    assert_string_equal(s.runs[3].left_out, "retransmissions: 2 of 1000 READs were sent again");
    assert_string_equal(s.runs[4].left_out, "run again as attempt 2");
    assert_string_equal(s.runs[5].left_out, "of no cell of the plan");
    assert_null(s.runs[6].left_out);
    assert_string_equal(s.runs[7].left_out, "CUT SHORT");
    assert_int_equal(s.counted_n, 3);
    char *text = report(&s);
    assert_says(text, "1    node0: INVALID: cpus: worker 3 left its node");
    assert_says(text, "3 counted of 10");
    assert_says(text, "cross  undecided: ");
    free(text);
    study_free(&s);
    json_decref(plan);
    free_runs(r, RUNS);
}

static void bad_expectations(void **state)
{
    (void)state;
    json_t *r[RUNS], *plan = plan_with("median(bytes_per_s, cpus=node:7) > 1");
    struct study s;
    struct err err;
    make_runs(r);
    assert_false(study_make(&s, (const json_t *const *)r, RUNS, plan, NULL, "plan.json", &err));
    assert_string_equal(err.text, "plan.json:12: expectation 'cross': no cell has cpus=node:7; "
                                  "there is node:0, node:1");
    study_free(&s);
    json_decref(plan);
    plan = json_pack("{s:[{s:s}], s:[]}", "axes", "key", "cpus", "cells");
    assert_false(study_make(&s, (const json_t *const *)r, RUNS, plan, NULL, "plan.json", &err));
    assert_says(err.text, "it has no cells");
    study_free(&s);
    json_decref(plan);
    free_runs(r, RUNS);
}

/* Without a plan the cells are what differs; mem goes with cpus and is no axis of its own. */
static void plain_records(void **state)
{
    (void)state;
    json_t *r[RUNS];
    make_runs(r);
    for (int i = 0; i < RUNS; i++) {
        json_object_del(r[i], "matrix");
        json_object_set_new(json_object_get(r[i], "profile"), "mem", json_string(cpus[i % 2]));
    }
    struct study s = study_of(r, RUNS, NULL);
    assert_int_equal(s.axes_n, 1);
    assert_string_equal(s.keys[0], "cpus");
    assert_int_equal(s.cells_n, 2);
    assert_true(study_repeats(&s));
    assert_false(s.cells[1].baseline.paired);
    char *text = report(&s);
    assert_says(text, "no plan: the runs are taken as independent");
    free(text);
    study_free(&s);
    /* one value of each axis, and one record */
    s = study_of(r, 1, NULL);
    assert_int_equal(s.axes_n, 0);
    assert_int_equal(s.cells_n, 1);
    assert_false(study_repeats(&s));
    text = report(&s);
    assert_says(text, "A all runs  1   40.10  40.10             -      -");
    free(text);
    study_free(&s);
    free_runs(r, RUNS);
}

static void two_machines_are_no_matrix(void **state)
{
    (void)state;
    json_t *r[RUNS], *plan = plan_with(CROSS);
    make_runs(r);
    json_object_set_new(json_object_get(r[4], "host"), "cpu_model", json_string("another"));
    json_object_set_new(json_object_get(r[5], "host"), "kernel_release", json_string("7.9"));
    json_object_del(
        json_at(json_array_get(json_object_get(r[3], "windows"), 0), "slab", "counters", NULL),
        "sheaf_flush");
    struct study s = study_of(r, RUNS, plan);
    char *text = report(&s);
    assert_says(text, "!!  the runs have different machines");
    assert_says(text, "!!  the runs have different kernels");
    assert_says(text, "!!  the runs have different sets of counters (sheaf_flush");
    free(text);
    study_free(&s);
    json_decref(plan);
    free_runs(r, RUNS);
}

/* T3: the conclusions of the thread from its figures; perf lock is a cell of its own. */
static void published_instruments(void **state)
{
    (void)state;
    static const char *const names[] = {"t3-a-none.json",      "t3-b-none.json",
                                        "t3-c-none.json",      "t3-a-perf-lock.json",
                                        "t3-b-perf-lock.json", "t3-c-perf-lock.json"};
    json_t *r[6];
    for (int i = 0; i < 6; i++)
        r[i] = load(names[i]);
    struct study s = study_of(r, 6, NULL);
    assert_int_equal(s.cells_n, 6);
    NEAR(study_median(&s, 0, "remote_free_share", NULL), 0.71, 0.005);
    NEAR(study_median(&s, 1, "remote_free_share", NULL), 0.00002, 0.000005);
    NEAR(study_median(&s, 2, "remote_free_share", NULL), 0.50, 0.005);
    assert_int_equal(study_without_instrument(&s, 3), 0);
    assert_int_equal(study_without_instrument(&s, 0), SIZE_MAX);
    char *text = report(&s);
    assert_says(text, "What the instruments did: median with / median without");
    assert_says(text, "throughput               0.549      0.547      0.549"); /* 45.5 to 25 GB/s */
    assert_says(text, "free_fastpath             18.8       3.82       5.53"); /* by 19 in A */
    /* no comparison mixes instrumented and other runs */
    const char *from = strstr(text, "Against "), *to = strstr(text, "Counters of");
    const char *found = strstr(from, "perf-lock");
    assert_true(!found || found > to);
    free(text);
    study_free(&s);
    free_runs(r, 6);
}

/* The statements of the thread, of single runs: figures, and no verdict that one run cannot bear.
 */
static void published_statements(void **state)
{
    (void)state;
    static const char *const names[] = {"t2-node0-node0.json",       "t1-node0-node1.json",
                                        "t1-node1-node1.json",       "t1-node0-balanced.json",
                                        "t1-unpinned-balanced.json", "t1-unpinned-node1.json"};
    static const struct {
        const char *statement;
        double figure, by;
    } all[] = {
        {"median(bytes_per_s, cpus=node:1 cq=node:1) / median(bytes_per_s, cpus=node:0 cq=node:1) "
         ">= 1.04",
         46 / 42.0, 0.001}, /* the lower of two windows stands for a run */
        {"median(barn_put_fail_share, cpus=node:0 cq=node:0) > 0.1", 0.123, 0.001},
        {"median(sheaf_flush_sheaves_per_barn_put_fail, cpus=node:0 cq=node:0) within 0.1 % of 1",
         223946 / 223950.0, 1e-5},
        {"median(remote_free_share, cpus=node:0 cq=node:0) <= 0.001", 0.0000752, 1e-6},
    };
    json_t *r[6], *list = json_array();
    for (int i = 0; i < 6; i++)
        r[i] = load(names[i]);
    for (size_t i = 0; i < 4; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:i}", "name", "x", "statement",
                                              all[i].statement, "line", 1));
    struct study s;
    struct err err;
    if (!study_make(&s, (const json_t *const *)r, 6, NULL, list, "published.ini", &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < 4; i++) {
        NEAR(s.expectations[i].answer.figure, all[i].figure, all[i].by);
        assert_int_equal(s.expectations[i].answer.verdict, EXPECT_UNDECIDED);
        assert_says(s.expectations[i].answer.reason, "single run");
    }
    study_free(&s);
    json_decref(list);
    free_runs(r, 6);
}

static void other_formats(void **state)
{
    (void)state;
    json_t *r[RUNS], *plan = plan_with(CROSS);
    make_runs(r);
    struct study s = study_of(r, RUNS, plan);
    static bool (*const formats[])(FILE *, const struct study *, struct err *) = {
        study_json, study_markdown, study_csv, study_html};
    static const char *const says[] = {"\"answer\": \"reproduced\"", "| B node1 | 5 | 44.30 |",
                                       "left_out,cell,label,started_at,status,matrix.run",
                                       "plot-timeline"};
    for (int i = 0; i < 4; i++) {
        char *text;
        size_t len;
        struct err err;
        FILE *out = open_memstream(&text, &len);
        assert_true(formats[i](out, &s, &err));
        fclose(out);
        assert_says(text, says[i]);
        if (i == 0) {
            json_t *o = json_loads(text, 0, NULL), *cells;
            assert_non_null(o);
            cells = json_object_get(json_object_get(o, "matrix"), "cells");
            assert_int_equal(json_array_size(cells), 2);
            json_decref(o);
        }
        free(text);
    }
    study_free(&s);
    json_decref(plan);
    free_runs(r, RUNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix),
        cmocka_unit_test(rate_unavailable),
        cmocka_unit_test(incomplete),
        cmocka_unit_test(never_mixed),
        cmocka_unit_test(what_is_left_out_is_listed),
        cmocka_unit_test(bad_expectations),
        cmocka_unit_test(plain_records),
        cmocka_unit_test(two_machines_are_no_matrix),
        cmocka_unit_test(published_instruments),
        cmocka_unit_test(published_statements),
        cmocka_unit_test(other_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
