#define _GNU_SOURCE
#include "runner.h"

#include "child.h"
#include "remount.h"
#include "settle.h"
#include "stats.h"

#include "../label.h"
#include "../record/notes.h"
#include "../record/record.h"
#include "../report/view.h"
#include "../run/end_signals.h"
#include "../run/live.h"
#include "../run/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
#define POLL_NS (SECOND / 4)
/* Runs in a row that fail before the matrix stops: what broke is not the cell. */
#define FAILURES_IN_A_ROW 3

struct runner {
    const struct plan *plan;
    struct series *series;
    cell_profile *make;
    void *arg;
    struct err *err;
    sigset_t signals;
    unsigned interrupts;
    unsigned failed_in_a_row;
    unsigned gaps;
    bool first; /* no run yet in this process */
    unsigned last_block;
    uint64_t spent_ns, planned_ns; /* of the runs of this process: what they took, and should */
    json_t *settle;                /* of the run to come */
};

/* What became of one attempt. */
enum outcome { RUN_VALID, RUN_INVALID, RUN_FAILED, RUN_HOPELESS, RUN_INTERRUPTED, RUN_STOP };

/* ---- signals and waiting ---- */

/* Waits for a signal, up to ns; true when the user wants an end. */
static bool interrupted_within(struct runner *r, uint64_t ns)
{
    struct timespec ts = {.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};
    int sig = sigtimedwait(&r->signals, NULL, &ts);
    bool end = sig > 0 && sig != SIGCHLD;
    r->interrupts += end;
    return end;
}

static bool wait_ns(void *arg, uint64_t ns)
{
    struct runner *r = arg;
    uint64_t until = now_ns() + ns;
    for (uint64_t now; (now = now_ns()) < until;)
        if (interrupted_within(r, until - now) || r->interrupts)
            return false;
    return r->interrupts == 0;
}

static void wait_for_child(struct runner *r, struct child *c, struct child_end *end)
{
    bool hangs;
    while (!child_ended(c, &hangs))
        if (interrupted_within(r, POLL_NS) && !child_ended(c, &hangs))
            kill(c->pid, SIGINT);
    child_reap(c, hangs, end);
}

/* ---- time ---- */

uint64_t run_planned_ns(const struct profile *p)
{
    return p->ramp_ns + p->windows * p->window_ns;
}

/* Between runs: the pause, and a second in which the machine is looked at. */
static uint64_t between_ns(const struct plan *plan)
{
    return plan->settings->pause_ns + (plan->settings->settle_max_ns ? SECOND : 0);
}

static bool planned_of(const struct plan *plan, cell_profile *make, void *arg, unsigned cell,
                       uint64_t *ns, struct err *err)
{
    struct profile p;
    bool good = make(arg, cell, &p, err);
    *ns = good ? run_planned_ns(&p) + between_ns(plan) : 0;
    profile_free(&p);
    return good;
}

bool matrix_planned_ns(const struct plan *plan, const struct series *s, cell_profile *make,
                       void *arg, uint64_t *ns, struct err *err)
{
    uint64_t *each = calloc(plan->cells.n, sizeof(*each));
    bool good = each != NULL || err_set(err, STATUS_FAILED, "out of memory");
    *ns = 0;
    for (unsigned c = 0; good && c < plan->cells.n; c++)
        good = planned_of(plan, make, arg, c, &each[c], err);
    for (unsigned i = 0; good && i < plan->runs_n; i++)
        if (!plan->runs[i].optional && !(s && s->runs[i].counted))
            *ns += each[plan->runs[i].cell];
    if (good && !(s && s->counted))
        *ns += plan->settings->warmup * plan->settings->boots * each[plan->baseline];
    free(each);
    return good;
}

const char *format_about(uint64_t ns, char *buf, size_t cap)
{
    double s = (double)ns / 1e9;
    if (s < 100)
        snprintf(buf, cap, "%.0f s", s);
    else if (s < 100 * 60)
        snprintf(buf, cap, "%.0f min", s / 60);
    else
        snprintf(buf, cap, "%.1f h", s / 3600);
    return buf;
}

