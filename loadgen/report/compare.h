/* Two matrices side by side: a kernel before and after a patch, a machine before and after a change
 * of its settings. */
#ifndef NUMALOAD_COMPARE_H
#define NUMALOAD_COMPARE_H

#include "study.h"
#include "table.h"

#include <stdio.h>

/* Why the two must not be compared: other machines, other loads. A sentence a string; new
 * reference. */
json_t *compare_obstacles(const struct study *a, const struct study *b);

/* Doubts, and the tables. Cells are those that both have, by the texts of their values; the two
 * sides are independent samples. False: memory is out, or there is no such cell. Counters are
 * compared only when both have the same set; else a doubt names the difference. */
bool compare_tables(struct table_list *list, json_t *doubts, const struct study *a,
                    const struct study *b, struct err *err);

/* {"cells": [{"cell", "a_runs", "b_runs", "a_median_bytes_per_s", ..., "comparison"}]} of the same.
 * New reference. */
json_t *compare_json(const struct study *a, const struct study *b);

/* A line a cell and figure: bytes_per_s with its interval and words, then counters per GiB (when
 * both have the same set), what follows from them and idle time. An empty field is unavailable. */
void compare_csv(FILE *out, const struct study *a, const struct study *b);

#endif
