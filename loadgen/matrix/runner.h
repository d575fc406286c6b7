/* Runs what a series lacks: warm-ups, remounts, pauses, runs and their further tries. */
#ifndef NUMALOAD_MATRIX_RUNNER_H
#define NUMALOAD_MATRIX_RUNNER_H

#include "series.h"

enum matrix_end {
    MATRIX_DONE,        /* every run that is wanted is there */
    MATRIX_INTERRUPTED, /* by end_signals: the same command goes on */
    MATRIX_REBOOT,      /* this boot's share is done */
    MATRIX_GAPS,        /* runs did not come out valid in `tries` tries */
    MATRIX_STOPPED,     /* err says why */
};

/* Makes the profile of a cell, as the command line and the [run] section have it. */
typedef bool cell_profile(void *arg, unsigned cell, struct profile *p, struct err *err);

/* Time that a run of this profile takes at least, without set-up. */
uint64_t run_planned_ns(const struct profile *p);

/* How long the runs take that are not done yet and not optional, by the profiles of their cells. */
bool matrix_planned_ns(const struct plan *plan, const struct series *s, cell_profile *make,
                       void *arg, uint64_t *ns, struct err *err);

/* Goes through the plan. Progress is said on stderr, events are logged in the folder.
 * end_signals are blocked meanwhile: the first ends the run in hand early (it is kept and not
 * counted), a second does so at once. */
enum matrix_end matrix_run(const struct plan *plan, struct series *s, cell_profile *make, void *arg,
                           struct err *err);

/* Median of the counted runs of a cell in bytes per second, their number in *n; 0 without one. */
double matrix_median(const struct plan *plan, const struct series *s, unsigned cell, unsigned *n);

/* "40 s", "12 min", "3.5 h". */
const char *format_about(uint64_t ns, char *buf, size_t cap);

#endif
