#include "table.h"

#include "fmt.h"
#include "text.h"
#include "view.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table_key table_key(size_t i)
{
    struct table_key k;
    if (i < 26)
        snprintf(k.s, sizeof(k.s), "%c", (char)('A' + i));
    else
        snprintf(k.s, sizeof(k.s), "%zu", i + 1);
    return k;
}

struct builder {
    const json_t *const *records;
    const json_t **windows; /* of each record the median one, or NULL */
    size_t n;
    struct table_list *list;
    struct table *t; /* the one that is being filled */
    bool failed;
};

static void begin(struct builder *b, size_t columns, const char *title)
{
    b->t = table_begin(b->list, columns, title);
    b->failed |= !b->t;
}

static void cell(struct builder *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void cell(struct builder *b, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    if (b->failed)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    b->failed = !table_cell(b->t, "%s", text);
}

/* Drops a table that has only its heads. */
static void end(struct builder *b, size_t heads)
{
    if (!b->failed && table_drop(b->list, heads))
        b->t = NULL;
}

static const char *missing_reason(const struct builder *b, const char *sampler)
{
    for (size_t i = 0; i < b->n; i++)
        if (!json_is_true(json_object_get(json_object_get(b->windows[i], sampler), "available")))
            return view_text(json_object_get(b->windows[i], sampler), "reason", "not recorded");
    return NULL;
}

static void heads(struct builder *b, const char *what)
{
    cell(b, "%s", what);
    for (size_t i = 0; i < b->n; i++)
        cell(b, "%s", table_key(i).s);
    cell(b, "workload");
    for (size_t i = 0; i < b->n; i++)
        cell(b, "%s", view_workload(b->records[i]).s);
    cell(b, "CQs");
    for (size_t i = 0; i < b->n; i++)
        cell(b, "%s", view_cqs(b->records[i]).s);
    cell(b, "instrument");
    for (size_t i = 0; i < b->n; i++)
        cell(b, "%s", view_instrument(b->records[i]));
}

#define HEADS 4 /* rows that heads() makes */

static void throughput(struct builder *b)
{
    begin(b, 8, "Throughput by placement");
    const char *const names[] = {"run",  "label", "workload", "CQs",
                                 "GB/s", "GiB/s", "windows",  "remarks"};
    for (size_t i = 0; i < 8; i++)
        cell(b, "%s", names[i]);
    for (size_t i = 0; i < b->n; i++) {
        const json_t *r = b->records[i];
        double low, high, rate = 0;
        const char *verdict = text_verdict(r);
        bool known = view_throughput_range(r, &low, &high);
        view_number(b->windows[i], "throughput.bytes_per_s", &rate);
        int digits = rate < 0.995e9 ? 4 : 2;
        cell(b, "%s", table_key(i).s);
        cell(b, "%s", view_text(r, "label", view_name(r).s));
        cell(b, "%s", view_workload(r).s);
        cell(b, "%s", view_cqs(r).s);
        if (known && high - low >= 1)
            cell(b, "%.*f (%.*f-%.*f)", digits, rate / 1e9, digits, low / 1e9, digits, high / 1e9);
        else
            cell(b, "%.*f", known ? digits : 0, rate / 1e9);
        if (!known && !b->failed)
            b->t->cells[b->t->cells_n - 1][0] = '\0';
        if (known)
            cell(b, "%.*f", digits, rate / (1 << 30));
        else
            cell(b, "%s", "");
        cell(b, "%zu", json_array_size(json_object_get(r, "windows")));
        bool instrumented = strcmp(view_instrument(r), "none") != 0;
        cell(b, "%s%s%s", verdict ? verdict : "", instrumented ? "under " : "",
             instrumented ? view_instrument(r) : "");
    }
    end(b, 1);
}

static void latency(struct builder *b)
{
    static const char *const keys[][2] = {
        {"p50", "latency.p50_ns"},     {"p90", "latency.p90_ns"},       {"p99", "latency.p99_ns"},
        {"p99.9", "latency.p99_9_ns"}, {"p99.99", "latency.p99_99_ns"}, {"max", "latency.max_ns"},
    };
    begin(b, b->n + 1, "Latency");
    heads(b, "share of I/Os");
    for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++) {
        double ns;
        bool any = false;
        for (size_t i = 0; i < b->n; i++)
            any |= view_number(b->windows[i], keys[k][1], &ns);
        if (!any)
            continue;
        cell(b, "%s", keys[k][0]);
        for (size_t i = 0; i < b->n; i++)
            cell(b, "%s", view_number(b->windows[i], keys[k][1], &ns) ? fmt_ns(ns).s : "");
    }
    end(b, HEADS);
}

static void note_missing(struct builder *b, const char *sampler)
{
    const char *reason = missing_reason(b, sampler);
    if (reason && b->t && !b->failed)
        snprintf(b->t->note, sizeof(b->t->note), "An empty cell is unavailable: %s.", reason);
}

