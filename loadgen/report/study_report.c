#include "study_report.h"
#include "../matrix/words.h"
#include "fmt.h"
#include "html.h"
#include "report.h"
#include "text.h"
#include "view.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void doubt(json_t *doubts, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void doubt(json_t *doubts, const char *fmt, ...)
{
    char text[600], clean[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    json_array_append_new(doubts, json_string(fmt_ascii(clean, sizeof(clean), text)));
}

static bool is_axis(const struct study *s, const char *path)
{
    const char *key = strncmp(path, "profile.", 8) == 0 ? path + 8 : path;
    for (size_t a = 0; a < s->axes_n; a++) {
        size_t len = strlen(s->keys[a]);
        /* the key of a record may carry a unit: block, block_bytes */
        if (strncmp(key, s->keys[a], len) == 0 && (key[len] == '\0' || key[len] == '_'))
            return true;
    }
    return false;
}

static void doubt_counters(const struct study *s, json_t *doubts)
{
    const json_t *first = NULL;
    for (size_t i = 0; i < s->counted_n; i++) {
        const json_t *w = s->runs[s->counted_at[i]].window;
        size_t size = json_object_size(view_at(w, "slab.counters"));
        if (!size)
            continue;
        first = first ? first : w;
        if (size == json_object_size(view_at(first, "slab.counters")))
            continue;
        doubt(doubts, "the runs have different sets of counters (%zu and %zu): another kernel",
              json_object_size(view_at(first, "slab.counters")), size);
        return;
    }
}

json_t *study_doubts(const struct study *s)
{
    json_t *doubts = json_array();
    for (const struct view_fact *same = view_same; same->path; same++) {
        const json_t *first = NULL;
        for (size_t i = 0; i < s->n && !is_axis(s, same->path); i++) {
            const json_t *other = view_at(s->runs[i].record, same->path);
            first = first ? first : other;
            if (first && other && !json_equal(first, other)) {
                doubt(doubts, "the runs have different %s: they are no one matrix", same->plural);
                break;
            }
        }
    }
    doubt_counters(s, doubts);
    for (size_t i = 0; i < s->cells_n; i++)
        if (s->cells[i].rate.n == 0)
            doubt(doubts, "no run of %s counts", study_name(s, i).s);
    return doubts;
}

void study_title(const struct study *s, char *buf, size_t cap)
{
    snprintf(buf, cap, "numaload: matrix of %zu cell%s, %zu run%s", s->cells_n,
             s->cells_n == 1 ? "" : "s", s->n, s->n == 1 ? "" : "s");
}

static bool begin(const struct study *s, struct table_list *list, json_t **doubts, char *title,
                  size_t cap, struct err *err)
{
    *doubts = study_doubts(s);
    study_title(s, title, cap);
    return (study_tables(list, s) && *doubts) ||
           err_set(err, STATUS_FAILED, "report: out of memory");
}

bool study_text(FILE *out, const struct study *s, struct err *err)
{
    struct table_list list;
    json_t *doubts, *text;
    char title[96];
    size_t i;
    bool ok = begin(s, &list, &doubts, title, sizeof(title), err);
    if (ok) {
        fprintf(out, "%s\n", title);
        json_array_foreach(doubts, i, text) fmt_wrapped(out, 4, "!!  ", json_string_value(text));
        for (i = 0; i < list.n; i++)
            table_text(out, &list.tables[i]);
    }
    json_decref(doubts);
    tables_free(&list);
    return ok && text_finish(out, err);
}

bool study_markdown(FILE *out, const struct study *s, struct err *err)
{
    struct table_list list;
    json_t *doubts, *text;
    char title[96];
    size_t i;
    bool ok = begin(s, &list, &doubts, title, sizeof(title), err);
    if (ok) {
        fprintf(out, "# %s\n", title);
        if (json_array_size(doubts))
            fprintf(out, "\n**Doubts**\n\n");
        json_array_foreach(doubts, i, text) fprintf(out, "- %s\n", json_string_value(text));
        for (i = 0; i < list.n; i++)
            table_markdown(out, &list.tables[i]);
    }
    json_decref(doubts);
    tables_free(&list);
    return ok && text_finish(out, err);
}

bool study_html(FILE *out, const struct study *s, struct err *err)
{
    struct table_list list;
    json_t *doubts;
    char title[96];
    size_t i;
    bool ok = begin(s, &list, &doubts, title, sizeof(title), err);
    if (ok) {
        html_head(out, title);
        html_doubts(out, doubts);
        html_plots(out, study_plots, &(struct plot_data){.study = s});
        for (i = 0; i < list.n; i++)
            table_html(out, &list.tables[i]);
        fprintf(out, "</body>\n</html>\n");
    }
    json_decref(doubts);
    tables_free(&list);
    return ok && text_finish(out, err);
}

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *interval_json(const struct stats_interval *i)
{
    if (!i->known)
        return json_null();
    return json_pack("{s:f, s:f, s:s, s:I, s:I}", "low", i->low, "high", i->high, "over",
                     words_level(i->level), "units", (json_int_t)i->units, "boots",
                     (json_int_t)i->boots);
}

static json_t *comparison_json(const struct study *s, const struct stats_comparison *c)
{
    if (!c->known)
        return json_null();
    return json_pack("{s:o, s:o, s:b, s:o, s:b, s:s}", "ratio", number(c->ratio), "interval",
                     interval_json(&c->interval), "paired", c->paired, "p", number(c->p), "p_exact",
                     c->p_exact, "words", words_comparison(c, s->precision, "faster", "slower").s);
}

static json_t *values_json(const struct study *s, size_t cell)
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
        json_object_set_new(medians, d->path + strlen("derived."),
                            number(study_median(s, i, d->path + strlen("derived."), NULL)));
    json_object_set_new(medians, "idle_percent", number(study_median(s, i, "idle_percent", NULL)));
    json_object_foreach((json_t *)counters, name, value)
    {
        char metric[128];
        snprintf(metric, sizeof(metric), "slab.%.100s", name);
        json_object_set_new(medians, metric, number(study_median(s, i, metric, NULL)));
    }
    return json_pack("{s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "cell",
                     values_json(s, i), "runs", (json_int_t)c->n, "median_bytes_per_s",
                     any ? number(c->median) : json_null(), "mean_bytes_per_s",
                     any ? number(c->mean) : json_null(), "lowest_bytes_per_s",
                     any ? number(c->least) : json_null(), "highest_bytes_per_s",
                     any ? number(c->most) : json_null(), "deviation_bytes_per_s",
                     any ? number(c->deviation) : json_null(), "mean_interval",
                     interval_json(&c->interval), "against_baseline",
                     i == s->baseline ? json_null() : comparison_json(s, &s->cells[i].baseline),
                     "medians", medians);
}

