#include "cmd.h"
#include "profile.h"
#include "report/folder.h"
#include "report/report.h"
#include "report/study_report.h"

#include "../placement/err.h"

#include <stdlib.h>
#include <string.h>

typedef bool report_fn(FILE *out, const json_t *const *records, size_t n, struct err *err);
typedef bool study_fn(FILE *out, const struct study *s, struct err *err);

static bool text(FILE *out, const json_t *const *records, size_t n, struct err *err)
{
    return n == 1 ? report_run_text(out, records[0], err)
                  : report_compare_text(out, records, n, err);
}

static const struct format {
    const char *name;
    report_fn *runs;
    study_fn *matrix;
} formats[] = {
    {"text", text, study_text},        {"markdown", report_markdown, study_markdown},
    {"csv", report_csv, study_csv},    {"json", report_json, study_json},
    {"html", report_html, study_html},
};

enum { FORMATS = sizeof(formats) / sizeof(*formats) };

static void help(void)
{
    puts("usage: numaload report [--format FORMAT] [--runs | --matrix] [--check]\n"
         "                       [--expect PROFILE] RECORD|FOLDER...\n\n"
         "Prints what records of 'numaload run --record FILE' or the folder of a 'numaload\n"
         "matrix' hold. A folder that has a plan.json, or runs each placement again, is\n"
         "read as a matrix: throughput by cell with intervals, comparisons in words,\n"
         "expectations, drift, what was left out and why. Other records stand side by side.\n"
         "Files of a folder that are no records are named and left out.\n\n"
         "  --format FORMAT  text (default; 72 columns), markdown, csv (one line a window),\n"
         "                   json, html (one page; its plots need gnuplot)\n"
         "  --runs           side by side, even if they are a matrix\n"
         "  --matrix         as a matrix, even if nothing repeats\n"
         "  --expect PROFILE the [expect] section of this profile in place of the plan's;\n"
         "                   numaload-statistics(7) says how statements are written\n"
         "  --check          the exit status answers the expectations:\n"
         "                   0 all is reproduced, 1 something is not, 125 undecided (which\n"
         "                   'git bisect run' takes for \"cannot be tested\")\n\n"
         "Exit status: 0 done; 1 a record cannot be read or the report not written; 2 usage.");
}

struct options {
    const struct format *format;
    const char *expect; /* a profile, or NULL */
    bool runs, matrix, check, help;
    int paths;
};

static bool set_format(struct options *o, const char *name, struct err *err)
{
    for (int i = 0; name && i < FORMATS; i++)
        if (strcmp(formats[i].name, name) == 0) {
            o->format = &formats[i];
            return true;
        }
    return err_set(err, STATUS_USAGE, "--format: \"%s\" is none of text, markdown, csv, json, html",
                   name ? name : "");
}

static bool set_expect(struct options *o, const char *file, struct err *err)
{
    o->expect = file;
    o->matrix = true;
    return file || err_set(err, STATUS_USAGE, "--expect needs a profile");
}

/* Options out of argv; what is left are paths, moved to its front. */
static bool options(int argc, char **argv, struct options *o, struct err *err)
{
    *o = (struct options){.format = formats};
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        bool ok = true;
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0)
            o->help = true;
        else if (strcmp(arg, "--format") == 0)
            ok = set_format(o, ++i < argc ? argv[i] : NULL, err);
        else if (strncmp(arg, "--format=", 9) == 0)
            ok = set_format(o, arg + 9, err);
        else if (strcmp(arg, "--runs") == 0)
            o->runs = true;
        else if (strcmp(arg, "--matrix") == 0)
            o->matrix = true;
        else if (strcmp(arg, "--expect") == 0)
            ok = set_expect(o, ++i < argc ? argv[i] : NULL, err);
        else if (strncmp(arg, "--expect=", 9) == 0)
            ok = set_expect(o, arg + 9, err);
        else if (strcmp(arg, "--check") == 0)
            o->check = o->matrix = true;
        else if (arg[0] == '-' && arg[1])
            ok = err_set(err, STATUS_USAGE, "unknown option '%s'; --help lists them all", arg);
        else
            argv[o->paths++] = argv[i];
        if (!ok)
            return false;
    }
    if (o->runs && o->matrix)
        return err_set(err, STATUS_USAGE,
                       "report: --runs goes with none of --matrix, --check, --expect");
    if (!o->help && o->paths == 0)
        return err_set(err, STATUS_USAGE, "report: name a record or a folder of records");
    return true;
}

/* Exit status of --check; a matrix without expectations cannot be checked. */
static bool check(const struct study *s, int *status, struct err *err)
{
    enum expect_verdict *verdicts = calloc(s->expectations_n + 1, sizeof(*verdicts));
    if (!verdicts)
        return err_set(err, STATUS_FAILED, "report: out of memory");
    for (size_t i = 0; i < s->expectations_n; i++)
        verdicts[i] = s->expectations[i].answer.verdict;
    *status = expect_exit_status(verdicts, s->expectations_n);
    free(verdicts);
    return s->expectations_n > 0 ||
           err_set(err, STATUS_USAGE, "--check: there is no [expect] section");
}

/* The [expect] section as a plan has it. */
static bool read_expect(const char *file, json_t **list, struct err *err)
{
    struct profile p;
    if (!profile_init(&p, err))
        return false;
    bool ok = profile_read_ini(&p, file, err);
    *list = json_array();
    for (size_t i = 0; ok && i < p.lines_n; i++) {
        const struct profile_line *l = &p.lines[i];
        if (strcmp(l->section, "expect") == 0)
            json_array_append_new(*list, json_pack("{s:s, s:s, s:i}", "name", l->name, "statement",
                                                   l->value, "line", (int)l->line));
    }
    if (ok && json_array_size(*list) == 0)
        ok = err_set(err, STATUS_USAGE, "%s has no [expect] section", file);
    profile_free(&p);
    return ok;
}

static bool make(const struct options *o, const struct folder *f, int *status, struct err *err)
{
    struct study s = {0};
    json_t *expect = NULL;
    const char *file = o->expect ? o->expect : f->plan ? "plan.json" : NULL;
    bool ok = !o->expect || read_expect(o->expect, &expect, err),
         matrix = !o->runs && (o->matrix || f->folders);
    if (ok && matrix)
        ok = study_make(&s, f->records, f->n, f->plan, expect, file, err);
    matrix = matrix && (o->matrix || f->plan || (f->n > 1 && study_repeats(&s)));
    if (ok)
        ok = matrix ? o->format->matrix(stdout, &s, err)
                    : o->format->runs(stdout, f->records, f->n, err);
    if (ok && o->check)
        ok = check(&s, status, err);
    study_free(&s);
    json_decref(expect);
    return ok;
}

int cmd_report(int argc, char **argv)
{
    struct err err = {0};
    struct folder folder = {0};
    struct options o;
    int status = STATUS_OK;
    bool ok = options(argc, argv, &o, &err);
    if (ok && o.help) {
        help();
        return STATUS_OK;
    }
    ok = ok && folder_read(&folder, (const char *const *)argv, (size_t)o.paths, &err) &&
         make(&o, &folder, &status, &err);
    if (!ok) {
        fprintf(stderr, "numaload: error: %s\n", err.text);
        clearerr(stdout); /* it was said */
    }
    folder_free(&folder);
    return ok ? status : (int)err.status;
}
