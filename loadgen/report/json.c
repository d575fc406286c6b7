/* The comparison as one JSON document: what the tables show, as numbers. */
#include "perturbed.h"
#include "report.h"
#include "table.h"
#include "text.h"
#include "view.h"

#include <stdint.h>

static json_t *copy_or_null(const json_t *v)
{
    return v ? json_incref((json_t *)v) : json_null();
}

static json_t *run_json(const json_t *record, size_t i)
{
    size_t of;
    double low, high;
    const json_t *w = view_median_window(record, &of);
    const json_t *label = json_object_get(record, "label");
    json_t *o = json_pack("{s:s, s:o, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "run", table_key(i).s,
                          "label", copy_or_null(label), "workload", view_workload(record).s, "cqs",
                          view_cqs(record).s, "instrument", view_instrument(record), "status",
                          copy_or_null(json_object_get(record, "status")), "started_at",
                          copy_or_null(json_object_get(record, "started_at")), "boot_id",
                          copy_or_null(view_at(record, "host.boot_id")), "kernel_release",
                          copy_or_null(view_at(record, "host.kernel_release")));
    bool known = view_throughput_range(record, &low, &high);
    json_object_set_new(o, "windows", json_integer((json_int_t)of));
    json_object_set_new(o, "median_bytes_per_s",
                        copy_or_null(view_at(w, "throughput.bytes_per_s")));
    json_object_set_new(o, "lowest_bytes_per_s", known ? json_real(low) : json_null());
    json_object_set_new(o, "highest_bytes_per_s", known ? json_real(high) : json_null());
    json_t *counters = json_object();
    struct view_counter c;
    for (size_t k = 0; view_counter(w, k, &c); k++)
        json_object_set_new(counters, c.name, c.known ? json_integer(c.total) : json_null());
    json_object_set_new(o, "counters", counters);
    json_object_set_new(o, "derived", copy_or_null(json_object_get(w, "derived")));
    json_object_set_new(o, "latency", copy_or_null(json_object_get(w, "latency")));
    json_object_set_new(o, "cpu", copy_or_null(json_object_get(w, "cpu")));
    return o;
}

/* Keys are metrics, as in the report on a matrix. */
static void set_ratio(json_t *o, const char *metric, const json_t *with, const json_t *without,
                      const char *name)
{
    double r;
    json_object_set_new(o, metric,
                        perturbed_ratio(with, without, name, &r) ? json_real(r) : json_null());
}

static json_t *pair_json(const json_t *const *records, size_t with, size_t without)
{
    const json_t *a = view_median_window(records[with], NULL);
    const json_t *b = view_median_window(records[without], NULL);
    json_t *ratios = json_object();
    struct view_counter c;
    set_ratio(ratios, "bytes_per_s", a, b, "throughput.bytes_per_s");
    set_ratio(ratios, "idle_percent", a, b, "cpu.all.idle_percent");
    for (size_t k = 0; view_counter(a, k, &c); k++) {
        char metric[128];
        snprintf(metric, sizeof(metric), "slab.%.100s", c.name);
        set_ratio(ratios, metric, a, b, c.name);
    }
    return json_pack("{s:s, s:s, s:o}", "run", table_key(with).s, "without", table_key(without).s,
                     "ratios", ratios);
}

static json_t *perturbation_json(const json_t *const *records, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        size_t without = perturbed_partner(records, n, i);
        if (without != SIZE_MAX)
            json_array_append_new(list, pair_json(records, i, without));
    }
    return list;
}

bool report_json(FILE *out, const json_t *const *records, size_t n, struct err *err)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(runs, run_json(records[i], i));
    json_t *report = json_pack("{s:s, s:i, s:o, s:o, s:o}", "schema", "numaload-report",
                               "schema_version", 1, "doubts", tables_doubts(records, n), "runs",
                               runs, "perturbation", perturbation_json(records, n));
    bool ok = report && json_dumpf(report, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) == 0;
    json_decref(report);
    fputc('\n', out);
    return ok ? text_finish(out, err)
              : err_set(err, STATUS_FAILED, "cannot write the report as JSON");
}
