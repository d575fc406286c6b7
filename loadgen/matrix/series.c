#define _GNU_SOURCE
#include "series.h"

#include "folder.h"

#include "../record/mountstats.h"
#include "../record/record.h"
#include "../report/view.h"
#include "../run/live.h"

#include "../../placement/sysroot.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* mountstats gives a mount's age in whole seconds: two readings can be one apart. */
#define SAME_MOUNT_S 2.0

/* ---- log and paths ---- */

bool series_log(struct series *s, struct err *err, const char *fmt, ...)
{
    char line[2048];
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    size_t n = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%SZ ", &tm);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
    va_end(ap);
    n = strlen(line);
    line[n++] = '\n';
    if (write(s->log_fd, line, n) == (ssize_t)n && fdatasync(s->log_fd) == 0)
        return true;
    return err_set(err, STATUS_FAILED,
                   "cannot write to the log in \"%s\": %s; every record up to here is safe: make "
                   "room and run the same command",
                   s->folder, strerror(errno));
}

void series_record_path(const struct series *s, unsigned run, unsigned boot, unsigned attempt,
                        char *buf, size_t cap)
{
    if (run == 0)
        snprintf(buf, cap, "%s/warmup-%u-%u.json", s->folder, boot, attempt);
    else if (attempt == 1)
        snprintf(buf, cap, "%s/run-%04u.json", s->folder, run);
    else
        snprintf(buf, cap, "%s/run-%04u-%u.json", s->folder, run, attempt);
}

/* ---- boots and mounts ---- */

