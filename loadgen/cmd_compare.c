#include "cmd.h"
#include "report/compare.h"
#include "report/fmt.h"
#include "report/folder.h"
#include "report/html.h"
#include "report/text.h"

#include "../placement/err.h"

#include <string.h>

static void help(void)
{
    puts("usage: numaload compare [--format FORMAT] [--force] A B\n\n"
         "Puts two matrices side by side, B against A: folders of 'numaload matrix' or of\n"
         "records, for example of a kernel before and after a patch. Cells are matched by\n"
         "the values of their axes. Counters are compared only when both have the same set.\n\n"
         "  --format FORMAT  text (default; 72 columns), markdown, csv (one line a cell\n"
         "                   and figure), json, html\n"
         "  --force          compare different machines or loads, and say so\n\n"
         "Exit status: 0 done; 1 something cannot be read; 2 usage, or not to be compared\n"
         "without --force.");
}

static const char *const formats[] = {"text", "markdown", "csv", "json", "html"};

enum { FORMATS = sizeof(formats) / sizeof(*formats) };

struct options {
    const char *format;
    bool force, help;
    int paths;
};

static bool set_format(struct options *o, const char *name, struct err *err)
{
    for (size_t i = 0; name && i < FORMATS; i++)
        if (strcmp(formats[i], name) == 0) {
            o->format = name;
            return true;
        }
    return err_set(err, STATUS_USAGE, "--format: \"%s\" is none of text, markdown, csv, json, html",
                   name ? name : "");
}

static bool options(int argc, char **argv, struct options *o, struct err *err)
{
    *o = (struct options){.format = "text"};
    for (int i = 1; i < argc; i++) {
        bool ok = true;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            o->help = true;
        else if (strcmp(argv[i], "--force") == 0)
            o->force = true;
        else if (strcmp(argv[i], "--format") == 0)
            ok = set_format(o, ++i < argc ? argv[i] : NULL, err);
        else if (strncmp(argv[i], "--format=", 9) == 0)
            ok = set_format(o, argv[i] + 9, err);
        else if (argv[i][0] == '-' && argv[i][1])
            ok = err_set(err, STATUS_USAGE, "unknown option '%s'; --help lists them all", argv[i]);
        else
            argv[o->paths++] = argv[i];
        if (!ok)
            return false;
    }
    return o->help || o->paths == 2 ||
           err_set(err, STATUS_USAGE, "compare: name two folders, A and B");
}

static void put(FILE *out, const char *format, json_t *doubts, const struct table_list *list)
{
    const char *title = "numaload: B against A";
    json_t *text;
    size_t i;
    if (strcmp(format, "html") == 0) {
        html_head(out, title);
        html_doubts(out, doubts);
        for (i = 0; i < list->n; i++)
            table_html(out, &list->tables[i]);
        fprintf(out, "</body>\n</html>\n");
    } else if (strcmp(format, "markdown") == 0) {
        fprintf(out, "# %s\n\n", title);
        json_array_foreach(doubts, i, text) fprintf(out, "- %s\n", json_string_value(text));
        for (i = 0; i < list->n; i++)
            table_markdown(out, &list->tables[i]);
    } else {
        fprintf(out, "%s\n", title);
        json_array_foreach(doubts, i, text) fmt_wrapped(out, 4, "!!  ", json_string_value(text));
        for (i = 0; i < list->n; i++)
            table_text(out, &list->tables[i]);
    }
}

static bool compare(const struct options *o, const struct study *a, const struct study *b,
                    struct err *err)
{
    struct table_list list = {0};
    json_t *doubts = compare_obstacles(a, b);
    bool ok = true;
    if (!o->force && json_array_size(doubts))
        ok = err_set(err, STATUS_USAGE, "not to be compared: %.300s; --force does it nevertheless",
                     json_string_value(json_array_get(doubts, 0)));
    ok = ok && compare_tables(&list, doubts, a, b, err);
    if (ok && strcmp(o->format, "json") == 0) {
        json_t *report =
            json_pack("{s:s, s:i, s:O, s:o}", "schema", "numaload-compare", "schema_version", 1,
                      "doubts", doubts, "comparison", compare_json(a, b));
        ok =
            (report && json_dumpf(report, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) == 0) ||
            err_set(err, STATUS_FAILED, "cannot write the comparison as JSON");
        puts("");
        json_decref(report);
    } else if (ok && strcmp(o->format, "csv") == 0) {
        size_t i;
        json_t *text;
        json_array_foreach(doubts, i, text)
            fprintf(stderr, "numaload: warning: %s\n", json_string_value(text));
        compare_csv(stdout, a, b);
    } else if (ok) {
        put(stdout, o->format, doubts, &list);
    }
    json_decref(doubts);
    tables_free(&list);
    return ok && text_finish(stdout, err);
}

static bool load(const char *path, struct folder *f, struct study *s, struct err *err)
{
    const char *const paths[] = {path};
    return folder_read(f, paths, 1, err) &&
           (study_make(s, f->records, f->n, f->plan, NULL, "plan.json", err) ||
            err_prefix(err, "%s: ", path));
}

int cmd_compare(int argc, char **argv)
{
    struct err err = {0};
    struct folder folders[2] = {0};
    struct study studies[2] = {0};
    struct options o;
    bool ok = options(argc, argv, &o, &err);
    if (ok && o.help) {
        help();
        return STATUS_OK;
    }
    ok = ok && load(argv[0], &folders[0], &studies[0], &err) &&
         load(argv[1], &folders[1], &studies[1], &err) &&
         compare(&o, &studies[0], &studies[1], &err);
    if (!ok) {
        fprintf(stderr, "numaload: error: %s\n", err.text);
        clearerr(stdout); /* it was said */
    }
    for (int i = 0; i < 2; i++) {
        study_free(&studies[i]);
        folder_free(&folders[i]);
    }
    return ok ? STATUS_OK : (int)err.status;
}
