/* The JSON document of a matrix that did not come to a report: one on stdout, whatever ended it. */
#ifndef NUMALOAD_MATRIX_OUTCOME_H
#define NUMALOAD_MATRIX_OUTCOME_H

#include "series.h"

/* Ended before all runs were there, in good order: how many are, and what to do next. */
void outcome_print(const struct series *s, int status, const char *next);

/* Stopped, or never begun. */
void outcome_print_error(const struct err *err);

#endif
