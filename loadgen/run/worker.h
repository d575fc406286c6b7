/* One thread of the load.
 *
 * Everything a worker touches per I/O is its own and on its own cache lines. The only shared line
 * it reads is the phase; it is written once a window. The coordinator reads the counters of any
 * phase at any time, also while the worker hangs in a system call. */
#ifndef NUMALOAD_WORKER_H
#define NUMALOAD_WORKER_H

#include "../engine/engine.h"
#include "../profile.h"
#include "buffers.h"
#include "hist.h"
#include "target.h"

#include "../../placement/place.h"

#include <pthread.h>

/* Phases: 0 is the ramp, 1 .. windows are the windows, windows + 1 is the drain. */
struct phase_counters {
    _Alignas(CACHE_LINE) counter ios; /* complete I/Os */
    counter bytes;
    counter write_ios; /* of ios */
    counter write_bytes;
    counter submitted; /* I/Os handed to the engine */
    counter parts;     /* requests; more than ios when reads came back short */
    counter latency_sum_ns;
    counter latency_min_ns;
    counter latency_max_ns;
    counter verified;    /* blocks read and checked */
    counter wrong;       /* of these, with a wrong byte */
    counter submits;     /* calls of submit */
    counter submit_ns;   /* time in them */
    counter unreaped_ns; /* I/Os x the time that they may have lain there complete, at most */
    counter depth_sum;   /* outstanding I/Os after each submit, summed */
    counter cpu_hits[];  /* samples of sched_getcpu, one a loop; crew.cpus_n long */
};

/* Shared by all workers of a run; constant but for the marked. */
struct crew {
    const struct profile *profile;
    const struct target *target;
    const struct place *place;
    const struct engine_ops *engine;
    unsigned threads, iodepth;
    unsigned batch;     /* I/Os handed to the engine in one call, at most */
    unsigned phases;    /* windows + 2 */
    unsigned cpus_n;    /* length of cpu_hits */
    size_t phase_bytes; /* distance of two phase_counters */
    counter *latencies; /* [phase][bucket]: each worker adds its own as it leaves a phase */
    bool register_buffers;
    const int *shared_fds; /* by file; NULL: each worker opens its own */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* go or giveup was set */
    pthread_cond_t readied; /* ready grew; only the coordinator waits */
    unsigned ready;         /* under lock: workers that are set up, or failed */
    bool go, giveup;        /* under lock: start the load / go home without */

    _Alignas(CACHE_LINE) _Atomic uint32_t phase;
    _Alignas(CACHE_LINE) _Atomic bool failed; /* some worker met an error */
    /* Of a run with an amount: workers that have done theirs, and what the first of them saw. */
    _Atomic unsigned done_n;
    _Atomic uint64_t first_done_ns, first_done_bytes, first_done_ios;
};

enum worker_state {
    WORKER_SETUP,
    WORKER_READY,
    WORKER_RUNNING,
    WORKER_DONE,   /* drained and closed */
    WORKER_FAILED, /* err says why */
};

/* The first byte of a file that was read and is not what was written there. */
struct wrong_byte {
    bool found;
    unsigned file;
    uint64_t offset;
    unsigned char expected, got;
};

struct worker {
    struct crew *crew;
    unsigned number;
    pthread_t thread;
    _Atomic pid_t tid;
    _Atomic int state;
    struct err err; /* valid when state is WORKER_FAILED */

    struct buffers buffers;
    counter faulted_bytes;
    counter fault_in_ns;
    counter first_io_ns; /* when it was about to hand over its first I/O; 0: it had none */
    json_t *features;
    json_t *facts;      /* of the engine, once the load is over; NULL: none */
    char *phase_memory; /* crew.phases x crew.phase_bytes */
    counter *hist;      /* [HIST_BUCKETS]: of all its I/Os so far */
    counter *booked;    /* [HIST_BUCKETS]: the part of it that is in crew.latencies */
    size_t counter_bytes;

    /* Outstanding I/Os, for the message when a server stops answering. */
    _Alignas(CACHE_LINE) counter outstanding;
    counter done_ns;         /* when the worker's amount was done; 0: not yet, or it has none */
    struct wrong_byte wrong; /* valid once the worker is over */
    counter counts_into;     /* the phase that what is not booked belongs to */
    counter oldest_start_ns; /* 0: nothing outstanding; refreshed a few times a second */
};

static inline struct phase_counters *worker_phase(const struct worker *w, unsigned phase)
{
    return (struct phase_counters *)(w->phase_memory + phase * w->crew->phase_bytes);
}

/* Bytes from one phase's counters to the next for so many CPUs: whole cache lines. */
size_t worker_phase_bytes(unsigned cpus_n);

/* Starts the thread: it binds itself, makes its buffers, opens its engine, reports ready, waits for
 * crew.go, loads until the phase is the drain, drains and closes. False when no thread could be
 * started. */
bool worker_start(struct worker *w, struct err *err);

/* Monotonic time, ns. */
uint64_t now_ns(void);

#endif
