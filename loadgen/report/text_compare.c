/* Several runs side by side, in the shape of the published tables. */
#include "text_compare.h"
#include "fmt.h"
#include "report.h"
#include "table.h"
#include "view.h"

#include <stdlib.h>
#include <string.h>

/* "46.02", or the range over the windows of a run as in "45.98-46.07". GB/s throughout, so that
 * runs compare; slow ones get the digits they need. */
static struct fmt gb_per_s(const struct text_run *r)
{
    double low, high, median = 0;
    struct fmt f = {"-"};
    if (!view_throughput_range(r->record, &low, &high))
        return f;
    view_number(r->window, "throughput.bytes_per_s", &median);
    int digits = high >= 0.995e9 ? 2 : high >= 0.00995e9 ? 4 : 6;
    if (low < 0 || high >= 1e15)
        snprintf(f.s, sizeof(f.s), "%.3g", median / 1e9);
    else if (high - low < 1)
        snprintf(f.s, sizeof(f.s), "%.*f", digits, median / 1e9);
    else
        snprintf(f.s, sizeof(f.s), "%.*f-%.*f", digits, low / 1e9, digits, high / 1e9);
    return f;
}

static bool instrumented(const struct text_run *r)
{
    return strcmp(view_instrument(r->record), "none") != 0;
}

static void throughput_table(FILE *out, const struct text_run *runs, size_t n)
{
    text_heading(out, "Throughput by placement, GB/s (1e9 bytes)");
    fprintf(out, "%-4s %-12s %-12s %17s\n", "run", "workload", "CQs", "GB/s");
    for (size_t i = 0; i < n; i++) {
        const char *verdict = text_verdict(runs[i].record);
        size_t windows = json_array_size(json_object_get(runs[i].record, "windows"));
        char remark[128] = "";
        if (verdict)
            snprintf(remark, sizeof(remark), "  %s", verdict);
        else if (instrumented(&runs[i]))
            snprintf(remark, sizeof(remark), "  under %s",
                     fmt_word(view_instrument(runs[i].record), 12).s);
        else if (windows > 1)
            snprintf(remark, sizeof(remark), "  %zu windows", windows);
        fprintf(out, "%-4s %-12.12s %-12.12s %17s%.22s\n", runs[i].key,
                view_workload(runs[i].record).s, view_cqs(runs[i].record).s, gb_per_s(&runs[i]).s,
                remark);
    }
}

void text_column_heads(FILE *out, const char *what, const struct text_run *runs, size_t n)
{
    fprintf(out, "%-23s", what);
    for (size_t i = 0; i < n; i++)
        fprintf(out, " %11s", runs[i].key);
    fprintf(out, "\n%-23s", "workload");
    for (size_t i = 0; i < n; i++)
        fprintf(out, " %11.11s", view_workload(runs[i].record).s);
    fprintf(out, "\n%-23s", "CQs");
    for (size_t i = 0; i < n; i++)
        fprintf(out, " %11.11s", view_cqs(runs[i].record).s);
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any |= instrumented(&runs[i]);
    if (any)
        fprintf(out, "\n%-23s", "instrument");
    for (size_t i = 0; any && i < n; i++)
        fprintf(out, " %11s", fmt_word(view_instrument(runs[i].record), 11).s);
    fprintf(out, "\n");
}

/* Names of all counters of the runs, in the order of the first that has them. */
static json_t *counter_names(const struct text_run *runs, size_t n)
{
    json_t *names = json_object();
    struct view_counter c;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; view_counter(runs[i].window, k, &c); k++)
            if (!json_object_get(names, c.name))
                json_object_set_new(names, c.name, json_true());
    return names;
}

static struct fmt counter_cell(const struct text_run *r, const char *name)
{
    struct view_counter c;
    struct fmt f = {"-"};
    if (!view_counter_named(r->window, name, &c))
        return f;
    if (!c.known)
        return (struct fmt){"reset"};
    return fmt_cell(c.total, 11);
}

static const char *reason_of(const struct text_run *r, const char *sampler)
{
    const json_t *o = json_object_get(r->window, sampler);
    if (json_is_true(json_object_get(o, "available")))
        return NULL;
    return view_text(o, "reason", r->window ? "not recorded" : "no window was measured");
}

/* Says which runs lack the figures of a table, and why; true when all of them do. */
static bool say_unavailable(FILE *out, const struct text_run *runs, size_t n, const char *sampler)
{
    size_t lacking = 0;
    for (size_t i = 0; i < n; i++)
        lacking += reason_of(&runs[i], sampler) != NULL;
    bool same = lacking == n;
    for (size_t i = 1; same && i < n; i++)
        same = strcmp(reason_of(&runs[i], sampler), reason_of(&runs[0], sampler)) == 0;
    for (size_t i = 0; i < n && lacking; i++) {
        const char *reason = reason_of(&runs[i], sampler);
        if (!reason || (same && i > 0))
            continue;
        char head[64];
        snprintf(head, sizeof(head), "%s: unavailable: ", same ? "all" : runs[i].key);
        fmt_wrapped(out, 6, head, reason);
    }
    return lacking == n;
}

static void derived_row(FILE *out, const char *name, const struct text_run *runs, size_t n,
                        const char *path, double scale)
{
    fprintf(out, "%-23.23s", name);
    for (size_t i = 0; i < n; i++) {
        double v;
        fprintf(out, " %11s",
                view_number(runs[i].window, path, &v) ? fmt_figure(v * scale).s : "-");
    }
    fprintf(out, "\n");
}

static void derived_table(FILE *out, const struct text_run *runs, size_t n)
{
    text_heading(out, "What follows from them");
    text_column_heads(out, "figure", runs, n);
    for (const struct view_derived *d = view_derived; d->name; d++)
        derived_row(out, d->name, runs, n, d->path, d->scale);
}

