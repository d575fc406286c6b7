/* From counters to the objects of a record; reads the workers, changes nothing. */
#ifndef NUMALOAD_WINDOW_H
#define NUMALOAD_WINDOW_H

#include "worker.h"

#include <jansson.h>

/* One window: what lies between two edges. */
struct span {
    unsigned first_phase, last_phase; /* phases that are added up, both included */
    uint64_t t0_ns, t1_ns;
};

/* The "throughput", "latency", "submission" and "threads" objects, set in `window`. A worker
 * without I/O in the span is noted as invalid in `notes`. */
void window_fill(json_t *window, const struct worker *workers, const struct crew *crew,
                 const struct span *span, json_t *notes);

/* Sum of one counter over all workers and the phases of a span; offset is that of the counter in
 * struct phase_counters. */
uint64_t window_sum(const struct worker *workers, const struct crew *crew, unsigned first_phase,
                    unsigned last_phase, size_t offset);

#endif