static void counters(struct builder *b)
{
    char title[96];
    snprintf(title, sizeof(title), "Counters of %s, one window each",
             fmt_word(b->n ? view_text(b->windows[0], "slab.cache", "the slab cache") : "", 40).s);
    begin(b, b->n + 1, title);
    heads(b, "counter");
    json_t *names = json_object();
    struct view_counter c;
    for (size_t i = 0; i < b->n; i++)
        for (size_t k = 0; view_counter(b->windows[i], k, &c); k++)
            json_object_set_new(names, c.name, json_true());
    const char *name;
    json_t *value;
    json_object_foreach(names, name, value)
    {
        cell(b, "%s", name);
        for (size_t i = 0; i < b->n; i++) {
            bool there = view_counter_named(b->windows[i], name, &c);
            cell(b, "%s", !there ? "" : c.known ? fmt_count(c.total).s : "reset");
        }
    }
    json_decref(names);
    end(b, HEADS);
    note_missing(b, "slab");
}

static void derived(struct builder *b)
{
    begin(b, b->n + 1, "What follows from them");
    heads(b, "figure");
    for (const struct view_derived *d = view_derived; d->name; d++) {
        double v;
        bool any = false;
        for (size_t i = 0; i < b->n; i++)
            any |= view_number(b->windows[i], d->path, &v);
        if (!any)
            continue;
        cell(b, "%s", d->name + strspn(d->name, " "));
        for (size_t i = 0; i < b->n; i++)
            cell(b, "%s",
                 view_number(b->windows[i], d->path, &v) ? fmt_figure(v * d->scale).s : "");
    }
    end(b, HEADS);
}

static void idle(struct builder *b)
{
    begin(b, b->n + 1, "Idle CPU time, %");
    heads(b, "CPUs");
    json_t *rows = json_object();
    for (size_t i = 0; i < b->n; i++) {
        if (view_at(b->windows[i], "cpu.all"))
            json_object_set_new(rows, "all", json_true());
        json_object_update_missing(rows, (json_t *)view_at(b->windows[i], "cpu.by_node"));
    }
    const char *row;
    json_t *value;
    json_object_foreach(rows, row, value)
    {
        bool all = strcmp(row, "all") == 0;
        cell(b, "%s", all ? "all" : text_node_name(row).s);
        for (size_t i = 0; i < b->n; i++) {
            const json_t *cpu = json_object_get(b->windows[i], "cpu");
            const json_t *o = all ? json_object_get(cpu, "all")
                                  : json_object_get(json_object_get(cpu, "by_node"), row);
            double v;
            cell(b, "%s", view_number(o, "idle_percent", &v) ? fmt_percent(v).s : "");
        }
    }
    json_decref(rows);
    end(b, HEADS);
    note_missing(b, "cpu");
}

bool tables_make(struct table_list *list, const json_t *const *records, size_t n)
{
    *list = (struct table_list){0};
    struct builder b = {.records = records, .n = n, .list = list};
    b.windows = calloc(n + 1, sizeof(*b.windows));
    if (!b.windows)
        return false;
    for (size_t i = 0; i < n; i++)
        b.windows[i] = view_median_window(records[i], NULL);
    static void (*const make[])(struct builder *) = {throughput, latency, counters, derived, idle};
    for (size_t i = 0; i < sizeof(make) / sizeof(*make) && !b.failed; i++)
        make[i](&b);
    free(b.windows);
    return !b.failed;
}

static void doubt(json_t *doubts, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void doubt(json_t *doubts, const char *fmt, ...)
{
    char text[1400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    char clean[1400];
    json_array_append_new(doubts, json_string(fmt_ascii(clean, sizeof(clean), text)));
}

static void doubt_notes(json_t *doubts, size_t run, const json_t *notes)
{
    for (size_t i = 0; i < json_array_size(notes); i++) {
        const json_t *note = json_array_get(notes, i);
        const char *level = view_text(note, "level", "");
        if (strcmp(level, "error") == 0 || strcmp(level, "invalid") == 0)
            doubt(doubts, "%s: %s: %s", table_key(run).s, view_text(note, "source", "?"),
                  view_text(note, "text", "?"));
    }
}

json_t *tables_doubts(const json_t *const *records, size_t n)
{
    json_t *doubts = json_array();
    for (size_t i = 0; i < n; i++) {
        const char *verdict = text_verdict(records[i]);
        if (verdict)
            doubt(doubts, "%s is %s", table_key(i).s, verdict);
        doubt_notes(doubts, i, json_object_get(records[i], "notes"));
        const json_t *windows = json_object_get(records[i], "windows");
        for (size_t k = 0; k < json_array_size(windows); k++)
            doubt_notes(doubts, i, json_object_get(json_array_get(windows, k), "notes"));
    }
    for (const struct view_fact *same = view_same; n && same->path; same++) {
        const json_t *first = view_at(records[0], same->path);
        for (size_t i = 1; i < n; i++) {
            const json_t *other = view_at(records[i], same->path);
            if (first && other && !json_equal(first, other)) {
                doubt(doubts, "A and %s have different %s", table_key(i).s, same->plural);
                break;
            }
        }
    }
    return doubts;
}
