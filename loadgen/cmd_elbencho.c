#define _GNU_SOURCE
#include "args.h"
#include "cmd.h"
#include "cmd_run.h"
#include "elbencho.h"
#include "front.h"
#include "report/report.h"
#include "run/expand.h"
#include "run/live.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const phase_names[] = {[ELBENCHO_READ] = "read", [ELBENCHO_WRITE] = "write"};

static bool make_dir(const char *dir, uint64_t thread, void *arg)
{
    (void)thread;
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", dir);
    for (char *p = path + 1;; p++) {
        if (*p && *p != '/')
            continue;
        char c = *p;
        *p = '\0';
        if (mkdir(path, 0777) && errno != EEXIST)
            return err_set(arg, STATUS_FAILED, "%s: %s", path, strerror(errno));
        *p = c;
        if (!c)
            return true;
    }
}

struct counted {
    uint64_t files, bytes;
};

static bool count_one(const char *path, void *arg)
{
    struct counted *c = arg;
    struct stat st;
    c->files++;
    if (stat(path, &st))
        return true; /* not there yet */
    uint64_t bytes = (uint64_t)st.st_size;
    int fd = S_ISBLK(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0 && ioctl(fd, BLKGETSIZE64, &bytes))
        bytes = 0;
    if (fd >= 0)
        close(fd);
    c->bytes += bytes;
    return true;
}

/* Files, and bytes when size says how long they are. */
static bool dry_run(const struct elbencho *e, const struct profile *p, int kind, struct err *err)
{
    struct counted all = {0};
    char size[32];
    for (char **path = p->paths; *path; path++)
        if (!expand_files(*path, count_one, &all, err))
            return false;
    uint64_t files = all.files, bytes = p->size_bytes ? files * p->size_bytes : all.bytes;
    uint64_t ios = (bytes + p->block_bytes - 1) / p->block_bytes;
    printf("%s: %" PRIu64 " %s, %" PRIu64 " bytes (%s), %" PRIu64 " I/Os, %" PRIu64 " threads\n",
           phase_names[kind], files,
           elbencho_is_dir(e) ? "files in directories" : "files or devices", bytes,
           format_size(bytes, size, sizeof(size)), ios, p->threads);
    return true;
}

static void show_elapsed(const json_t *window)
{
    size_t i;
    json_t *ns;
    puts("when each thread was done");
    json_array_foreach(json_object_get(json_object_get(window, "amount"), "thread_done_ns"), i, ns)
    {
        if (json_is_integer(ns))
            printf("  thread %-6zu %10.3f s\n", i, (double)json_integer_value(ns) / 1e9);
        else
            printf("  thread %-6zu   not done\n", i);
    }
}

static void show_histogram(const json_t *window)
{
    size_t i;
    json_t *o;
    char text[32];
    puts("latency histogram");
    json_array_foreach(json_object_get(json_object_get(window, "latency"), "octaves"), i, o)
    {
        printf("  below %-10s %12" JSON_INTEGER_FORMAT "\n",
               format_time((uint64_t)json_integer_value(json_object_get(o, "below_ns")), text,
                           sizeof(text)),
               json_integer_value(json_object_get(o, "ios")));
    }
}

static bool append_csv(const char *file, const json_t *record, struct err *err)
{
    char *text = NULL;
    size_t len = 0;
    FILE *mem = open_memstream(&text, &len);
    bool ok = mem && report_csv(mem, &record, 1, err);
    if (mem)
        fclose(mem);
    FILE *out = ok ? fopen(file, "ae") : NULL;
    if (ok && out) {
        /* The line of names only in front of the first. */
        const char *from = ftell(out) > 0 ? strchr(text, '\n') + 1 : text;
        fputs(from, out);
        ok = fflush(out) == 0 && fsync(fileno(out)) == 0;
    }
    if (ok && !out)
        ok = false;
    if (!ok && !err->text[0])
        err_set(err, STATUS_FAILED, "cannot write the results to \"%s\": %s", file,
                strerror(errno));
    if (out && fclose(out) && ok)
        ok = err_set(err, STATUS_FAILED, "cannot write the results to \"%s\": %s", file,
                     strerror(errno));
    free(text);
    return ok;
}

/* Every phase of every iteration leaves a file of its own: "out.json" becomes out-write.json and
 * out-read.json when there are two, out-1.json and so on when they are repeated. */
