#include "study_report.h"
#include "fmt.h"
#include "html.h"
#include "report.h"
#include "text.h"
#include "view.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void study_doubt(json_t *doubts, const char *fmt, ...)
{
    char text[600], clean[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    json_array_append_new(doubts, json_string(fmt_ascii(clean, sizeof(clean), text)));
}

/* The plan asks for so many runs a cell; a series that is still running, or stopped, has fewer. */
static void doubt_complete(const struct study *s, json_t *doubts)
{
    json_int_t repeats;
    size_t missing = 0;
    if (!view_integer(s->plan, "repeats", &repeats) || repeats <= 0)
        return;
    for (size_t i = 0; i < s->cells_n; i++)
        if (s->cells[i].runs < (size_t)repeats)
            missing += (size_t)repeats - s->cells[i].runs;
    if (missing)
        study_doubt(
            doubts,
            "%zu of the %zu runs of the plan are missing: not run yet, or left out; the command "
            "that began the matrix goes on with them",
            missing, s->cells_n * (size_t)repeats);
}

static const char *only_in(const json_t *a, const json_t *b)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)a, name, value) if (!json_object_get(b, name)) return name;
    return NULL;
}

static void doubt_counters(const struct study *s, json_t *doubts)
{
    const json_t *first = NULL;
    for (size_t i = 0; i < s->counted_n; i++) {
        const json_t *c = view_at(s->runs[s->counted_at[i]].window, "slab.counters");
        if (!json_object_size(c))
            continue;
        first = first ? first : c;
        const char *name = only_in(first, c) ? only_in(first, c) : only_in(c, first);
        if (!name)
            continue;
        study_doubt(doubts,
                    "the runs have different sets of counters (%.60s is in some only): another "
                    "kernel, or another source",
                    name);
        return;
    }
}

json_t *study_doubts(const struct study *s)
{
    json_t *doubts = json_array();
    for (const struct view_fact *same = view_same; same->path; same++) {
        const json_t *first = NULL;
        for (size_t i = 0; i < s->n && !study_has_axis(s, same->path); i++) {
            const json_t *other = view_at(s->runs[i].record, same->path);
            first = first ? first : other;
            if (first && other && !json_equal(first, other)) {
                study_doubt(doubts, "the runs have different %s: they are no one matrix",
                            same->plural);
                break;
            }
        }
    }
    doubt_complete(s, doubts);
    doubt_counters(s, doubts);
    for (size_t i = 0; i < s->cells_n; i++)
        if (s->cells[i].runs == 0)
            study_doubt(doubts, "no run of %s counts", study_name(s, i).s);
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

bool study_csv(FILE *out, const struct study *s, struct err *err)
{
    const json_t **records = calloc(s->n + 1, sizeof(*records));
    struct csv_judgement *judged = calloc(s->n + 1, sizeof(*judged));
    for (size_t i = 0; records && judged && i < s->n; i++) {
        const struct study_run *r = &s->runs[i];
        records[i] = r->record;
        judged[i].left_out = r->left_out;
        if (r->cell != SIZE_MAX)
            snprintf(judged[i].cell, sizeof(judged[i].cell), "%s", study_name(s, r->cell).s);
    }
    bool ok = records && judged ? report_csv_judged(out, records, s->n, judged, err)
                                : err_set(err, STATUS_FAILED, "report: out of memory");
    free(records);
    free(judged);
    return ok;
}
