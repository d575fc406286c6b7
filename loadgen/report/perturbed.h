/* What an instrument did to a load: the figures of a run with it over those of a run without. */
#ifndef NUMALOAD_PERTURBED_H
#define NUMALOAD_PERTURBED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The run of the same load and placement without an instrument, for an instrumented one; of several
 * the nearest, since records stand in the order in which they were made or named. SIZE_MAX: none,
 * or record i has no instrument. */
size_t perturbed_partner(const json_t *const *records, size_t n, size_t i);

/* Figure in one window over the same in another: the total of a counter, or of "a.b" the number at
 * that path. False when either is unavailable or the second is 0. */
bool perturbed_ratio(const json_t *with, const json_t *without, const char *name, double *ratio);

#endif