static uint64_t time_left(const struct runner *r)
{
    uint64_t ns = 0;
    struct err ignored;
    matrix_planned_ns(r->plan, r->series, r->make, r->arg, &ns, &ignored);
    /* Set-up and settling cost what they have cost so far. */
    return r->planned_ns ? (uint64_t)((double)ns * (double)r->spent_ns / (double)r->planned_ns)
                         : ns;
}

/* ---- figures ---- */

double matrix_median(const struct plan *plan, const struct series *s, unsigned cell, unsigned *n)
{
    double *values = malloc(plan->repeats_max * sizeof(*values)), median = 0;
    *n = 0;
    for (unsigned i = 0; values && i < plan->runs_n; i++)
        if (plan->runs[i].cell == cell && s->runs[i].counted)
            values[(*n)++] = s->runs[i].bytes_per_s;
    if (*n)
        median = stats_median(values, *n);
    free(values);
    return median;
}

static const char *first_complaint(const json_t *record)
{
    static const char *const levels[] = {"error", "invalid", "warning"};
    for (int l = 0; l < 3; l++) {
        size_t i, k;
        json_t *n, *w;
        json_array_foreach(json_object_get(record, "notes"), i, n)
        {
            if (strcmp(view_text(n, "level", ""), levels[l]) == 0)
                return view_text(n, "text", "");
        }
        json_array_foreach(json_object_get(record, "windows"), k, w)
        {
            json_array_foreach(json_object_get(w, "notes"), i, n)
            {
                if (strcmp(view_text(n, "level", ""), levels[l]) == 0)
                    return view_text(n, "text", "");
            }
        }
    }
    return "no reason is recorded";
}

/* ---- before a run ---- */

static json_t *settle_json(const struct settle_seen *seen, const struct quiet *level)
{
    return json_pack("{s:b, s:I, s:f, s:f, s:f, s:f}", "settled", (int)seen->back, "waited_ns",
                     (json_int_t)seen->waited_ns, "idle_percent", seen->now.idle_percent,
                     "interrupts_per_s", seen->now.interrupts_per_s, "level_idle_percent",
                     level->idle_percent, "level_interrupts_per_s", level->interrupts_per_s);
}

static bool look(void *arg, struct quiet *q)
{
    return settle_look(q, wait_ns, arg);
}

static uint64_t clock_ns(void *arg)
{
    (void)arg;
    return now_ns();
}

static void still_waiting(void *arg, const struct quiet *now, const struct quiet *level)
{
    (void)arg;
    live_line("waiting for the machine to settle: %.0f %% idle (was %.0f), %.0f interrupts/s (was "
              "%.0f)",
              now->idle_percent, level->idle_percent, now->interrupts_per_s,
              level->interrupts_per_s);
}

/* Waits until the machine is back at its level; the first call of a boot takes the level. */
static bool settle(struct runner *r)
{
    const struct matrix_settings *set = r->plan->settings;
    struct boot_seen *boot = series_boot(r->series);
    const struct settle_rule rule = {(double)set->settle_idle_points,
                                     (double)set->settle_interrupts_percent};
    const struct settle_with with = {look, clock_ns, still_waiting, r};
    struct quiet level = {boot->idle_percent, boot->interrupts_per_s};
    struct settle_seen seen;
    json_decref(r->settle);
    r->settle = json_null();
    if (set->settle_max_ns == 0)
        return true;
    if (!settle_until(&level, &boot->settled, &rule, set->settle_max_ns, &with, &seen))
        return r->interrupts == 0; /* /proc/stat is not there: no rule */
    boot->idle_percent = level.idle_percent;
    boot->interrupts_per_s = level.interrupts_per_s;
    if (!seen.back)
        live_say("the machine did not settle within settle-max: %.0f %% idle (was %.0f), %.0f "
                 "interrupts/s (was %.0f)",
                 seen.now.idle_percent, level.idle_percent, seen.now.interrupts_per_s,
                 level.interrupts_per_s);
    r->settle = settle_json(&seen, &level);
    return true;
}

static bool block_begun(const struct runner *r, unsigned block)
{
    for (unsigned i = 0; i < r->plan->runs_n; i++)
        if (r->plan->runs[i].block == block && r->series->runs[i].counted)
            return true;
    return false;
}

