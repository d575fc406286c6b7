/* Facts about the machine that colour every figure of a run. */
#ifndef NUMALOAD_HOSTFACTS_H
#define NUMALOAD_HOSTFACTS_H

#include "../../placement/topology.h"

#include <jansson.h>

/* The "host" object of a record; adds warnings (irqbalance running, numa_balancing on, lock
 * debugging on) to notes. Missing facts are null with "<key>_reason". New reference. */
json_t *hostfacts_read(const struct topo *topo, json_t *notes);

#endif
