/* One self-contained page: plots, then the tables. No scripts, nothing from elsewhere. */
#include "html.h"
#include "fmt.h"
#include "report.h"
#include "table.h"
#include "text.h"
#include "view.h"

#include <stdlib.h>
#include <string.h>

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'\"/>\n<style>\n"
    ":root { color-scheme: light dark; --fg: #1b1f24; --bg: #ffffff; --dim: #57606a;\n"
    "  --line: #d0d7de; --loud: #b3261e; --loud-bg: #fdeceb; }\n"
    "@media (prefers-color-scheme: dark) { :root { --fg: #e6e9ed; --bg: #14171b;\n"
    "  --dim: #9aa4b0; --line: #3a424c; --loud: #ff9d94; --loud-bg: #3a1d1b; } }\n"
    "* { box-sizing: border-box; }\n"
    "body { margin: 0 auto; max-width: 62rem; padding: 1rem; color: var(--fg);\n"
    "  background: var(--bg); font: 1rem/1.5 system-ui, sans-serif; }\n"
    "h1 { font-size: 1.5rem; margin: 0 0 .25rem; }\n"
    "h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }\n"
    "p, figcaption { color: var(--dim); margin: .25rem 0; }\n"
    ".loud { color: var(--loud); background: var(--loud-bg); border-left: .3rem solid;\n"
    "  padding: .5rem 1rem; margin: 1rem 0; overflow-wrap: anywhere; }\n"
    ".loud ul { margin: 0; padding-left: 1.2rem; }\n"
    "figure { margin: 1.5rem 0; }\n"
    "figure svg { width: 100%; height: auto; display: block; color: var(--fg); }\n"
    "figure .wide { overflow-x: auto; }\n"
    ".table { overflow-x: auto; }\n"
    "table { border-collapse: collapse; font-variant-numeric: tabular-nums; }\n"
    "th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--line); text-align: right;\n"
    "  white-space: nowrap; font-weight: normal; }\n"
    "th:first-child, td:first-child, .prose th, .prose td { text-align: left; }\n"
    ".prose td:last-child { white-space: normal; }\n"
    "thead th { font-weight: 600; border-bottom: 2px solid var(--line); }\n"
    "@media (max-width: 40rem) { .wide svg { min-width: 34rem; } body { padding: .75rem; } }\n"
    "@media print { body { max-width: none; color: #000; background: #fff; font-size: 9pt; }\n"
    "  figure, table { break-inside: avoid; } .table, .wide { overflow: visible; }\n"
    "  figure svg { color: #000; } }\n"
    "</style>\n<title>";

void html_text(FILE *out, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        switch (*p) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*p >= ' ' && *p != 0x7f ? *p : '?', out);
        }
    }
}

void html_head(FILE *out, const char *title)
{
    fputs(head, out);
    html_text(out, title);
    fprintf(out, "</title>\n</head>\n<body>\n<h1>");
    html_text(out, title);
    fprintf(out, "</h1>\n");
}

void html_doubts(FILE *out, const json_t *doubts)
{
    json_t *text;
    size_t i;
    if (json_array_size(doubts) == 0)
        return;
    fprintf(out, "<div class=\"loud\"><ul>\n");
    json_array_foreach(doubts, i, text)
    {
        fprintf(out, "<li>");
        html_text(out, json_string_value(text));
        fprintf(out, "</li>\n");
    }
    fprintf(out, "</ul></div>\n");
}

void html_plots(FILE *out, const struct plot *list, const struct plot_data *data)
{
    for (const struct plot *p = list; p->name; p++) {
        char *svg, reason[128];
        plot_make(p, data, &svg, reason, sizeof(reason));
        fprintf(out, "<figure id=\"plot-%s\">", p->name);
        if (svg)
            fprintf(out, "<div class=\"wide\">%s</div>", svg);
        fprintf(out, "<figcaption>%s%s%s%s</figcaption></figure>\n", p->caption,
                svg ? "" : " <b>Not shown: ", svg ? "" : reason, svg ? "" : ".</b>");
        free(svg);
    }
}

void table_html(FILE *out, const struct table *t)
{
    fprintf(out, "<h2>");
    html_text(out, t->title);
    fprintf(out, "</h2>\n<div class=\"table\"><table%s>\n", t->prose ? " class=\"prose\"" : "");
    for (size_t r = 0; r < table_rows(t); r++) {
        const char *tag = r == 0 ? "th" : "td";
        fprintf(out, "%s<tr>", r == 0 ? "<thead>" : r == 1 ? "<tbody>" : "");
        for (size_t c = 0; c < t->columns; c++) {
            fprintf(out, "<%s>", tag);
            html_text(out, t->cells[r * t->columns + c]);
            fprintf(out, "</%s>", tag);
        }
        fprintf(out, "</tr>%s\n", r == 0 ? "</thead>" : "");
    }
    fprintf(out, "%s</table></div>\n", table_rows(t) > 1 ? "</tbody>" : "");
    if (*t->note) {
        fprintf(out, "<p>");
        html_text(out, t->note);
        fprintf(out, "</p>\n");
    }
}

static void put_facts(FILE *out, const json_t *record)
{
    fprintf(out, "<p>");
    html_text(out, view_text(record, "host.cpu_model", "unknown CPU"));
    fprintf(out, ", kernel ");
    html_text(out, view_text(record, "host.kernel_release", "unknown"));
    fprintf(out, ", first run ");
    html_text(out, view_text(record, "started_at", "at an unknown time"));
    fprintf(out, "</p>\n");
}

bool report_html(FILE *out, const json_t *const *records, size_t n, struct err *err)
{
    struct table_list list;
    if (n == 0)
        return err_set(err, STATUS_USAGE, "no records to report on");
    if (!tables_make(&list, records, n)) {
        tables_free(&list);
        return err_set(err, STATUS_FAILED, "report: out of memory");
    }
    char title[64];
    snprintf(title, sizeof(title), "numaload: %zu run%s", n, n == 1 ? "" : "s");
    html_head(out, title);
    put_facts(out, records[0]);
    json_t *doubts = tables_doubts(records, n);
    html_doubts(out, doubts);
    json_decref(doubts);
    html_plots(out, plots, &(struct plot_data){.records = records, .n = n});
    for (size_t i = 0; i < list.n; i++)
        table_html(out, &list.tables[i]);
    fprintf(out, "</body>\n</html>\n");
    tables_free(&list);
    return text_finish(out, err);
}
