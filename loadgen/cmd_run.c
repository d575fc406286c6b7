#include "cmd_run.h"
#include "args.h"
#include "cmd.h"
#include "front.h"
#include "label.h"
#include "record/notes.h"
#include "record/record.h"
#include "report/report.h"
#include "run/end_signals.h"
#include "run/live.h"
#include "run/run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void help(void)
{
    puts("usage: numaload run [PROFILE] [--key value ...]\n\n"
         "Reads a file with O_DIRECT under a placement and prints, for each window,\n"
         "throughput, latency and what the kernel counted in the same window.\n"
         "PROFILE is an INI file with the same keys; options override it.\n");
    profile_help(stdout);
    puts("\nSizes take K M G T (powers of 2), times ns us ms s m.\n"
         "Exit status: 0 done; 1 failed; 2 usage; 3 measured but invalid (placement not\n"
         "reached, window disturbed or cut short); 77 this machine or build lacks what\n"
         "was asked for.");
}

static void fail(json_t *record, enum status status, const char *source, const char *text)
{
    note_add(json_object_get(record, "notes"), NOTE_ERROR, source, "%s", text);
    json_object_set_new(record, "status", json_string("failed"));
    json_object_set_new(record, "exit_status", json_integer(status));
}

static void say_notes(const json_t *notes, const char *prefix)
{
    size_t i;
    json_t *n;
    json_array_foreach(notes, i, n)
    {
        const char *level = json_string_value(json_object_get(n, "level"));
        if (level && strcmp(level, "info") != 0)
            live_say("%s%s: %s", prefix, level, json_string_value(json_object_get(n, "text")));
    }
}

/* With the table on stdout its own notes are enough; --json leaves people only stderr. */
static void say_all_notes(const json_t *record)
{
    size_t i;
    json_t *w;
    say_notes(json_object_get(record, "notes"), "");
    json_array_foreach(json_object_get(record, "windows"), i, w)
    {
        char prefix[32];
        snprintf(prefix, sizeof(prefix), "window %zu: ", i + 1);
        say_notes(json_object_get(w, "notes"), prefix);
    }
}

/* What ends a run early is the run's until its record is on the disk. */
static void hold_signals(sigset_t *held, sigset_t *before)
{
    end_signals(held);
    pthread_sigmask(SIG_BLOCK, held, before);
}

/* One that came too late to shorten anything must not kill the process now. */
static void release_signals(const sigset_t *held, const sigset_t *before)
{
    while (sigtimedwait(held, NULL, &(struct timespec){0}) > 0)
        ;
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static enum status save(json_t *record, const struct profile *p, enum status status)
{
    struct err err = {0};
    if (!p->record || !json_object_get(record, "profile") || record_write(record, p->record, &err))
        return status;
    live_say("error: %s", err.text);
    fail(record, STATUS_FAILED, "record", err.text);
    return STATUS_FAILED;
}

static int output(json_t *record, const struct profile *p, enum status status)
{
    struct err err = {0};
    bool measured = json_array_size(json_object_get(record, "windows")) > 0;
    if (p->json || !measured)
        say_all_notes(record);
    bool ok = true;
    if (p->json)
        ok = record_print(record, &err);
    else if (measured)
        ok = report_run_text(stdout, record, &err);
    if (ok)
        return (int)status;
    live_say("error: %s", err.text);
    clearerr(stdout);
    return status == STATUS_OK ? STATUS_FAILED : (int)status;
}

int run_and_report(struct profile *p, json_t **record)
{
    json_t *r = record_new();
    if (!r) {
        live_say("error: out of memory");
        return STATUS_FAILED;
    }
    if (strcmp(p->engine, "sync") == 0)
        p->iodepth = 1;
    json_object_set_new(r, "profile", profile_json(p));
    label_set(r, p);
    sigset_t held, before;
    hold_signals(&held, &before);
    enum status status = save(r, p, run_execute(p, r));
    release_signals(&held, &before);
    int shown = output(r, p, status);
    if (record)
        *record = r;
    else
        json_decref(r);
    return shown;
}

int run_refused(bool json, const struct err *err)
{
    const struct profile p = {.json = json};
    json_t *record = record_new();
    fail(record, err->status, "usage", err->text);
    int status = output(record, &p, err->status);
    json_decref(record);
    return status;
}

static int run(int argc, char **argv)
{
    struct profile p;
    struct err err = {0};
    bool want_help = false;
    int status = STATUS_OK;
    if (!profile_init(&p, &err)) {
        live_say("error: out of memory");
        return STATUS_FAILED;
    }
    if (!args_read(&p, argc, argv, NULL, &want_help, &err) ||
        (!want_help && !profile_check(&p, &err))) {
        status = run_refused(p.json || args_want_json(argc, argv), &err);
    } else if (want_help) {
        help();
    } else {
        status = run_and_report(&p, NULL);
    }
    profile_free(&p);
    return status;
}

int cmd_run(int argc, char **argv)
{
    return front_run(run, argc, argv);
}
