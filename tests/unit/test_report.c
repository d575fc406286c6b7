/* Text reports: what they say, that they fit a mail, and that nothing absent is shown as 0. */
#include "record_util.h"

#include "../../loadgen/record/notes.h"
#include "../../loadgen/record/record.h"
#include "../../loadgen/report/fmt.h"
#include "../../loadgen/report/report.h"
#include "../../loadgen/report/view.h"

static json_t *load(const char *name)
{
    char path[PATH_MAX];
    struct err err;
    json_t *r;
    snprintf(path, sizeof(path), TEST_DATA "/%s", name);
    if (!record_read(path, &r, &err))
        fail_msg("%s", err.text);
    return r;
}

/* Every line at most 72 columns of printable ASCII, without trailing blanks. */
static void assert_fits_mail(const char *text)
{
    for (const char *p = text; *p;) {
        size_t len = strcspn(p, "\n");
        if (len > 72 || (len && p[len - 1] == ' '))
            fail_msg("line of %zu columns: \"%.*s\"", len, (int)len, p);
        for (size_t i = 0; i < len; i++)
            assert_true(p[i] >= ' ' && p[i] <= '~');
        p += len + (p[len] == '\n');
    }
}

static char *run_text(const json_t *record)
{
    char *text;
    size_t len;
    struct err err;
    FILE *out = open_memstream(&text, &len);
    assert_true(report_run_text(out, record, &err));
    fclose(out);
    assert_fits_mail(text);
    return text;
}

static char *compare_text(json_t **records, size_t n)
{
    char *text;
    size_t len;
    struct err err;
    FILE *out = open_memstream(&text, &len);
    assert_true(report_compare_text(out, (const json_t *const *)records, n, &err));
    fclose(out);
    assert_fits_mail(text);
    return text;
}

static void assert_says(const char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("\"%s\" is not in:\n%s", what, text);
}

static void test_units(void **state)
{
    (void)state;
    assert_string_equal(fmt_rate(46.02e9).s, "46.02 GB/s (42.86 GiB/s)");
    assert_string_equal(fmt_rate(26.1e6).s, "26.10 MB/s (24.89 MiB/s)");
    assert_string_equal(fmt_rate(0).s, "0 B/s");
    assert_string_equal(fmt_count(119680629).s, "119,680,629");
    assert_string_equal(fmt_count(-1234).s, "-1,234");
    assert_string_equal(fmt_count(999).s, "999");
    assert_string_equal(fmt_count(INT64_MIN).s, "-9,223,372,036,854,775,808");
    assert_string_equal(fmt_ns(812).s, "812 ns");
    assert_string_equal(fmt_ns(12345).s, "12.3 us");
    assert_string_equal(fmt_ns(220499999).s, "220 ms");
    assert_string_equal(fmt_ns(999600).s, "1.00 ms");
    assert_string_equal(fmt_ns(10e9).s, "10 s");
    assert_string_equal(fmt_bytes(1 << 20).s, "1 MiB");
    assert_string_equal(fmt_bytes(2621440).s, "2.50 MiB");
    assert_string_equal(fmt_figure(0.0000235).s, "0.0000235");
    assert_string_equal(fmt_figure(0.7089).s, "0.709");
    assert_string_equal(fmt_figure(1.0001).s, "1.0001");
    assert_string_equal(fmt_figure(281908.4).s, "281,908");
    assert_string_equal(fmt_figure(0).s, "0");
}

