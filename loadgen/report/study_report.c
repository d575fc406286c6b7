#include "study_report.h"
#include "fmt.h"
#include "html.h"
#include "report.h"
#include "text.h"
#include "view.h"

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
        for (size_t i = 0; i < s->n && !study_has_axis(s, same->path); i++) {
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