static bool remount_due(const struct runner *r, const struct planned_run *run)
{
    const char *word = r->plan->settings->remount;
    if (strcmp(word, "cell") == 0)
        return true;
    if (strcmp(word, "block") != 0 || run->block == r->last_block)
        return false;
    /* A block that an earlier process began goes on on its mount. */
    return !r->first || !block_begun(r, run->block);
}

static bool remount(struct runner *r, unsigned cell)
{
    struct profile p;
    bool good = r->make(r->arg, cell, &p, r->err);
    live_line("mounting anew");
    good = good && remount_nfs(profile_path(&p), r->err) &&
           series_log(r->series, r->err, "mounted anew for %s", profile_path(&p));
    live_clear();
    profile_free(&p);
    return good;
}

/* ---- one attempt ---- */

static json_t *place_of(const struct runner *r, const struct planned_run *run, unsigned attempt,
                        double mounted_at)
{
    const struct cells *c = &r->plan->cells;
    json_t *cell = selection_json(c, &c->cells[run->cell]);
    json_t *m = json_pack("{s:s, s:o, s:i, s:i, s:i, s:i, s:i, s:b, s:i, s:i}", "series",
                          r->series->id, "cell", cell, "run", (int)run->run, "attempt",
                          (int)attempt, "repeat", (int)run->repeat, "block", (int)run->block,
                          "order", (int)run->order, "warmup", (int)(run->run == 0), "boot",
                          (int)r->series->boot, "mount", (int)r->series->mount);
    json_object_set_new(m, "mounted_at_s", mounted_at < 0 ? json_null() : json_real(mounted_at));
    json_object_set(m, "settle", r->settle ? r->settle : json_null());
    return m;
}

/* The record that a run which died could not write itself. */
static json_t *obituary(const struct profile *p, json_t *place, const struct child_end *end)
{
    json_t *record = record_new();
    json_object_set_new(record, "profile", profile_json(p));
    label_set(record, p);
    json_object_set(record, "matrix", place);
    json_object_set_new(record, "status", json_string("failed"));
    json_object_set_new(record, "exit_status", json_integer(end->status));
    note_add(json_object_get(record, "notes"), NOTE_ERROR, "matrix", "%s",
             end->why[0] ? end->why : "the run ended without a record");
    return record;
}

static enum outcome judge(struct runner *r, const json_t *record, const struct child_end *end)
{
    const char *status = view_text(record, "status", "");
    if (strcmp(status, "valid") == 0)
        return RUN_VALID;
    if (r->interrupts)
        return RUN_INTERRUPTED;
    if (strcmp(status, "failed") != 0)
        return RUN_INVALID;
    return end->status == STATUS_USAGE || end->status == STATUS_SKIP ? RUN_HOPELESS : RUN_FAILED;
}

static void say_outcome(struct runner *r, const struct planned_run *run, const json_t *record,
                        enum outcome o)
{
    char name[32] = "warm-up";
    double rate = 0;
    unsigned n = 0;
    if (run->run)
        snprintf(name, sizeof(name), "run %u", run->run);
    view_number(view_median_window(record, NULL), "throughput.bytes_per_s", &rate);
    if (o != RUN_VALID) {
        live_say("%s is %s, kept and not counted: %s", name, view_text(record, "status", ""),
                 first_complaint(record));
        return;
    }
    double median = matrix_median(r->plan, r->series, run->cell, &n);
    if (n > 1)
        live_say("%s: %.3g GB/s; median of this cell's %u: %.3g", name, rate / 1e9, n,
                 median / 1e9);
    else
        live_say("%s: %.3g GB/s", name, rate / 1e9);
}

static enum outcome stop_for(struct runner *r, const char *why)
{
    err_set(r->err, STATUS_FAILED,
            "%s; the records in \"%s\" are safe: mend that and run the same command", why,
            r->series->folder);
    return RUN_STOP;
}

