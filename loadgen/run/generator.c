#include "generator.h"

#include "../profile.h"
#include "../record/derived.h"
#include "../record/notes.h"

#include <stdio.h>

#define LEAST_OF_WINDOW 0.05
#define LEAST_OF_WANTED 0.20
#define LEAST_OF_LATENCY 0.20

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static bool note_cpus(const json_t *window, json_t *notes)
{
    const json_t *sched = json_object_get(window, "sched");
    double run = number(sched, "run_ns"), wait = number(sched, "wait_ns");
    double all = number(sched, "threads") * derived_span_ns(window, "sched");
    double involuntary = number(sched, "involuntary_switches");
    double turns = number(sched, "voluntary_switches") + involuntary;
    char each[96] = "";
    if (all <= 0 || wait < LEAST_OF_WINDOW * all || wait < LEAST_OF_WANTED * (run + wait))
        return false;
    if (turns > 0) {
        char delay[32];
        format_time((uint64_t)(wait / turns) / 1000 * 1000, delay, sizeof(delay));
        snprintf(each, sizeof(each), ", %s each time (%.0f involuntary switches)", delay,
                 involuntary);
    }
    note_add(notes, NOTE_WARNING, "generator",
             "the generator was short of CPUs, so the limit may not be the server: its threads "
             "wanted to run %.0f %% of the time and waited for a CPU in %.0f %% of that%s; "
             "completions lay unreaped meanwhile. Fewer threads, more CPUs, or nothing else "
             "beside it",
             100 * (run + wait) / all, 100 * wait / (run + wait), each);
    return true;
}

static void note_unreaped(const json_t *window, json_t *notes)
{
    const json_t *o = json_object_get(window, "submission");
    double requests = number(o, "requests"), unreaped = number(o, "unreaped_ns");
    double mean = number(json_object_get(window, "latency"), "mean_ns");
    char held[32], latency[32];
    if (requests <= 0 || mean <= 0 || unreaped / requests < LEAST_OF_LATENCY * mean)
        return;
    double bound = unreaped / requests < mean ? unreaped / requests : mean;
    format_time((uint64_t)bound, held, sizeof(held));
    format_time((uint64_t)mean, latency, sizeof(latency));
    note_add(notes, NOTE_WARNING, "generator",
             "the generator was part of the limit: of a mean latency of %s a completion may have "
             "waited up to %s for its thread, which was busy submitting (on some file systems the "
             "submit does the I/O itself). More threads, or a smaller batch or iodepth, tell them "
             "apart",
             latency, held);
}

void generator_note(const json_t *window, json_t *notes)
{
    if (!note_cpus(window, notes))
        note_unreaped(window, notes);
}
