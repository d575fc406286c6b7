/* Reports on a matrix: what differs, by how much, how surely; then the counters, idle time, and
 * what was left out. */
#ifndef NUMALOAD_STUDY_REPORT_H
#define NUMALOAD_STUDY_REPORT_H

#include "study.h"
#include "table.h"

#include <stdio.h>

/* All tables of the report, in order. False when memory is out; free with tables_free. */
bool study_tables(struct table_list *list, const struct study *s);

/* Sentences about what makes the whole matrix doubtful: several machines, kernels, loads, sets of
 * counters. One a string; new reference. */
json_t *study_doubts(const struct study *s);

/* Adds one sentence to such a list, in ASCII. */
void study_doubt(json_t *doubts, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "numaload: matrix of 6 cells, 18 runs" */
void study_title(const struct study *s, char *buf, size_t cap);

bool study_text(FILE *out, const struct study *s, struct err *err);
bool study_markdown(FILE *out, const struct study *s, struct err *err);
bool study_html(FILE *out, const struct study *s, struct err *err);

/* {"schema": "numaload-report", "matrix": {"cells": ..., "comparisons": ...}, "doubts": ...} */
bool study_json(FILE *out, const struct study *s, struct err *err);

/* report_csv with the columns left_out and matrix.* in front. */
bool study_csv(FILE *out, const struct study *s, struct err *err);

#endif