static json_t *expectation_json(const struct study_expectation *x)
{
    const struct expect_answer *a = &x->answer;
    json_t *o = json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", x->name, "statement", x->statement,
                          "answer", expect_word(a->verdict), "figure", number(a->figure),
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
        json_array_append_new(effects, json_pack("{s:s, s:s, s:s, s:o}", "axis", s->keys[e->axis],
                                                 "value", e->value, "against", e->against,
                                                 "comparison", comparison_json(s, &e->comparison)));
    }
    for (size_t i = 0; i < s->expectations_n; i++)
        json_array_append_new(answers, expectation_json(&s->expectations[i]));
    json_t *drift = json_pack(
        "{s:I, s:o, s:o, s:o, s:o}", "runs", (json_int_t)s->drift.runs, "percent_per_hour",
        number(s->drift.percent_per_hour), "p", number(s->drift.p), "cell",
        s->drift.cell_known ? values_json(s, s->drift.cell) : json_null(), "cell_percent_per_hour",
        s->drift.cell_known ? number(s->drift.cell_percent_per_hour) : json_null());
    json_t *matrix = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "runs", (json_int_t)s->n,
        "counted", (json_int_t)s->counted_n, "boots", (json_int_t)s->boots, "mounts",
        (json_int_t)s->mounts, "seed", (json_int_t)s->seed, "precision", s->precision, "baseline",
        s->cells_n ? values_json(s, s->baseline) : json_null(), "cells", cells, "effects", effects,
        "expectations", answers, "drift", drift, "left_out", left_out_json(s));
    json_t *report = json_pack("{s:s, s:i, s:o, s:o}", "schema", "numaload-report",
                               "schema_version", 1, "doubts", study_doubts(s), "matrix", matrix);
    bool ok = report && json_dumpf(report, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) == 0;
    json_decref(report);
    json_decref(counters);
    fputc('\n', out);
    return ok ? text_finish(out, err)
              : err_set(err, STATUS_FAILED, "cannot write the report as JSON");
}

bool study_csv(FILE *out, const struct study *s, struct err *err)
{
    const json_t **records = calloc(s->n + 1, sizeof(*records));
    const char **left_out = calloc(s->n + 1, sizeof(*left_out));
    for (size_t i = 0; records && left_out && i < s->n; i++) {
        records[i] = s->runs[i].record;
        left_out[i] = s->runs[i].left_out;
    }
    bool ok = records && left_out ? report_csv_judged(out, records, s->n, left_out, err)
                                  : err_set(err, STATUS_FAILED, "report: out of memory");
    free(records);
    free(left_out);
    return ok;
}
