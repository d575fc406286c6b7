/* Figures that follow from several sources of one window: the checks of the published threads. */
#ifndef NUMALOAD_DERIVED_H
#define NUMALOAD_DERIVED_H

#include <jansson.h>

/* Computes the "derived" object from a window that already has "throughput" and "slab".
 * Everything that lacks an operand is null with "<key>_reason" beside it. New reference. */
json_t *derived_from_window(const json_t *window);

/* The time that a sampler's figures of a window are about, ns: from the middle of its first reading
 * to that of its second, which in a window of milliseconds is another time than the window. Without
 * a skew in the record: the window. 0: not known. */
double derived_span_ns(const json_t *window, const char *sampler);

#endif