static bool name_file(const struct elbencho *e, int kind, uint64_t iteration, struct profile *p,
                      const char *key, const char *file, struct err *err)
{
    char name[PATH_MAX], number[32] = "", which[16] = "";
    if (!file)
        return true;
    const char *dot = strrchr(file, '.');
    if (!dot || strchr(dot, '/'))
        dot = file + strlen(file);
    if (e->phase[!kind])
        snprintf(which, sizeof(which), "-%s", phase_names[kind]);
    if (e->iterations > 1)
        snprintf(number, sizeof(number), "-%" PRIu64, iteration + 1);
    snprintf(name, sizeof(name), "%.*s%s%s%s", (int)(dot - file), file, which, number, dot);
    return profile_set(p, profile_key(key), name, (struct origin){.cli = true}, err);
}

/* Returns the exit status; *over: no further phase shall run. */
static int phase(const struct elbencho *e, int kind, uint64_t iteration, bool *over)
{
    struct profile p;
    struct err err = {0};
    json_t *record = NULL;
    int status = STATUS_FAILED;
    if (!profile_init(&p, &err) || !elbencho_profile(e, kind, &p, &err) ||
        !name_file(e, kind, iteration, &p, "record", e->json_file, &err) ||
        !name_file(e, kind, iteration, &p, "livecsv", e->live_csv_file, &err) ||
        !profile_check(&p, &err))
        goto fail;
    if (e->mkdirs && elbencho_is_dir(e) && !e->dryrun &&
        !elbencho_each_dir(e, p.threads, make_dir, &err))
        goto fail;
    if (e->dryrun) {
        if (!dry_run(e, &p, kind, &err))
            goto fail;
        status = STATUS_OK;
        goto out;
    }
    status = run_and_report(&p, &record);
    const json_t *window = json_array_get(json_object_get(record, "windows"), 0);
    const json_t *amount = json_object_get(window, "amount");
    *over = status != STATUS_OK || (amount && !json_is_true(json_object_get(amount, "complete")));
    if (window && !p.json && e->all_elapsed)
        show_elapsed(window);
    size_t i;
    json_t *w;
    json_array_foreach(json_object_get(record, "windows"), i, w)
    {
        if (!p.json && e->lat_histo)
            show_histogram(w);
    }
    if (window && e->csv_file && !append_csv(e->csv_file, record, &err))
        goto fail;
    goto out;
fail:
    if (record) { /* it was printed */
        live_say("error: %s", err.text);
        status = (int)err.status;
    } else {
        status = run_refused(p.json, &err);
    }
    *over = true;
out:
    json_decref(record);
    profile_free(&p);
    return status;
}

/* -d alone. */
static int only_mkdirs(const struct elbencho *e)
{
    struct profile p;
    struct err err = {0};
    bool ok = profile_init(&p, &err) && elbencho_profile(e, ELBENCHO_READ, &p, &err) &&
              (e->dryrun || elbencho_each_dir(e, p.threads, make_dir, &err));
    if (!ok)
        live_say("error: %s", err.text);
    profile_free(&p);
    return ok ? STATUS_OK : (int)err.status;
}

static bool one_phase(const struct elbencho *e)
{
    return e->phase[ELBENCHO_READ] != e->phase[ELBENCHO_WRITE] && e->iterations == 1;
}

static int elbencho(int argc, char **argv)
{
    struct elbencho e;
    struct err err = {0};
    int status = STATUS_OK;
    bool over = false;
    bool json = args_want_json(argc, argv);
    bool ok = elbencho_read(&e, argc, argv, &err);
    if (ok && json && !e.help && (e.dryrun || !one_phase(&e)))
        ok = err_set(&err, STATUS_USAGE,
                     "--json prints one record, and %s; --jsonfile leaves a record a phase",
                     e.dryrun ? "a dry run has none" : "this is not one phase");
    if (!ok) {
        status = run_refused(json, &err);
    } else if (e.help) {
        elbencho_help(stdout);
    } else if (!e.phase[ELBENCHO_READ] && !e.phase[ELBENCHO_WRITE]) {
        status = only_mkdirs(&e);
    } else {
        for (uint64_t i = 0; i < e.iterations && !over; i++)
            for (int kind = ELBENCHO_KINDS - 1; kind >= 0 && !over; kind--)
                if (e.phase[kind])
                    status = phase(&e, kind, i, &over);
    }
    elbencho_free(&e);
    return status;
}

int cmd_elbencho(int argc, char **argv)
{
    return front_run(elbencho, argc, argv);
}
