/* One line a window (RFC 4180), for a spreadsheet or pandas. Column names are keys of the record,
 * so they carry their unit; an empty field is unavailable. The first columns are
 * always the same; those of nodes and counters follow as the records have them. */
#include "csv.h"
#include "report.h"
#include "text.h"
#include "view.h"

#include <string.h>

void csv_text(FILE *out, const char *text)
{
    /* a leading = + - @ would be a formula to a spreadsheet */
    bool formula = *text && strchr("=+-@\t\r", *text);
    bool quote = formula || strpbrk(text, ",\"\r\n");
    if (!quote) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    if (formula)
        fputc('\'', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void put_value(FILE *out, const json_t *v)
{
    if (json_is_integer(v))
        fprintf(out, "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v))
        fprintf(out, "%.12g", json_real_value(v));
    else if (json_is_boolean(v))
        fputs(json_is_true(v) ? "true" : "false", out);
    else if (json_is_string(v))
        csv_text(out, json_string_value(v));
}

static const char *const of_record[] = {
    "label",
    "started_at",
    "status",
    "matrix.run",
    "matrix.repeat",
    "matrix.block",
    "matrix.boot",
    "matrix.mount",
    "matrix.warmup",
    "host.kernel_release",
    "host.boot_id",
    "host.uptime_s",
    "profile.engine",
    "profile.threads",
    "profile.iodepth",
    "profile.block_bytes",
    "profile.cpus",
    "profile.mem",
    "profile.unbound",
    "profile.cq",
    "profile.instrument",
};
static const char *const of_window[] = {
    "index",
    "valid",
    "cut_short",
    "window_ns",
    "throughput.bytes",
    "throughput.ios",
    "throughput.bytes_per_s",
    "throughput.ios_per_s",
    "latency.min_ns",
    "latency.mean_ns",
    "latency.p50_ns",
    "latency.p90_ns",
    "latency.p99_ns",
    "latency.p99_9_ns",
    "latency.p99_99_ns",
    "latency.max_ns",
    "cpu.all.idle_percent",
    "irq.total",
    "iowq.workers_seen",
    "sampling.cpu_ns",
    "derived.objects_per_page",
    "derived.alloc_per_page",
    "derived.remote_free_share",
    "derived.barn_put_fail_share",
    "derived.barn_get_fail_share",
    "derived.sheaf_flush_sheaves",
    "derived.sheaf_flush_sheaves_per_barn_put_fail",
    "derived.cmpxchg_double_fail_per_million_frees",
};

#define N(a) (sizeof(a) / sizeof(*(a)))

/* Which counters and nodes any of the windows has: they become columns. */
static void collect(const json_t *window, json_t *counters, json_t *nodes)
{
    struct view_counter c;
    for (size_t k = 0; view_counter(window, k, &c); k++)
        json_object_set_new(counters, c.name, json_true());
    json_object_update_missing(nodes, (json_t *)view_at(window, "cpu.by_node"));
}

static void put_head(FILE *out, json_t *counters, json_t *nodes)
{
    const char *key;
    json_t *value;
    fputs("left_out,cell", out);
    for (size_t i = 0; i < N(of_record); i++)
        fprintf(out, ",%s", of_record[i]);
    for (size_t i = 0; i < N(of_window); i++)
        fprintf(out, ",%s", of_window[i]);
    json_object_foreach(nodes, key, value)
    {
        fprintf(out, ",cpu.by_node.");
        csv_text(out, key);
        fprintf(out, ".idle_percent");
    }
    json_object_foreach(counters, key, value)
    {
        fprintf(out, ",slab.counters.");
        csv_text(out, key);
        fprintf(out, ".total");
    }
    fprintf(out, "\r\n");
}

static void put_line(FILE *out, const json_t *record, const json_t *window, json_t *counters,
                     json_t *nodes)
{
    const char *key;
    json_t *value;
    for (size_t i = 0; i < N(of_record); i++) {
        fputc(',', out);
        put_value(out, view_at(record, of_record[i]));
    }
    for (size_t i = 0; i < N(of_window); i++) {
        fputc(',', out);
        put_value(out, view_at(window, of_window[i]));
    }
    json_object_foreach(nodes, key, value)
    {
        fputc(',', out);
        put_value(out, json_object_get(json_object_get(view_at(window, "cpu.by_node"), key),
                                       "idle_percent"));
    }
    json_object_foreach(counters, key, value)
    {
        struct view_counter c;
        fputc(',', out);
        if (view_counter_named(window, key, &c) && c.known)
            fprintf(out, "%lld", (long long)c.total);
    }
    fprintf(out, "\r\n");
}

bool report_csv_judged(FILE *out, const json_t *const *records, size_t n,
                       const struct csv_judgement *judged, struct err *err)
{
    json_t *counters = json_object(), *nodes = json_object(), *w;
    size_t k;
    for (size_t i = 0; i < n; i++)
        json_array_foreach(json_object_get(records[i], "windows"), k, w)
            collect(w, counters, nodes);
    put_head(out, counters, nodes);
    for (size_t i = 0; i < n; i++)
        json_array_foreach(json_object_get(records[i], "windows"), k, w)
        {
            if (judged)
                csv_text(out, judged[i].left_out ? judged[i].left_out : "");
            fputc(',', out);
            if (judged)
                csv_text(out, judged[i].cell);
            put_line(out, records[i], w, counters, nodes);
        }
    json_decref(counters);
    json_decref(nodes);
    return text_finish(out, err);
}

bool report_csv(FILE *out, const json_t *const *records, size_t n, struct err *err)
{
    return report_csv_judged(out, records, n, NULL, err);
}
