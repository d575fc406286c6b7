/* What a run came to: from its edges, workers and samplers to the objects of the record. */
#ifndef NUMALOAD_OUTCOME_H
#define NUMALOAD_OUTCOME_H

#include "../record/sampler.h"
#include "crew.h"
#include "end_signals.h"

/* A drain that brings nothing back for so long is over: the program must end within 5 s. */
#define HUNG_NS UINT64_C(3000000000)

struct run {
    const struct profile *profile;
    json_t *record, *notes;
    struct topo *topo;
    struct place *place;
    struct target target;
    struct crew crew;
    struct worker *workers;
    struct sampling *sampling;
    struct instrument *instrument;
    struct live_view *live; /* NULL: nobody watches */

    uint64_t launched_ns, threads_ns, ready_ns; /* launch; threads begin; all are ready to load */

    uint64_t *edge_ns; /* 0: before the load; 1 .. windows + 1: of windows; last: drained */
    unsigned edges;
    int *shared_fds; /* by file; NULL: each worker opens its own */
    struct end_wishes wishes;
    sigset_t signals, old_signals;
    uint64_t next_tick_ns, next_line_ns;
    struct err err;
};

/* How long the start took, "setup": from the launch (launch.h) until the threads began and until
 * all were ready to load; from there until the first and until the last thread with anything to do
 * handed over its first I/O, null when none did. In ns. */
void outcome_setup(struct run *r);

/* Window `phase`, 1 .. windows, with throughput, latency, placement, samplers and notes. */
void outcome_window(struct run *r, unsigned phase, bool cut);

/* From before the first I/O to after the last: nothing is in flight at either end, so that counters
 * and bytes must match exactly. Only when every worker drained. */
void outcome_whole_run(struct run *r, unsigned last_edge);

/* I/Os that never came back: how many, and how old the oldest is. */
void outcome_outstanding(struct run *r);

/* Engine, its features and facts by threads, and the buffers. */
void outcome_engine(struct run *r);

/* Of a run that verified: blocks that were checked, and the first wrong byte; fails the run when
 * there is one. */
void outcome_verify(struct run *r);

#endif
