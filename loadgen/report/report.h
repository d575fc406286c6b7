/* Reports take records and know nothing else. */
#ifndef NUMALOAD_REPORT_H
#define NUMALOAD_REPORT_H

#include "../../placement/err.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* One run for people: at most 72 columns, plain ASCII, fit to be pasted into a mail. */
bool report_run_text(FILE *out, const json_t *record, struct err *err);

/* Several runs side by side in the shape of the published tables: throughput by placement, then
 * counters with one column a run (at most four fit 72 columns; more go to further tables). */
bool report_compare_text(FILE *out, const json_t *const *records, size_t n, struct err *err);

#endif
