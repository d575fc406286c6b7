/* Rates between two looks at a run that goes on: relaxed reads of the workers' counters, and the
 * live sources. It belongs to one thread, which is not the one that reads the samplers. */
#ifndef NUMALOAD_LIVE_METER_H
#define NUMALOAD_LIVE_METER_H

#include "live_sources.h"
#include "worker.h"

struct live_rates {
    double at_s;    /* since the meter was opened */
    double seconds; /* length of the interval */
    unsigned phase; /* at its end: 0 the ramp, then windows, last the drain */
    double bytes_per_s, ios_per_s;
    uint64_t p50_ns, p99_ns; /* of the I/Os that ended in the interval; 0: there were none */
    uint64_t outstanding, oldest_ns;
    unsigned states[WORKER_FAILED + 1]; /* workers by enum worker_state */
    unsigned slowest, fastest;          /* workers */
    double slowest_bytes_per_s, fastest_bytes_per_s;
};

struct live_meter {
    const struct crew *crew;
    const struct worker *workers;
    struct live_sources sources;
    struct live_rates rates;
    double *node_bytes_per_s;      /* [topo->nodes_n]: by the CPUs the workers were seen on */
    double *node_interrupts_per_s; /* [topo->nodes_n]; meaningless unless sources say known */
    double *counter_per_s;         /* [sources.counters_n] */

    struct meter_state *state;
};

bool live_meter_open(struct live_meter *m, const struct crew *crew, const struct worker *workers,
                     const struct topo *topo, const char *slab);

/* Looks again and fills the rates since the last time. */
void live_meter_read(struct live_meter *m);

void live_meter_close(struct live_meter *m);

#endif
