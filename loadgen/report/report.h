/* Reports take records and know nothing else. */
#ifndef NUMALOAD_REPORT_H
#define NUMALOAD_REPORT_H

#include "../../placement/err.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* One run for people: at most 72 columns, plain ASCII, fit to be pasted into a mail. Notes and
 * doubts come first. With several windows each has a line, and the tables are those of the one with
 * the median throughput among the valid ones: figures of two windows never share a table. */
bool report_run_text(FILE *out, const json_t *record, struct err *err);

/* Several runs side by side in the shape of the published tables: throughput by placement (the
 * range over a run's windows), then counters, what follows from them and idle time with one column
 * a run (at most four fit 72 columns; more go to further tables), each from one window of its run.
 */
bool report_compare_text(FILE *out, const json_t *const *records, size_t n, struct err *err);

/* The same tables in GitHub's Markdown; one run as well. */
bool report_markdown(FILE *out, const json_t *const *records, size_t n, struct err *err);

/* One line a window; columns are keys of the record, empty fields are unavailable. The first two,
 * left_out and cell, are of a matrix and else empty: the header does not depend on what is read. */
bool report_csv(FILE *out, const json_t *const *records, size_t n, struct err *err);

/* What a matrix says of a run. */
struct csv_judgement {
    const char *left_out; /* why it counts for nothing; NULL: it counts */
    char cell[96];
};
bool report_csv_judged(FILE *out, const json_t *const *records, size_t n,
                       const struct csv_judgement *judged, struct err *err);

/* One self-contained page with plots (by gnuplot, when it is there) and the tables. */
bool report_html(FILE *out, const json_t *const *records, size_t n, struct err *err);

/* {"schema": "numaload-report", "doubts": [...], "runs": [...]}. */
bool report_json(FILE *out, const json_t *const *records, size_t n, struct err *err);

#endif
