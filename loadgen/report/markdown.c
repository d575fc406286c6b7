/* Tables for an issue or a wiki: GitHub's dialect of Markdown. */
#include "fmt.h"
#include "report.h"
#include "table.h"
#include "text.h"

#include <string.h>

/* Text of a record must not become markup. */
static void put_text(FILE *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (strchr("\\`*_{}[]<>#|", *p))
            fputc('\\', out);
        fputc(*p >= ' ' && *p <= '~' ? *p : '?', out);
    }
}

void table_markdown(FILE *out, const struct table *t)
{
    fprintf(out, "\n## %s\n\n", t->title);
    for (size_t r = 0; r < table_rows(t); r++) {
        for (size_t c = 0; c < t->columns; c++) {
            fprintf(out, "| ");
            put_text(out, t->cells[r * t->columns + c]);
            fputc(' ', out);
        }
        fprintf(out, "|\n");
        for (size_t c = 0; r == 0 && c < t->columns; c++)
            fprintf(out, "%s", c && !(t->prose && c + 1 == t->columns) ? "|--:" : "|:--");
        if (r == 0)
            fprintf(out, "|\n");
    }
    if (*t->note) {
        fputc('\n', out);
        put_text(out, t->note);
        fputc('\n', out);
    }
}

bool report_markdown(FILE *out, const json_t *const *records, size_t n, struct err *err)
{
    struct table_list list;
    if (n == 0)
        return err_set(err, STATUS_USAGE, "no records to report on");
    if (!tables_make(&list, records, n)) {
        tables_free(&list);
        return err_set(err, STATUS_FAILED, "report: out of memory");
    }
    fprintf(out, "# numaload: %zu run%s\n", n, n == 1 ? "" : "s");
    json_t *doubts = tables_doubts(records, n), *text;
    size_t i;
    if (json_array_size(doubts))
        fprintf(out, "\n**Doubts**\n\n");
    json_array_foreach(doubts, i, text)
    {
        fprintf(out, "- ");
        put_text(out, json_string_value(text));
        fputc('\n', out);
    }
    json_decref(doubts);
    for (i = 0; i < list.n; i++)
        table_markdown(out, &list.tables[i]);
    tables_free(&list);
    return text_finish(out, err);
}
