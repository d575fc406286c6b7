#define _GNU_SOURCE
#include "folder.h"

#include "../record/record.h"
#include "view.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READERS_MAX 16
#define PLAN "plan.json"

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
    return d->d_name[0] != '.' && len > 5 && strcmp(d->d_name + len - 5, ".json") == 0 &&
           strcmp(d->d_name, PLAN) != 0;
}

/* A plan that cannot be read is named; the records still say which cell they are of. */
static void read_plan(struct folder *f, const char *folder)
{
    char path[PATH_MAX];
    json_error_t e;
    snprintf(path, sizeof(path), "%s/" PLAN, folder);
    if (f->plan || access(path, F_OK))
        return;
    json_t *plan = json_load_file(path, JSON_REJECT_DUPLICATES, &e);
    const char *schema = json_string_value(json_object_get(plan, "schema"));
    json_int_t version = json_integer_value(json_object_get(plan, "schema_version"));
    if (schema && strcmp(schema, "numaload-plan") == 0 && version == 1) {
        f->plan = plan;
        return;
    }
    if (!plan)
        fprintf(stderr, "numaload: warning: left out: \"%s\" is not JSON: line %d: %s\n", path,
                e.line, e.text);
    else
        fprintf(stderr,
                "numaload: warning: left out: \"%s\" is not a plan that this program reads: "
                "schema %.60s, version %lld\n",
                path, schema ? schema : "missing", (long long)version);
    json_decref(plan);
}

static bool add_folder(struct folder *f, struct jobs *j, const char *folder, struct err *err)
{
    f->folders++;
    read_plan(f, folder);
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

static bool add(struct folder *f, struct jobs *j, const char *path, struct err *err)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return add_folder(f, j, path, err);
    return add_job(j, path, true, err);
}

/* Several records are slimmed as soon as they were read: thousands fit in memory then. */
static void *reader(void *arg)
{
    struct jobs *j = arg;
    for (size_t i; (i = atomic_fetch_add(&j->next, 1)) < j->n;) {
        struct job *job = &j->all[i];
        if (record_read_part(job->path, j->n > 1 ? view_parts : NULL, &job->record, &job->err) &&
            j->n > 1)
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

/* Moves what was read to the front of f->records; says what was left out. */
static bool take(struct folder *f, struct jobs *j, struct err *err)
{
    for (size_t i = 0; i < j->n; i++) {
        struct job *job = &j->all[i];
        if (job->record) {
            f->records[f->n++] = job->record;
            job->record = NULL;
            continue;
        }
        if (job->named) {
            *err = job->err;
            return false;
        }
        fprintf(stderr, "numaload: warning: left out: %s\n", job->err.text);
    }
    return f->n > 0 || err_set(err, STATUS_FAILED, "none of the files is a record");
}

static void jobs_free(struct jobs *j)
{
    for (size_t i = 0; i < j->n; i++) {
        json_decref(j->all[i].record);
        free(j->all[i].path);
    }
    free(j->all);
}

bool folder_read(struct folder *f, const char *const *paths, size_t paths_n, struct err *err)
{
    struct jobs jobs = {0};
    bool ok = true;
    *f = (struct folder){0};
    for (size_t i = 0; ok && i < paths_n; i++)
        ok = add(f, &jobs, paths[i], err);
    f->records = ok ? calloc(jobs.n + 1, sizeof(*f->records)) : NULL;
    if (ok && !f->records)
        ok = err_set(err, STATUS_FAILED, "report: out of memory");
    if (ok) {
        read_all(&jobs);
        ok = take(f, &jobs, err);
    }
    jobs_free(&jobs);
    return ok;
}

void folder_free(struct folder *f)
{
    for (size_t i = 0; i < f->n; i++)
        json_decref((json_t *)f->records[i]);
    free(f->records);
    json_decref(f->plan);
    *f = (struct folder){0};
}