static struct boot_seen *boot_of(struct series *s, const char *id, unsigned index)
{
    for (unsigned i = 0; i < s->boots_n; i++)
        if (strcmp(s->boots[i].id, id) == 0)
            return &s->boots[i];
    struct boot_seen *grown = realloc(s->boots, (s->boots_n + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    s->boots = grown;
    struct boot_seen *b = &s->boots[s->boots_n++];
    *b = (struct boot_seen){.index = index};
    snprintf(b->id, sizeof(b->id), "%s", id);
    return b;
}

static struct mount_seen *mount_of(struct series *s, unsigned boot, double at_s, unsigned index)
{
    for (unsigned i = 0; i < s->mounts_n; i++) {
        const struct mount_seen *m = &s->mounts[i];
        double apart = m->mounted_at_s - at_s;
        if (m->boot == boot && (index ? m->index == index
                                      : (m->mounted_at_s < 0 && at_s < 0) ||
                                            (apart < SAME_MOUNT_S && apart > -SAME_MOUNT_S)))
            return &s->mounts[i];
    }
    struct mount_seen *grown = realloc(s->mounts, (s->mounts_n + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    s->mounts = grown;
    struct mount_seen *m = &s->mounts[s->mounts_n++];
    *m = (struct mount_seen){.index = index, .boot = boot, .mounted_at_s = at_s};
    return m;
}

static unsigned next_index_of_boots(const struct series *s)
{
    unsigned most = 0;
    for (unsigned i = 0; i < s->boots_n; i++)
        if (s->boots[i].index > most)
            most = s->boots[i].index;
    return most + 1;
}

static unsigned next_index_of_mounts(const struct series *s)
{
    unsigned most = 0;
    for (unsigned i = 0; i < s->mounts_n; i++)
        if (s->mounts[i].index > most)
            most = s->mounts[i].index;
    return most + 1;
}

/* Seconds after boot at which the NFS mount that holds path was made; -1: it is no NFS mount. */
static double mounted_at(const char *path)
{
    char real[PATH_MAX], *text;
    struct timespec now;
    struct mount_stats *m = malloc(sizeof(*m));
    ssize_t len = sysroot_read("/proc/self/mountstats", &text);
    double at = -1;
    if (m && len >= 0 && realpath(path, real) && mountstats_find(text, (size_t)len, real, m) &&
        m->nfs && clock_gettime(CLOCK_BOOTTIME, &now) == 0)
        at = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)m->age_s;
    if (len >= 0)
        free(text);
    free(m);
    return at;
}

void series_look_at_mount(struct series *s, const char *path)
{
    struct mount_seen *m = mount_of(s, s->boot, mounted_at(path), 0);
    if (m && m->index == 0)
        m->index = next_index_of_mounts(s);
    s->mount = m ? m->index : 1;
}

double series_mounted_at(const struct series *s)
{
    for (unsigned i = 0; i < s->mounts_n; i++)
        if (s->mounts[i].index == s->mount)
            return s->mounts[i].mounted_at_s;
    return -1;
}

struct boot_seen *series_boot(struct series *s)
{
    for (unsigned i = 0; i < s->boots_n; i++)
        if (s->boots[i].index == s->boot)
            return &s->boots[i];
    return NULL; /* not before series_open is through */
}

static bool find_boot(struct series *s, struct err *err)
{
    char *text = NULL;
    ssize_t n = sysroot_read("/proc/sys/kernel/random/boot_id", &text);
    if (n >= 0)
        text[strcspn(text, "\n")] = '\0';
    struct boot_seen *b = boot_of(s, n >= 0 ? text : "unknown", 0);
    if (n >= 0)
        free(text);
    if (!b)
        return err_set(err, STATUS_FAILED, "out of memory");
    if (b->index == 0)
        b->index = next_index_of_boots(s);
    s->boot = b->index;
    return true;
}

/* ---- records ---- */

static int matrix_int(const json_t *record, const char *key)
{
    const json_t *v = json_object_get(json_object_get(record, "matrix"), key);
    json_int_t n = json_integer_value(v);
    return json_is_integer(v) && n >= 0 && n < INT_MAX ? (int)n : -1;
}

static bool belongs(const struct series *s, const json_t *record, const struct plan *plan,
                    struct err *err)
{
    const json_t *m = json_object_get(record, "matrix");
    const char *id = json_string_value(json_object_get(m, "series"));
    int run = matrix_int(record, "run");
    if (!m)
        return err_set(err, STATUS_FAILED, "it is not a record of a matrix");
    if (!id || strcmp(id, s->id) != 0)
        return err_set(err, STATUS_FAILED, "it belongs to series %s", id ? id : "(none)");
    if (run < 0 || matrix_int(record, "boot") < 1 || matrix_int(record, "mount") < 1 ||
        matrix_int(record, "attempt") < 1)
        return err_set(err, STATUS_FAILED, "its place in the matrix is not readable");
    /* A run beyond the plan was made when more repeats were asked for: it is kept as it is. */
    if (run == 0 || (unsigned)run > plan->runs_n)
        return true;
    const struct cells *c = &plan->cells;
    json_t *cell = selection_json(c, &c->cells[plan->runs[run - 1].cell]);
    bool same = json_equal(cell, json_object_get(m, "cell"));
    json_decref(cell);
    return same ||
           err_set(err, STATUS_FAILED, "it is of another cell than run %d of the plan", run);
}

static void take_boot(struct series *s, const json_t *record, unsigned share)
{
    const char *id = view_text(record, "host.boot_id", "unknown");
    struct boot_seen *b = boot_of(s, id, (unsigned)matrix_int(record, "boot"));
    const json_t *settle = view_at(record, "matrix.settle");
    double at = -1;
    if (!b)
        return;
    view_number(record, "matrix.mounted_at_s", &at);
    mount_of(s, b->index, at, (unsigned)matrix_int(record, "mount"));
    if (share > b->share)
        b->share = share;
    if (json_is_object(settle) && !b->settled)
        b->settled = view_number(settle, "level_idle_percent", &b->idle_percent) &&
                     view_number(settle, "level_interrupts_per_s", &b->interrupts_per_s);
    if (matrix_int(record, "run") == 0) {
        b->warmup_records++;
        b->warmups += strcmp(view_text(record, "status", ""), "failed") != 0;
    }
}

bool series_take(struct series *s, const json_t *record, const struct plan *plan, struct err *err)
{
    if (!belongs(s, record, plan, err))
        return false;
    unsigned run = (unsigned)matrix_int(record, "run");
    bool planned = run > 0 && run <= s->runs_n;
    const char *status = view_text(record, "status", "");
    bool valid = strcmp(status, "valid") == 0;
    take_boot(s, record, planned && valid ? plan->runs[run - 1].boot : 0);
    if (!planned)
        return true;
    struct run_seen *seen = &s->runs[run - 1];
    unsigned attempt = (unsigned)matrix_int(record, "attempt");
    if (attempt > seen->attempts)
        seen->attempts = attempt;
    if (valid && !seen->counted) {
        seen->counted = true;
        seen->boot = (unsigned)matrix_int(record, "boot");
        seen->mount = (unsigned)matrix_int(record, "mount");
        view_number(view_median_window(record, NULL), "throughput.bytes_per_s", &seen->bytes_per_s);
        s->counted++;
        s->counted_optional += plan->runs[run - 1].optional;
    }
    return true;
}

static bool set_aside(struct series *s, const char *name, const char *why, struct err *err)
{
    char to[NAME_MAX + 32];
    if (!folder_set_aside(s->folder, name, to, sizeof(to), err))
        return false;
    live_say("set aside \"%s/%s\" as %s: %s", s->folder, name, to, why);
    return series_log(s, err, "set aside %s as %s: %s", name, to, why);
}

static bool read_one(struct series *s, const char *name, const struct plan *plan, struct err *err)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct err why = {0};
    json_t *record = NULL;
    snprintf(path, sizeof(path), "%s/%s", s->folder, name);
    bool good = record_read(path, &record, &why) && series_take(s, record, plan, &why);
    json_decref(record);
    return good || set_aside(s, name, why.text, err);
}

static bool has_end(const char *name, const char *end)
{
    size_t n = strlen(name), e = strlen(end);
    return n >= e && strcmp(name + n - e, end) == 0;
}

static int wanted(const struct dirent *d)
{
    bool ours = strncmp(d->d_name, "run-", 4) == 0 || strncmp(d->d_name, "warmup-", 7) == 0;
    /* FILE.json.tmp.PID: the program was killed while it wrote. */
    return ours && (has_end(d->d_name, ".json") ||
                    (strstr(d->d_name, ".json.tmp.") && !strstr(d->d_name, ".corrupt")));
}

static bool read_records(struct series *s, const struct plan *plan, struct err *err)
{
    struct dirent **names;
    int n = scandir(s->folder, &names, wanted, versionsort);
    bool good = n >= 0;
    if (!good)
        return err_set(err, STATUS_FAILED, "cannot read \"%s\": %s", s->folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        if (good && has_end(names[i]->d_name, ".json"))
            good = read_one(s, names[i]->d_name, plan, err);
        else if (good)
            good = set_aside(s, names[i]->d_name, "the program was killed while it wrote it", err);
        free(names[i]);
    }
    free(names);
    return good;
}

/* ---- opening ---- */

static bool read_plan(const char *folder, json_t **plan, struct err *err)
{
    char path[PATH_MAX];
    json_error_t e;
    *plan = NULL;
    if (snprintf(path, sizeof(path), "%s/plan.json", folder) >= (int)sizeof(path))
        return err_set(err, STATUS_USAGE, "%s: the path is too long", folder);
    if (access(path, F_OK))
        return true;
    *plan = json_load_file(path, JSON_REJECT_DUPLICATES, &e);
    const char *schema = json_string_value(json_object_get(*plan, "schema"));
    const char *id = json_string_value(json_object_get(*plan, "series"));
    bool good = schema && strcmp(schema, "numaload-plan") == 0 && id && strlen(id) == 16 &&
                json_integer_value(json_object_get(*plan, "schema_version")) == 1;
    if (good)
        return true;
    err_set(err, STATUS_USAGE,
            "\"%s\" is not a plan that this program can read (%s); --new-series sets the folder "
            "aside and begins anew",
            path, *plan ? "its schema or version is another" : e.text);
    json_decref(*plan);
    *plan = NULL;
    return false;
}

bool series_peek(const char *folder, json_t **plan)
{
    return read_plan(folder, plan, NULL) && *plan;
}

static bool write_plan(struct series *s, json_t *plan, struct err *err)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/plan.json", s->folder);
    if (!record_write(plan, path, err))
        return false;
    json_decref(s->plan);
    s->plan = json_incref(plan);
    return true;
}

static bool begin(struct series *s, struct plan *plan, const struct profile *profile,
                  json_t *machine, struct err *err)
{
    uint64_t id, seed = plan->settings->order_seed;
    if ((!seed && !plan_draw_seed(&seed, err)) || !plan_order(plan, seed, err))
        return false;
    if (getrandom(&id, sizeof(id), 0) != sizeof(id))
        return err_set(err, STATUS_FAILED, "no random numbers: %s", strerror(errno));
    snprintf(s->id, sizeof(s->id), "%016" PRIx64, id);
    json_t *json = plan_json(plan, profile, machine, s->id);
    bool good = write_plan(s, json, err) &&
                series_log(s, err, "series %s begins: %u cells, %llu repeats, seed %llu", s->id,
                           plan->cells.n, (unsigned long long)plan->settings->repeats,
                           (unsigned long long)seed);
    json_decref(json);
    return good;
}

static bool go_on(struct series *s, struct plan *plan, const struct profile *profile,
                  json_t *machine, struct err *err)
{
    snprintf(s->id, sizeof(s->id), "%s", json_string_value(json_object_get(s->plan, "series")));
    uint64_t seed = plan->settings->order_seed;
    if (!seed)
        seed = (uint64_t)json_integer_value(json_object_get(s->plan, "seed"));
    if (!plan_order(plan, seed, err))
        return false;
    bool changed, good;
    json_t *json = plan_json(plan, profile, machine, s->id);
    json_object_set(json, "created_at", json_object_get(s->plan, "created_at"));
    good = plan_agrees(s->plan, json, &changed, err);
    if (!good) {
        struct err what = *err;
        err_set(err, STATUS_USAGE,
                "\"%s\" holds a series of something else: %s. Go on as it was, name another "
                "--folder, or begin anew with --new-series (the old one is kept)",
                s->folder, what.text);
    } else if (changed) {
        live_say("the plan in \"%s\" is changed: repeats or judgement differ from before",
                 s->folder);
        good = write_plan(s, json, err) && series_log(s, err, "plan.json is changed");
    }
    json_decref(json);
    return good && series_log(s, err, "series %s goes on", s->id);
}

bool series_open(struct series *s, const char *folder, struct plan *plan,
                 const struct profile *profile, struct err *err)
{
    *s = (struct series){.lock_fd = -1, .log_fd = -1};
    if (snprintf(s->folder, sizeof(s->folder), "%s", folder) >= (int)sizeof(s->folder) - NAME_MAX)
        return err_set(err, STATUS_USAGE, "%s: the path is too long", folder);
    if (!folder_make(folder, err) || (s->lock_fd = folder_lock(folder, err)) < 0)
        return false;
    char plan_file[PATH_MAX + 16], old[PATH_MAX];
    snprintf(plan_file, sizeof(plan_file), "%s/plan.json", folder);
    if (plan->settings->new_series && access(plan_file, F_OK) == 0) {
        if (!folder_retire(folder, old, sizeof(old), err))
            return false;
        live_say("the series that was in \"%s\" is now in \"%s\"", folder, old);
        close(s->lock_fd);
        if (!folder_make(folder, err) || (s->lock_fd = folder_lock(folder, err)) < 0)
            return false;
    }
    if (!folder_reserve(folder, err) || (s->log_fd = folder_log(folder, err)) < 0 ||
        !read_plan(folder, &s->plan, err))
        return false;
    json_t *machine = plan_machine();
    bool good =
        s->plan ? go_on(s, plan, profile, machine, err) : begin(s, plan, profile, machine, err);
    json_decref(machine);
    if (!good)
        return false;
    s->runs_n = plan->runs_n;
    s->runs = calloc(s->runs_n, sizeof(*s->runs));
    if (!s->runs)
        return err_set(err, STATUS_FAILED, "out of memory");
    return read_records(s, plan, err) && find_boot(s, err);
}

void series_close(struct series *s)
{
    json_decref(s->plan);
    free(s->runs);
    free(s->boots);
    free(s->mounts);
    if (s->log_fd >= 0)
        close(s->log_fd);
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    *s = (struct series){.lock_fd = -1, .log_fd = -1};
}

bool series_write(const char *folder, const json_t *record, const char *file, bool *full,
                  struct err *err)
{
    *full = false;
    if (record_write(record, file, err))
        return true;
    *full = true;
    folder_release(folder);
    return record_write(record, file, err);
}
