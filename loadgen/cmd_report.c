#define _GNU_SOURCE
#include "cmd.h"
#include "record/record.h"
#include "report/report.h"
#include "report/view.h"

#include "../placement/err.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READERS_MAX 16

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

/* A file to be read. */
struct job {
    char *path;
    bool named; /* by the user: it must be a record; what is found in a folder need not */
    json_t *record;
    struct err err;
};

struct jobs {
    struct job *all;
    size_t n, cap;
    atomic_size_t next; /* for the readers */
};

static bool add_job(struct jobs *j, const char *path, bool named, struct err *err)
{
    if (j->n == j->cap) {
        size_t cap = j->cap ? 2 * j->cap : 16;
        struct job *bigger = realloc(j->all, cap * sizeof(*bigger));
        if (!bigger)
            return err_set(err, STATUS_FAILED, "report: out of memory");
        j->all = bigger;
        j->cap = cap;
    }
    struct job *job = &j->all[j->n];
    *job = (struct job){.path = strdup(path), .named = named};
    if (!job->path)
        return err_set(err, STATUS_FAILED, "report: out of memory");
    j->n++;
    return true;
}

static int is_json(const struct dirent *d)
{
    size_t len = strlen(d->d_name);
    return d->d_name[0] != '.' && len > 5 && strcmp(d->d_name + len - 5, ".json") == 0;
}

static bool add_folder(struct jobs *j, const char *folder, struct err *err)
{
    struct dirent **names;
    int n = scandir(folder, &names, is_json, versionsort);
    if (n < 0)
        return err_set(err, STATUS_FAILED, "cannot read the folder \"%s\": %s", folder,
                       strerror(errno));
    bool ok =
        n > 0 || err_set(err, STATUS_FAILED, "the folder \"%s\" holds no records (*.json)", folder);
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
        ok = ok && add_job(j, path, false, err);
        free(names[i]);
    }
    free(names);
    return ok;
}

static bool add(struct jobs *j, const char *path, struct err *err)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return add_folder(j, path, err);
    return add_job(j, path, true, err);
}

/* Several records are slimmed as soon as they were read: thousands fit in memory then. */
static void *reader(void *arg)
{
    struct jobs *j = arg;
    for (size_t i; (i = atomic_fetch_add(&j->next, 1)) < j->n;) {
        struct job *job = &j->all[i];
        if (record_read(job->path, &job->record, &job->err) && j->n > 1)
            view_slim(job->record);
    }
    return NULL;
}

/* Parsing is all the work there is: on as many threads as there are CPUs. */
static void read_all(struct jobs *j)
{
    pthread_t threads[READERS_MAX];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t want = cpus > READERS_MAX ? READERS_MAX : cpus > 1 ? (size_t)cpus : 1, n = 0;
    if (j->n < 64)
        want = 1;
    while (n + 1 < want && pthread_create(&threads[n], NULL, reader, j) == 0)
        n++;
    reader(j);
    while (n > 0)
        pthread_join(threads[--n], NULL);
}

/* Moves what was read to the front of `records`; says what was left out. */
static bool take(struct jobs *j, json_t **records, size_t *n, struct err *err)
{
    *n = 0;
    for (size_t i = 0; i < j->n; i++) {
        struct job *job = &j->all[i];
        if (job->record) {
            records[(*n)++] = job->record;
            continue;
        }
        if (job->named) {
            *err = job->err;
            return false;
        }
        fprintf(stderr, "numaload: warning: left out: %s\n", job->err.text);
    }
    return *n > 0 || err_set(err, STATUS_FAILED, "none of the files is a record");
}

static void jobs_free(struct jobs *j)
{
    for (size_t i = 0; i < j->n; i++) {
        json_decref(j->all[i].record);
        free(j->all[i].path);
    }
    free(j->all);
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
    struct jobs jobs = {0};
    report_fn make = text;
    bool want_help = false;
    int paths;
    bool ok = options(argc, argv, &paths, &make, &want_help, &err);
    if (ok && want_help) {
        help();
        return STATUS_OK;
    }
    for (int i = 0; ok && i < paths; i++)
        ok = add(&jobs, argv[i], &err);
    size_t n;
    json_t **records = calloc(jobs.n + 1, sizeof(*records));
    if (ok && !records)
        ok = err_set(&err, STATUS_FAILED, "report: out of memory");
    if (ok) {
        read_all(&jobs);
        ok =
            take(&jobs, records, &n, &err) && make(stdout, (const json_t *const *)records, n, &err);
    }
    if (!ok)
        fprintf(stderr, "numaload: error: %s\n", err.text);
    free(records);
    jobs_free(&jobs);
    return ok ? STATUS_OK : (int)err.status;
}
