/* Figures that follow from several sources of one window: the checks of the published threads. */
#ifndef NUMALOAD_DERIVED_H
#define NUMALOAD_DERIVED_H

#include <jansson.h>

/* Computes the "derived" object from a window that already has "throughput" and "slab".
 * Everything that lacks an operand is null with "<key>_reason" beside it. New reference. */
json_t *derived_from_window(const json_t *window);

#endif