/* Takes what the child left behind into the series. */
static enum outcome take(struct runner *r, const struct planned_run *run, const struct profile *p,
                         json_t *place, const char *file, const struct child_end *end)
{
    json_t *record = NULL;
    struct err e = {0};
    bool full = end->full;
    if (!end->recorded && end->status < 128)
        return stop_for(r, end->why);
    if (access(file, F_OK) != 0) {
        if (r->interrupts > 1)
            return RUN_INTERRUPTED;
        record = obituary(p, place, end);
        if (!series_write(r->series->folder, record, file, &full, &e)) {
            json_decref(record);
            return stop_for(r, e.text);
        }
    } else if (!record_read(file, &record, &e)) {
        return stop_for(r, e.text);
    }
    enum outcome o = judge(r, record, end);
    if (!series_take(r->series, record, r->plan, r->err))
        o = RUN_STOP;
    else if (!series_log(r->series, r->err, "%s: %s%s%s", strrchr(file, '/') + 1,
                         view_text(record, "status", ""), o == RUN_VALID ? "" : ": ",
                         o == RUN_VALID ? "" : first_complaint(record)))
        o = RUN_STOP;
    else
        say_outcome(r, run, record, o);
    json_decref(record);
    if (end->hangs && o != RUN_STOP)
        return stop_for(r, "the server does not answer: requests of the last run hang, and its "
                           "process stays behind until they come back");
    if (full && o != RUN_STOP)
        return stop_for(r, "the disk is full: only the reserve had room for the last record");
    return o;
}

static enum outcome attempt(struct runner *r, const struct planned_run *run, unsigned number)
{
    struct profile p;
    struct child child;
    struct child_end end;
    char file[PATH_MAX + 64];
    enum outcome o = RUN_STOP;
    json_t *place = NULL;
    if (!r->make(r->arg, run->cell, &p, r->err))
        goto out;
    series_look_at_mount(r->series, profile_path(&p));
    place = place_of(r, run, number, series_mounted_at(r->series));
    series_record_path(r->series, run->run, r->series->boot, number, file, sizeof(file));
    uint64_t began = now_ns();
    if (!child_start(&child, &p, place, r->series->folder, file, r->err))
        goto out;
    wait_for_child(r, &child, &end);
    o = take(r, run, &p, place, file, &end);
    if (o == RUN_VALID) {
        r->planned_ns += run_planned_ns(&p);
        r->spent_ns += now_ns() - began;
    }
out:
    json_decref(place);
    profile_free(&p);
    return o;
}

/* ---- one run, with what comes before it ---- */

static void announce(struct runner *r, const struct planned_run *run)
{
    char cell[512], left[32];
    cell_text(&r->plan->cells, run->cell, cell, sizeof(cell));
    format_about(time_left(r), left, sizeof(left));
    if (run->run == 0)
        live_say("warm-up: %s; about %s in all", cell, left);
    else
        live_say("run %u of %u: %s; about %s left", run->run,
                 run->optional ? r->plan->runs_n
                               : (unsigned)r->plan->settings->repeats * r->plan->cells.n,
                 cell, left);
}

static enum outcome run_one(struct runner *r, const struct planned_run *run)
{
    enum outcome o = RUN_STOP;
    if (r->interrupts || (!r->first && !wait_ns(r, r->plan->settings->pause_ns)))
        return RUN_INTERRUPTED;
    if (run->run && remount_due(r, run) && !remount(r, run->cell))
        return RUN_STOP;
    r->last_block = run->block;
    for (unsigned try = 0; try < r->plan->settings->tries; try++) {
        if (!settle(r))
            return RUN_INTERRUPTED;
        if (try == 0)
            announce(r, run);
        unsigned done = run->run ? r->series->runs[run->run - 1].attempts
                                 : series_boot(r->series)->warmup_records;
        if (!series_log(r->series, r->err, "%s %u begins, attempt %u", run->run ? "run" : "warm-up",
                        run->run, done + 1))
            return RUN_STOP;
        o = attempt(r, run, done + 1);
        r->first = false;
        if (o != RUN_INVALID && o != RUN_FAILED)
            break;
        if (run->run == 0) /* nobody counts a warm-up */
            break;
    }
    return o;
}

