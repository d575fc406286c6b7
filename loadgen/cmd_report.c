#define _GNU_SOURCE
#include "cmd.h"
#include "record/record.h"
#include "report/report.h"
#include "report/view.h"

#include "../placement/err.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef bool (*report_fn)(FILE *out, const json_t *const *records, size_t n, struct err *err);

static bool text(FILE *out, const json_t *const *records, size_t n, struct err *err)
{
    return n == 1 ? report_run_text(out, records[0], err)
                  : report_compare_text(out, records, n, err);
}

static const struct {
    const char *name;
    report_fn make;
} formats[] = {
    {"text", text},        {"markdown", report_markdown}, {"csv", report_csv},
    {"json", report_json}, {"html", report_html},
};

enum { FORMATS = sizeof(formats) / sizeof(*formats) };

static void help(void)
{
    puts("usage: numaload report [--format FORMAT] RECORD|FOLDER...\n\n"
         "Prints what records of 'numaload run --record FILE' hold; several records, or the\n"
         "records of a folder, side by side. Files of a folder that are no records are named\n"
         "and left out.\n\n"
         "  --format FORMAT  text (default; 72 columns), markdown, csv (one line a window),\n"
         "                   json, html (one page; its plots need gnuplot)\n\n"
         "Exit status: 0 done; 1 a record cannot be read or the report not written; 2 usage.");
}

struct records {
    json_t **all;
    size_t n, cap;
};

static bool keep(struct records *r, json_t *record, struct err *err)
{
    if (r->n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 16;
        json_t **bigger = realloc(r->all, cap * sizeof(*bigger));
        if (!bigger) {
            json_decref(record);
            return err_set(err, STATUS_FAILED, "report: out of memory");
        }
        r->all = bigger;
        r->cap = cap;
    }
    r->all[r->n++] = record;
    if (r->n == 2)
        view_slim(r->all[0]);
    if (r->n >= 2)
        view_slim(record);
    return true;
}

static int is_json(const struct dirent *d)
{
    size_t len = strlen(d->d_name);
    return d->d_name[0] != '.' && len > 5 && strcmp(d->d_name + len - 5, ".json") == 0;
}

static bool add_folder(struct records *r, const char *folder, struct err *err)
{
    struct dirent **names;
    int n = scandir(folder, &names, is_json, versionsort);
    if (n < 0)
        return err_set(err, STATUS_FAILED, "cannot read the folder \"%s\": %s", folder,
                       strerror(errno));
    bool ok = true;
    size_t before = r->n;
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX];
        json_t *record;
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
        free(names[i]);
        struct err bad = {0};
        if (!ok)
            continue;
        if (record_read(path, &record, &bad))
            ok = keep(r, record, err);
        else
            fprintf(stderr, "numaload: warning: left out: %s\n", bad.text);
    }
    free(names);
    if (ok && r->n == before)
        return err_set(err, STATUS_FAILED, "the folder \"%s\" holds no records (*.json)", folder);
    return ok;
}

static bool add(struct records *r, const char *path, struct err *err)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return add_folder(r, path, err);
    json_t *record;
    return record_read(path, &record, err) && keep(r, record, err);
}

static report_fn find_format(const char *name, struct err *err)
{
    for (int i = 0; name && i < FORMATS; i++)
        if (strcmp(formats[i].name, name) == 0)
            return formats[i].make;
    err_set(err, STATUS_USAGE, "--format: \"%s\" is none of text, markdown, csv, json, html",
            name ? name : "");
    return NULL;
}

/* Options out of argv; what is left are paths, moved to its front. */
static bool options(int argc, char **argv, int *paths, report_fn *make, bool *want_help,
                    struct err *err)
{
    *paths = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            *want_help = true;
        else if (strcmp(argv[i], "--format") == 0)
            *make = find_format(++i < argc ? argv[i] : NULL, err);
        else if (strncmp(argv[i], "--format=", 9) == 0)
            *make = find_format(argv[i] + 9, err);
        else if (argv[i][0] == '-' && argv[i][1])
            return err_set(err, STATUS_USAGE, "unknown option '%s'; --help lists them all",
                           argv[i]);
        else
            argv[(*paths)++] = argv[i];
        if (!*make)
            return false;
    }
    if (!*want_help && *paths == 0)
        return err_set(err, STATUS_USAGE, "report: name a record or a folder of records");
    return true;
}

int cmd_report(int argc, char **argv)
{
    struct err err = {0};
    struct records r = {0};
    report_fn make = text;
    bool want_help = false;
    int paths;
    bool ok = options(argc, argv, &paths, &make, &want_help, &err);
    if (ok && want_help) {
        help();
        return STATUS_OK;
    }
    for (int i = 0; ok && i < paths; i++)
        ok = add(&r, argv[i], &err);
    ok = ok && make(stdout, (const json_t *const *)r.all, r.n, &err);
    if (!ok)
        fprintf(stderr, "numaload: error: %s\n", err.text);
    for (size_t i = 0; i < r.n; i++)
        json_decref(r.all[i]);
    free(r.all);
    return ok ? STATUS_OK : (int)err.status;
}
