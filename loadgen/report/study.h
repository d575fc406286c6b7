/* Records as the cells of a matrix: which cell each run belongs to, which runs count, and what the
 * statistics say of them. The axes are those of the plan; without one they are the keys of the
 * profile in which the records differ. */
#ifndef NUMALOAD_STUDY_H
#define NUMALOAD_STUDY_H

#include "../matrix/expect.h"
#include "../matrix/stats.h"

#include "../../placement/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Precision that words such as "too noisy to tell" measure by when the plan names none. */
#define STUDY_PRECISION 0.02

struct study_run {
    const json_t *record, *window; /* window: see view_median_window; NULL: nothing measured */
    size_t cell;                   /* SIZE_MAX: of no cell of the plan */
    char *left_out;                /* why it does not count; NULL: it does */
    double hours;                  /* since the first run, by started_at; NAN */
    struct stats_run place;        /* value: bytes_per_s; NAN: only counters are known */
};

struct study_cell {
    size_t runs;                      /* that count, with a rate or without */
    struct stats_cell rate;           /* bytes_per_s; n == 0: no run that counts has one */
    struct stats_comparison baseline; /* against the baseline; not known for itself */
};

/* Mean over all other axes of one value of an axis against another. */
struct study_effect {
    size_t axis;
    const char *value, *against;
    struct stats_comparison comparison;
};

struct study_expectation {
    const char *name, *statement;
    struct expect_answer answer;
};

struct study_drift {
    size_t runs;      /* 0: cannot be told */
    double hours;     /* what the changes are over: an hour, or the longest boot if shorter */
    double slope;     /* change of the logarithm an hour */
    double change, p; /* share, of all cells together, within boots */
    size_t cell;      /* the cell that drifts most surely, when cell_known */
    bool cell_known;  /* one is sure (Holm, 5 %) */
    double cell_change, cell_p;
};

struct study {
    const json_t *plan; /* or NULL */
    size_t n;
    struct study_run *runs; /* in the order of the records */
    size_t axes_n, cells_n, baseline;
    char **keys;               /* axes_n */
    char **values;             /* cells_n x axes_n */
    struct stats_run *counted; /* the runs that count */
    size_t *counted_at;        /* their index in runs */
    size_t counted_n;
    size_t boots, mounts; /* of the counted runs */
    uint64_t seed;        /* of permutations and bootstrap: the plan's, else 1 */
    double precision;
    struct study_cell *cells;
    struct study_effect *effects;
    size_t effects_n;
    struct study_expectation *expectations;
    size_t expectations_n;
    struct study_drift drift;
};

/* expect: [{"name", "statement", "line"}] in place of the plan's, or NULL; file: where they stand,
 * for messages. False: out of memory, a plan that is no plan, or a statement that is wrong. The
 * records and the plan must outlive the study; study_free in any case. */
bool study_make(struct study *s, const json_t *const *records, size_t n, const json_t *plan,
                const json_t *expect, const char *file, struct err *err);
void study_free(struct study *s);

/* True when every cell was run more than once: there is something to be said about repeats. */
bool study_repeats(const struct study *s);

/* "node0 / node1": the values of a cell; "node0/node1/none" when there are many. */
struct study_name {
    char s[96];
};
struct study_name study_name(const struct study *s, size_t cell);

/* Median over the counted runs of a cell of a figure (metric.h); NAN. *of: how many have it. */
double study_median(const struct study *s, size_t cell, const char *metric, size_t *of);

/* Comparison of two cells by any figure. */
bool study_compare(const struct study *s, size_t cell, size_t base, const char *metric,
                   struct stats_comparison *out);

/* What looks on in a cell, "none" when nothing does. Cells of different instruments are never
 * compared. */
const char *study_instrument(const struct study *s, size_t cell);

/* The same cell without an instrument; SIZE_MAX when it has none, or there is no such cell. */
size_t study_without_instrument(const struct study *s, size_t cell);

/* Median of a figure in one cell over that in another; false when either is unavailable or the
 * second is not above 0. */
bool study_ratio(const struct study *s, size_t cell, size_t base, const char *metric,
                 double *ratio);

/* True for "profile.threads" when threads is an axis. */
bool study_has_axis(const struct study *s, const char *path);

/* Names of all counters that counted runs have, as the keys of an object. New reference. */
json_t *study_counters(const struct study *s);

/* Figure of run i of s->counted, for expect_answer. data: the study. */
double study_value(const void *study, size_t run, const char *metric);

#endif