static enum matrix_end end_of(struct runner *r, enum outcome o)
{
    if (o == RUN_INTERRUPTED || r->interrupts) {
        series_log(r->series, NULL, "interrupted");
        return MATRIX_INTERRUPTED;
    }
    series_log(r->series, NULL, "stopped: %s", r->err->text);
    return MATRIX_STOPPED;
}

static bool goes_on(struct runner *r, const struct planned_run *run, enum outcome o)
{
    if (o == RUN_STOP || o == RUN_INTERRUPTED)
        return false;
    bool failed = o == RUN_FAILED || o == RUN_HOPELESS;
    r->failed_in_a_row = failed ? r->failed_in_a_row + 1 : 0;
    if (o != RUN_VALID && run->run)
        r->gaps++;
    if (failed && run->run == 0)
        return err_set(r->err, STATUS_FAILED,
                       "the warm-up failed, so would the runs; its record is in \"%s\"",
                       r->series->folder);
    if (r->failed_in_a_row == FAILURES_IN_A_ROW)
        return err_set(r->err, STATUS_FAILED,
                       "%d runs in a row failed; mend what they complain of and run the same "
                       "command: only what is missing is run",
                       FAILURES_IN_A_ROW);
    return true;
}

/* Whether every comparison with the baseline is as narrow as was asked for. */
static bool precise(const struct runner *r)
{
    const struct plan *plan = r->plan;
    struct stats_run *runs = malloc(plan->runs_n * sizeof(*runs));
    size_t n = 0;
    bool narrow = runs && plan->precision > 0;
    for (unsigned i = 0; runs && i < plan->runs_n; i++) {
        const struct run_seen *seen = &r->series->runs[i];
        if (seen->counted)
            runs[n++] = (struct stats_run){.value = seen->bytes_per_s,
                                           .cell = plan->runs[i].cell,
                                           .boot = (long)seen->boot,
                                           .mount = (long)seen->mount,
                                           .block = (long)plan->runs[i].block};
    }
    for (unsigned c = 0; narrow && c < plan->cells.n; c++) {
        struct stats_pair pair = {c, plan->baseline};
        struct stats_comparison got;
        if (c == plan->baseline)
            continue;
        narrow = stats_compare(runs, n, &pair, 1, plan->seed, &got) &&
                 stats_half_width(&got) <= plan->precision;
    }
    free(runs);
    return narrow;
}

static bool warm_up(struct runner *r, enum outcome *o)
{
    struct planned_run run = {.cell = r->plan->baseline};
    while (series_boot(r->series)->warmups < r->plan->settings->warmup) {
        *o = run_one(r, &run);
        if (!goes_on(r, &run, *o))
            return false;
    }
    return true;
}

static enum matrix_end go_through(struct runner *r)
{
    enum outcome o = RUN_VALID;
    for (unsigned i = 0; i < r->plan->runs_n; i++) {
        const struct planned_run *run = &r->plan->runs[i];
        if (r->series->runs[i].counted)
            continue;
        if (run->optional && run->order == 1 && precise(r))
            break;
        const struct boot_seen *boot = series_boot(r->series);
        if (boot->share && boot->share < run->boot)
            return MATRIX_REBOOT;
        if (!warm_up(r, &o))
            return end_of(r, o);
        o = run_one(r, run);
        if (!goes_on(r, run, o))
            return end_of(r, o);
    }
    return r->gaps ? MATRIX_GAPS : MATRIX_DONE;
}

enum matrix_end matrix_run(const struct plan *plan, struct series *s, cell_profile *make, void *arg,
                           struct err *err)
{
    struct runner r = {
        .plan = plan, .series = s, .make = make, .arg = arg, .err = err, .first = true};
    sigset_t old;
    bool mounted;
    if (!remount_restore(REMOUNT_JOURNAL, &mounted, err))
        return MATRIX_STOPPED;
    if (mounted)
        live_say("mounted what a killed remount had left unmounted");
    end_signals(&r.signals);
    sigaddset(&r.signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &r.signals, &old);
    enum matrix_end end = go_through(&r);
    live_clear();
    json_decref(r.settle);
    while (sigtimedwait(&r.signals, NULL, &(struct timespec){0}) > 0)
        ;
    sigprocmask(SIG_SETMASK, &old, NULL);
    return end;
}
