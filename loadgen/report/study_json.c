/* The report on a matrix as one JSON document: what the tables show, as numbers. */
#include "study_json.h"

#include "../matrix/words.h"
#include "study_report.h"
#include "text.h"
#include "view.h"

#include <math.h>
#include <string.h>

json_t *study_json_number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *interval_json(const struct stats_interval *i)
{
    if (!i->known)
        return json_null();
    return json_pack("{s:f, s:f, s:s, s:I, s:I, s:b}", "low", i->low, "high", i->high, "over",
                     words_level(i->level), "units", (json_int_t)i->units, "boots",
                     (json_int_t)i->boots, "tells", stats_interval_tells(i));
}

json_t *study_json_comparison(const struct study *s, const struct stats_comparison *c)
{
    if (!c->known)
        return json_null();
    return json_pack("{s:o, s:o, s:b, s:o, s:b, s:s}", "ratio", study_json_number(c->ratio),
                     "interval", interval_json(&c->interval), "paired", c->paired, "p",
                     study_json_number(c->p), "p_exact", c->p_exact, "words",
                     words_comparison(c, s->precision, "faster", "slower").s);
}

json_t *study_json_cell(const struct study *s, size_t cell)
{
    json_t *o = json_object();
    for (size_t a = 0; a < s->axes_n; a++)
        json_object_set_new(o, s->keys[a], json_string(s->values[cell * s->axes_n + a]));
    return o;
}

static json_t *cell_json(const struct study *s, size_t i, const json_t *counters)
{
    const struct stats_cell *c = &s->cells[i].rate;
    bool any = c->n > 0;
    json_t *medians = json_object(), *value;
    const char *name;
    for (const struct view_derived *d = view_derived; d->name; d++)
        json_object_set_new(
            medians, d->path + strlen("derived."),
            study_json_number(study_median(s, i, d->path + strlen("derived."), NULL)));
    json_object_set_new(medians, "idle_percent",
                        study_json_number(study_median(s, i, "idle_percent", NULL)));
    json_object_foreach((json_t *)counters, name, value)
    {
        char metric[128];
        snprintf(metric, sizeof(metric), "slab.%.100s", name);
        json_object_set_new(medians, metric, study_json_number(study_median(s, i, metric, NULL)));
    }
    return json_pack(
        "{s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "cell", study_json_cell(s, i), "runs",
        (json_int_t)c->n, "median_bytes_per_s", any ? study_json_number(c->median) : json_null(),
        "mean_bytes_per_s", any ? study_json_number(c->mean) : json_null(), "lowest_bytes_per_s",
        any ? study_json_number(c->least) : json_null(), "highest_bytes_per_s",
        any ? study_json_number(c->most) : json_null(), "deviation_bytes_per_s",
        any ? study_json_number(c->deviation) : json_null(), "mean_interval",
        interval_json(&c->interval), "against_baseline",
        i == s->baseline ? json_null() : study_json_comparison(s, &s->cells[i].baseline), "medians",
        medians);
}

static void set_ratio(const struct study *s, json_t *o, size_t with, size_t without,
                      const char *metric)
{
    double r;
    json_object_set_new(o, metric,
                        study_ratio(s, with, without, metric, &r) ? json_real(r) : json_null());
}

/* Each cell with an instrument against the same without. */
static json_t *perturbation_json(const struct study *s, const json_t *counters)
{
    json_t *list = json_array(), *value;
    for (size_t i = 0; i < s->cells_n; i++) {
        size_t without = study_without_instrument(s, i);
        if (without == SIZE_MAX)
            continue;
        const char *name;
        json_t *ratios = json_object();
        set_ratio(s, ratios, i, without, "bytes_per_s");
        set_ratio(s, ratios, i, without, "idle_percent");
        json_object_foreach((json_t *)counters, name, value)
        {
            char metric[128];
            snprintf(metric, sizeof(metric), "slab.%.100s", name);
            set_ratio(s, ratios, i, without, metric);
        }
        json_array_append_new(list,
                              json_pack("{s:o, s:o, s:o}", "cell", study_json_cell(s, i), "without",
                                        study_json_cell(s, without), "ratios", ratios));
    }
    return list;
}

static json_t *expectation_json(const struct study_expectation *x)
{
    const struct expect_answer *a = &x->answer;
    json_t *o = json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", x->name, "statement", x->statement,
                          "answer", expect_word(a->verdict), "figure", study_json_number(a->figure),
                          "interval", interval_json(&a->interval));
    json_object_set_new(o, "reason", *a->reason ? json_string(a->reason) : json_null());
    return o;
}

static json_t *left_out_json(const struct study *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < s->n; i++)
        if (s->runs[i].left_out) {
            const json_t *run = view_at(s->runs[i].record, "matrix.run");
            json_array_append_new(list, json_pack("{s:O?, s:O?, s:s*}", "run", run, "started_at",
                                                  json_object_get(s->runs[i].record, "started_at"),
                                                  "reason", s->runs[i].left_out));
        }
    return list;
}

bool study_json(FILE *out, const struct study *s, struct err *err)
{
    json_t *cells = json_array(), *effects = json_array(), *answers = json_array();
    json_t *counters = study_counters(s);
    for (size_t i = 0; i < s->cells_n; i++)
        json_array_append_new(cells, cell_json(s, i, counters));
    for (size_t i = 0; i < s->effects_n; i++) {
        const struct study_effect *e = &s->effects[i];
        json_array_append_new(effects,
                              json_pack("{s:s, s:s, s:s, s:o}", "axis", s->keys[e->axis], "value",
                                        e->value, "against", e->against, "comparison",
                                        study_json_comparison(s, &e->comparison)));
    }
    for (size_t i = 0; i < s->expectations_n; i++)
        json_array_append_new(answers, expectation_json(&s->expectations[i]));
    json_t *drift = json_pack(
        "{s:I, s:o, s:o, s:o, s:o, s:o}", "runs", (json_int_t)s->drift.runs, "over_hours",
        s->drift.runs ? study_json_number(s->drift.hours) : json_null(), "change_percent",
        study_json_number(100 * s->drift.change), "p", study_json_number(s->drift.p), "cell",
        s->drift.cell_known ? study_json_cell(s, s->drift.cell) : json_null(),
        "cell_change_percent",
        s->drift.cell_known ? study_json_number(100 * s->drift.cell_change) : json_null());
    json_t *matrix = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "runs",
        (json_int_t)s->n, "counted", (json_int_t)s->counted_n, "boots", (json_int_t)s->boots,
        "mounts", (json_int_t)s->mounts, "seed", (json_int_t)s->seed, "precision", s->precision,
        "baseline", s->cells_n ? study_json_cell(s, s->baseline) : json_null(), "cells", cells,
        "effects", effects, "expectations", answers, "drift", drift, "perturbation",
        perturbation_json(s, counters), "left_out", left_out_json(s));
    json_t *report = json_pack("{s:s, s:i, s:o, s:o}", "schema", "numaload-report",
                               "schema_version", 1, "doubts", study_doubts(s), "matrix", matrix);
    bool ok = report && json_dumpf(report, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) == 0;
    json_decref(report);
    json_decref(counters);
    fputc('\n', out);
    return ok ? text_finish(out, err)
              : err_set(err, STATUS_FAILED, "cannot write the report as JSON");
}
