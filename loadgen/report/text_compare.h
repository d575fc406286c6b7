/* Runs as columns: what the tables of a comparison share. */
#ifndef NUMALOAD_TEXT_COMPARE_H
#define NUMALOAD_TEXT_COMPARE_H

#include "text.h"

#define RUN_COLUMNS 4 /* beside the names of the counters */

struct text_run {
    const json_t *record, *window; /* window: the one with the median throughput, or NULL */
    char key[24];                  /* A, B, ... Z, 27, ... */
};

/* The first lines of a table: keys, workload, CQs, and instruments where there are any. */
void text_column_heads(FILE *out, const char *what, const struct text_run *runs, size_t n);

/* Contended locks by caller, where an instrument saw them. */
void text_locks(FILE *out, const struct text_run *runs, size_t n);

/* Each instrumented run against the run of the same placement without: what the instrument did to
 * throughput and counters. records: those of the runs. */
void text_perturbation(FILE *out, const json_t *const *records, const struct text_run *runs,
                       size_t n);

#endif
