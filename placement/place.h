/* Where things run: words in, levers moved, proof out.
 *
 * A placement is a list of levers (lever.h). Life of one:
 *   place_plan     words to levers; nothing on the machine changes
 *   place_apply    machine-wide levers are moved (work-queue masks); old values are kept
 *   place_bind_*   called by each worker for itself and its buffers
 *   place_edge     at every window edge: machine-wide levers are read again
 *   place_observe  after a window: asked / applied / observed / reached, lever by lever
 *   place_restore  everything machine-wide is put back
 */
#ifndef NUMALOAD_PLACE_H
#define NUMALOAD_PLACE_H

#include "err.h"
#include "journal.h"
#include "topology.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct place_ask {
    const char *cpus;    /* unpinned | node:N | socket:N | nic | remote | spread | cpus:LIST */
    const char *mem;     /* default | local | node:N | interleave */
    const char *unbound; /* leave | all | node:N | cpus:LIST: mask of all unbound work queues */
    const char *cq;      /* leave | node:N | nic | remote | balanced | cpus:LIST: interrupts of the
                            device's completion vectors; for a soft device the work queues */
    const char *rps;     /* leave | node:N | nic | remote | cpus:LIST: rps and xps masks of the
                            network device */
    const char *numa_balancing; /* leave | off */
    const char *wq_scope;       /* leave | cpu | smt | cache | numa | system: affinity_scope of the
                                   unbound work queues */
    bool own_cqs; /* the engine makes completion queues of its own, and asks place_comp_vector */
    const char *comp_vector; /* auto | LIST: completion vectors that own_cqs threads take in turn */
    const char *irqbalance;  /* refuse | ignore | ban | stop: what to do when one runs and cq moves
                                interrupts */
    const char *device; /* RDMA, network or block device that cq, nic and remote mean; NULL: found
                           from path when one is needed */
    const char *path;   /* the file under load, NULL: none */
    double min_share;   /* of interrupts where asked for cq to be reached; 0: 0.95 */
    bool strict;        /* an interrupt that cannot be moved is a failure, not a remark */
    unsigned threads;   /* workers that will call place_bind_thread, >= 1 */
    uint64_t bytes_per_thread; /* of buffers; checked against the memory of the nodes */
    bool allow_partial;        /* trim sets to what is usable instead of refusing */
    const char *journal_dir;   /* NULL: JOURNAL_DIR */
    journal_say *say;          /* takes messages on the way; NULL: standard error */
    void *say_ctx;
};

/* What one worker did in a window, for place_observe. */
struct place_thread_seen {
    const uint64_t *cpu_hits; /* samples of sched_getcpu, indexed by CPU, topo->cpus_n long */
    pid_t tid;
};

/* One worker's buffers, for place_query_pages. */
struct place_buffer {
    void *addr;
    size_t bytes;
    size_t page_bytes; /* 4096 or the huge page size, the step of the query */
};

struct place;

/* Errors: STATUS_USAGE for a word that does not parse, STATUS_FAILED for one that this machine
 * cannot give (node without CPUs, without memory, outside the cpuset; each said apart). `topo` must
 * outlive the placement. */
bool place_plan(struct place **out, const struct topo *topo, const struct place_ask *ask,
                struct err *err);
void place_free(struct place *p);

/* Moves the machine-wide levers. On failure those already moved are put back. With the first value
 * that is written a journal is begun and a guardian forked (journal.h): call it before threads are
 * started and buffers are allocated. */
bool place_apply(struct place *p, struct err *err);

/* What place_apply would write, one call a value; nothing is written. */
typedef void place_write_cb(void *ctx, const char *path, const char *now, const char *want);
void place_each_write(const struct place *p, place_write_cb *cb, void *ctx);

/* Leaves the machine-wide values as applied, for journal_restore to put back later. */
bool place_keep(struct place *p, struct err *err);

/* Binds the calling thread, worker number `thread` (0-based), strictly: CPUs by
 * sched_setaffinity(2), memory policy by set_mempolicy(2). Thread-safe. */
bool place_bind_thread(const struct place *p, unsigned thread, struct err *err);

/* Binds a mapping that has not been touched yet, mbind(2), MPOL_BIND and not "preferred".
 * Thread-safe. */
bool place_bind_memory(const struct place *p, unsigned thread, void *addr, size_t bytes,
                       struct err *err);

/* CPUs that worker `thread` may run on (owned by p), or NULL when unpinned. For io-wq affinity. */
hwloc_const_bitmap_t place_thread_cpus(const struct place *p, unsigned thread);

/* Node from which worker `thread` takes its buffers, or -1 when more than one is possible. */
int place_thread_mem_node(const struct place *p, unsigned thread);

/* For engines that make completion queues of their own: which completion vector worker `thread`
 * gives to its queue (ibv_create_cq(3)). `device` is the RDMA device of its connection, `vectors`
 * that device's num_comp_vectors. Follows cq: a vector whose interrupt fires on a CPU asked for,
 * threads taking turns; with cq = leave, and for a soft device without interrupts, all in turn.
 * Thread-safe; call it after place_apply. STATUS_FAILED when no vector is where it is asked,
 * STATUS_USAGE when a named one does not exist. */
bool place_comp_vector(const struct place *p, unsigned thread, const char *device, unsigned vectors,
                       unsigned *vector, struct err *err);

/* Reads the machine-wide levers at window edge `edge` (0-based, any number below edges_max given to
 * the sampler context); cheap. */
void place_edge(struct place *p, unsigned edge);

/* Asks the kernel where the buffers' pages are (move_pages(2) as a query); kept for the
 * place_observe calls that follow. n is ask.threads. */
void place_query_pages(struct place *p, const struct place_buffer *buffers, size_t n);

/* Appends one object a lever to the JSON array `levers`: lever, asked, applied, observed, reached
 * (true, false, null when not asked or not observable), reason, detail. Returns false when a lever
 * that was asked for was not reached. n is ask.threads. */
bool place_observe(struct place *p, const struct place_thread_seen *seen, size_t n, unsigned from,
                   unsigned to, json_t *levers);

/* The nodes where completions are asked to be handled. */
struct place_completions {
    const char *key, *word; /* "cq" and "node:1" */
    hwloc_bitmap_t nodes;   /* the caller frees it */
    bool by_interrupts;     /* false: through the masks of work queues alone */
    double min_share;
};

/* False when nothing is asked of them, or all nodes with CPUs. */
bool place_completion_nodes(const struct place *p, struct place_completions *out);

/* Puts every machine-wide value back. Safe to call twice and after a failed apply; place_free calls
 * it. Returns false and says what is left when a value could not be put back, or was changed by
 * somebody else and kept. */
bool place_restore(struct place *p, struct err *err);

#endif