static void counter_table(FILE *out, const struct text_run *runs, size_t n)
{
    char title[128];
    snprintf(title, sizeof(title), "Counters of %s, one window each",
             fmt_word(view_text(runs[0].window, "slab.cache", "the slab cache"), 32).s);
    text_heading(out, title);
    if (say_unavailable(out, runs, n, "slab"))
        return;
    text_column_heads(out, "counter", runs, n);
    json_t *names = counter_names(runs, n);
    const char *name;
    json_t *value;
    char zeros[2048] = "";
    size_t used = 0;
    json_object_foreach(names, name, value)
    {
        bool moved = false;
        for (size_t i = 0; i < n; i++)
            moved |= strcmp(counter_cell(&runs[i], name).s, "0") != 0;
        if (!moved) {
            if (used + strlen(name) + 3 < sizeof(zeros))
                used += (size_t)snprintf(zeros + used, sizeof(zeros) - used, "%s%s",
                                         used ? ", " : "", name);
            continue;
        }
        fprintf(out, "%-23s", fmt_word(name, 23).s);
        for (size_t i = 0; i < n; i++)
            fprintf(out, " %11s", counter_cell(&runs[i], name).s);
        fprintf(out, "\n");
    }
    if (used)
        fmt_wrapped(out, 6, "0 in all: ", zeros);
    json_decref(names);
    derived_table(out, runs, n);
}

static void idle_row(FILE *out, const char *name, const struct text_run *runs, size_t n,
                     const char *path)
{
    fprintf(out, "%-23.23s", name);
    for (size_t i = 0; i < n; i++) {
        double v;
        if (view_number(runs[i].window, path, &v))
            fprintf(out, " %11s", fmt_percent(v).s);
        else
            fprintf(out, " %11s", "-");
    }
    fprintf(out, "\n");
}

static void idle_table(FILE *out, const struct text_run *runs, size_t n)
{
    text_heading(out, "Idle CPU time, %");
    if (say_unavailable(out, runs, n, "cpu"))
        return;
    text_column_heads(out, "CPUs", runs, n);
    idle_row(out, "all", runs, n, "cpu.all.idle_percent");
    json_t *nodes = json_object();
    for (size_t i = 0; i < n; i++)
        json_object_update_missing(nodes, (json_t *)view_at(runs[i].window, "cpu.by_node"));
    const char *node;
    json_t *value;
    json_object_foreach(nodes, node, value)
    {
        char path[64];
        snprintf(path, sizeof(path), "cpu.by_node.%.16s.idle_percent", node);
        idle_row(out, text_node_name(node).s, runs, n, path);
    }
    json_decref(nodes);
}

/* Runs whose figures must not be believed, or not be compared with the others, and why. */
static void doubts(FILE *out, const struct text_run *runs, size_t n)
{
    bool head = false;
    for (size_t i = 0; i < n; i++) {
        const char *verdict = text_verdict(runs[i].record);
        if (!verdict)
            continue;
        if (!head)
            text_heading(out, "Not to be believed");
        head = true;
        char mark[64];
        snprintf(mark, sizeof(mark), "%s, %s: ", runs[i].key, verdict);
        size_t said = text_notes(out, runs[i].record, "error", mark);
        said += text_notes(out, runs[i].record, "invalid", mark);
        if (said == 0)
            fprintf(out, "%s, %s\n", runs[i].key, verdict);
    }
    for (const struct view_fact *same = view_same; same->path; same++) {
        const json_t *first = view_at(runs[0].record, same->path);
        for (size_t i = 1; i < n; i++) {
            const json_t *other = view_at(runs[i].record, same->path);
            if (!first || !other || json_equal(first, other))
                continue;
            fprintf(out, "%sNote: %s and %s have different %s.\n", head ? "" : "\n", runs[0].key,
                    runs[i].key, same->plural);
            head = true;
            break;
        }
    }
}

static void legend(FILE *out, const struct text_run *runs, size_t n)
{
    fprintf(out, "\n");
    for (size_t i = 0; i < n; i++) {
        char head[32], text[512];
        snprintf(head, sizeof(head), "%-3s ", runs[i].key);
        snprintf(text, sizeof(text), "%.100s, %.24s, kernel %.40s, boot %.8s",
                 view_text(runs[i].record, "label", view_name(runs[i].record).s),
                 view_text(runs[i].record, "started_at", "?"),
                 view_text(runs[i].record, "host.kernel_release", "?"),
                 view_text(runs[i].record, "host.boot_id", "?"));
        fmt_wrapped(out, 4, head, text);
    }
}

bool report_compare_text(FILE *out, const json_t *const *records, size_t n, struct err *err)
{
    if (n == 0)
        return err_set(err, STATUS_USAGE, "no records to compare");
    struct text_run *runs = calloc(n, sizeof(*runs));
    if (!runs)
        return err_set(err, STATUS_FAILED, "report: out of memory");
    for (size_t i = 0; i < n; i++) {
        runs[i].record = records[i];
        runs[i].window = view_median_window(records[i], NULL);
        snprintf(runs[i].key, sizeof(runs[i].key), "%s", table_key(i).s);
    }
    fprintf(out, "numaload: %zu runs\n", n);
    doubts(out, runs, n);
    throughput_table(out, runs, n);
    for (size_t i = 0; i < n; i += RUN_COLUMNS) {
        size_t columns = n - i < RUN_COLUMNS ? n - i : RUN_COLUMNS;
        counter_table(out, runs + i, columns);
        idle_table(out, runs + i, columns);
    }
    text_locks(out, runs, n);
    text_perturbation(out, records, runs, n);
    legend(out, runs, n);
    free(runs);
    return text_finish(out, err);
}