static void test_wrapping(void **state)
{
    (void)state;
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    char word[200];
    memset(word, 'w', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    fmt_wrapped(out, 4, "head: ", word);
    fmt_wrapped(
        out, 4, "head: ",
        "a line that is longer than the seventy-two columns of a mail must go on \x1b[31m red");
    fmt_wrapped(out, 4, "head:", "");
    fclose(out);
    assert_fits_mail(text);
    assert_says(text, "?[31m red");
    free(text);
}

static void test_published_run(void **state)
{
    (void)state;
    json_t *r = load("published/t3-b-none.json");
    char *text = run_text(r);
    assert_says(text, "45.70 GB/s (42.56 GiB/s)");
    assert_says(text, "160 threads x iodepth 64 x 1 MiB, aio, O_DIRECT, window 10 s");
    assert_says(text, "free_fastpath            119,984,226");
    assert_says(text, "0 in this window: alloc_slowpath");
    assert_says(text, "0.00235 % of all frees");
    assert_says(text, "224,795 against 224,762 failed barn puts");
    assert_says(text, "latency    unavailable: not published");
    assert_says(text, "unavailable: no counter barn_put");
    assert_says(text, "node1          99.40");
    assert_null(strstr(text, "***"));
    free(text);
    json_decref(r);
}

static json_t *window_of(json_t *r, size_t i)
{
    return json_array_get(json_object_get(r, "windows"), i);
}

static void test_loud(void **state)
{
    (void)state;
    json_t *r = load("published/t3-b-none.json");
    json_object_set_new(r, "status", json_string("invalid"));
    json_object_set_new(window_of(r, 0), "valid", json_false());
    note_add(json_object_get(window_of(r, 0), "notes"), NOTE_INVALID, "slab",
             "nfs_page/free_fastpath counted backwards: somebody reset it during the window");
    note_add(json_object_get(r, "notes"), NOTE_WARNING, "host", "irqbalance is running");
    json_object_set_new(json_at(window_of(r, 0), "slab", "counters", NULL), "free_fastpath",
                        json_pack("{s:n, s:s}", "total", "total_reason", "reset"));
    char *text = run_text(r);
    const char *loud = strstr(text, "*** INVALID ***");
    assert_non_null(loud);
    assert_true(loud - text < 100); /* at the top */
    assert_says(text, "!! slab: nfs_page/free_fastpath counted backwards");
    assert_says(text, "!  host: irqbalance is running");
    assert_says(text, "free_fastpath          unavailable: reset");
    free(text);
    json_decref(r);
}

static void test_unavailable_is_not_zero(void **state)
{
    (void)state;
    json_t *r = load("published/t1-node0-node1.json");
    char *text = run_text(r);
    assert_says(text, "unavailable: not published");
    assert_says(text, "2  44.00 GB/s (40.98 GiB/s)");
    assert_says(text, "<- median");
    assert_null(strstr(text, "free_slowpath"));
    free(text);
    json_decref(r);
}

static void test_completions(void **state)
{
    (void)state;
    json_t *r = load("published/t3-b-none.json");
    json_object_set_new(
        window_of(r, 0), "completions",
        json_pack("{s:i, s:{s:i, s:i}}", "frees", 28032, "by_node", "0", 7008, "1", 21024));
    json_object_set_new(window_of(r, 0), "kworker",
                        json_pack("{s:b, s:{s:{s:i, s:{s:i}}, s:{s:i, s:{s:i}}}}", "available", 1,
                                  "queues", "rpciod", "cpu_ns", 1500000000, "by_node", "1",
                                  1500000000, "other", "cpu_ns", 5, "by_node", "0", 5));
    char *text = run_text(r);
    assert_says(text, "completed  node0 25.0 %, node1 75.0 % of 28,032 frees; rpciod node1 100");
    assert_says(text, " % of 1.50 s");
    free(text);
    json_decref(r);
}

static void test_by_node(void **state)
{
    (void)state;
    for (unsigned nodes = 2; nodes <= 9; nodes += 7) {
        json_t *r = load("published/t3-b-none.json"), *w = window_of(r, 0);
        json_t *by_node = json_object();
        for (unsigned i = 0; i < nodes; i++) {
            char id[8];
            snprintf(id, sizeof(id), "%u", i * 10);
            json_object_set_new(by_node, id, json_integer(1000000 + i));
        }
        const char *name;
        json_t *c;
        json_object_foreach(json_at(w, "slab", "counters", NULL), name, c)
            json_object_set(c, "by_node", by_node);
        json_object_set_new(w, "irq",
                            json_pack("{s:b, s:i, s:O, s:[{s:s, s:s, s:i, s:O}]}", "available", 1,
                                      "total", 77, "by_node", by_node, "rows", "irq", "24", "text",
                                      "PCI-MSIX-0000:01:00.0 1-edge mlx5_comp0@pci:0000:01:00.0",
                                      "total", 77, "by_node", by_node));
        json_object_set_new(w, "iowq",
                            json_pack("{s:b, s:i, s:i, s:O, s:s, s:i}", "available", 1,
                                      "workers_seen", 64, "samples", 9, "by_node", by_node, "cpus",
                                      "0-95", "cpu_ms", 12345));
        json_decref(by_node);
        char *text = run_text(r);
        assert_says(text, nodes == 2 ? "node10" : "node80");
        assert_says(text, "1,000,001");
        assert_says(text, "PCI-MSIX-0000:01:00.0");
        assert_says(text, "64 io-wq workers");
        free(text);
        json_decref(r);
    }
}

static void test_compare(void **state)
{
    (void)state;
    static const char *const names[] = {"published/t3-a-none.json", "published/t3-b-none.json",
                                        "published/t3-c-none.json", "published/t1-node0-node1.json",
                                        "published/t2-node0-node0.json"};
    json_t *r[5];
    for (size_t i = 0; i < 5; i++)
        r[i] = load(names[i]);
    json_object_set_new(r[1], "status", json_string("invalid"));
    note_add(json_object_get(r[1], "notes"), NOTE_INVALID, "cpus", "worker 3 left its node");
    json_object_set_new(json_object_get(r[2], "host"), "kernel_release", json_string("7.4.0"));
    char *text = compare_text(r, 5);
    assert_says(text, "B, INVALID: cpus: worker 3 left its node");
    assert_says(text, "A and C have different kernels");
    assert_says(text, "42.00-44.00");
    assert_says(text, "free_slowpath            85,039,753       2,814  60,145,870");
    assert_says(text, "remote frees, %                70.9     0.00235        50.3");
    assert_says(text, "node0                          8.00       69.20       66.70");
    assert_says(text, "D: unavailable: not published");
    assert_says(text, "failed barn puts, %            12.3");
    free(text);
    struct err err;
    assert_false(report_compare_text(stdout, NULL, 0, &err));
    for (size_t i = 0; i < 5; i++)
        json_decref(r[i]);
}

static void test_nfs_and_threads(void **state)
{
    (void)state;
    json_t *r = load("published/t3-b-none.json"), *w = window_of(r, 0);
    json_object_set_new(w, "nfs",
                        json_pack("{s:b, s:s, s:s, s:i, s:{s:i, s:i, s:f, s:f}, s:[{}, {}]}",
                                  "available", 1, "vers", "3", "protocol", "rdma", "rsize_bytes",
                                  524288, "read", "operations", 99328, "transmissions", 99330,
                                  "mean_rtt_ms", 4.25, "mean_execute_ms", 220.0, "connections"));
    json_object_set_new(w, "sched",
                        json_pack("{s:b, s:i, s:I, s:I, s:i}", "available", 1, "threads", 160,
                                  "run_ns", (json_int_t)160000000000, "wait_ns",
                                  (json_int_t)16000000000, "involuntary_switches", 1234));
    char *text = run_text(r);
    assert_says(text, "version 3, rdma, rsize 512 KiB, 2 connections; 99,328 READs, 2 sent");
    assert_says(text, "on average 4.25 ms on the wire, 220 ms");
    assert_says(text, "threads ran 10.00 % and waited for a CPU 1.00 % of the time,");
    free(text);
    json_decref(r);
}

/* T3: perf lock took the throughput from 45.5 to 25 GB/s and multiplied free_fastpath by 19 in A.
 * T2: 87 % of the contended acquisitions come from __slab_free in both columns, while free_slowpath
 * differs by 7,800 times. */
static void test_instruments(void **state)
{
    (void)state;
    static const char *const names[] = {
        "published/t3-a-none.json",         "published/t3-a-perf-lock.json",
        "published/t3-b-none.json",         "published/t3-b-perf-lock.json",
        "published/t2-unpinned-node0.json", "published/t2-node0-node0.json"};
    json_t *r[6];
    for (size_t i = 0; i < 6; i++)
        r[i] = load(names[i]);
    char *text = compare_text(r, 6);
    assert_says(text, "25.00  under perf-lock");
    assert_says(text, "instrument                     none   perf-lock        none   perf-lock");
    const char *ratios = strstr(text, "What the instruments did");
    assert_non_null(ratios);
    assert_says(ratios, "ratio                           B/A         D/C");
    assert_says(ratios, "throughput                    0.549       0.547");
    assert_says(ratios, "free_fastpath                  18.8        3.82");
    free(text);
    /* as the program has records of several runs; of runs alike the nearest is the partner */
    json_t *slim[] = {r[4], r[0], r[1], r[2], r[3]};
    for (size_t i = 0; i < 5; i++)
        view_slim(slim[i]);
    text = compare_text(slim, 5);
    ratios = strstr(text, "What the instruments did");
    assert_non_null(ratios);
    assert_says(ratios, "ratio                           C/B         E/D");
    assert_says(ratios, "throughput                    0.549       0.547");
    assert_says(ratios, "free_fastpath                  18.8        3.82");
    free(text);
    text = compare_text(r, 6);
    const char *locks = strstr(text, "Contended lock acquisitions");
    assert_non_null(locks);
    assert_says(locks, "__slab_free                       -           -   2,845,710   2,907,948");
    assert_says(locks, "  share, %                        -           -        85.0        86.7");
    assert_says(locks, "contentions               4,782,839   4,582,012");
    assert_says(locks, "waited in all, min             14.4        14.1");
    assert_says(locks, "mean wait, us                   180         185");
    free(text);
    for (size_t i = 0; i < 6; i++)
        json_decref(r[i]);
}

/* A record that holds nothing but its name still has a report. */
static void test_bare_record(void **state)
{
    (void)state;
    json_t *r = record_new();
    char *text = run_text(r);
    assert_says(text, "No window was measured.");
    free(text);
    json_array_append_new(json_object_get(r, "windows"), json_object());
    text = run_text(r);
    assert_says(text, "unavailable");
    free(text);
    text = compare_text(&r, 1);
    free(text);
    json_decref(r);
}

static void test_full_disk(void **state)
{
    (void)state;
    struct err err;
    json_t *r = load("published/t3-b-none.json");
    FILE *out = fopen("/dev/full", "w");
    assert_false(report_run_text(out, r, &err));
    assert_non_null(strstr(err.text, "No space left"));
    fclose(out);
    json_decref(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_wrapping),
        cmocka_unit_test(test_published_run),
        cmocka_unit_test(test_loud),
        cmocka_unit_test(test_unavailable_is_not_zero),
        cmocka_unit_test(test_by_node),
        cmocka_unit_test(test_completions),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_nfs_and_threads),
        cmocka_unit_test(test_instruments),
        cmocka_unit_test(test_bare_record),
        cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
