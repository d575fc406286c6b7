/* One source of figures, read at the edges of the windows.
 *
 * Windows are back to back: edge k ends one and begins the next. At an edge every sampler's read()
 * runs first, one after the other, and does nothing but fetch bytes; then every settle() turns them
 * into numbers, outside the measured instant. window() subtracts two edges, after the run.
 * A new sampler is one file and its name in samplers.c. */
#ifndef NUMALOAD_SAMPLER_H
#define NUMALOAD_SAMPLER_H

#include "../../placement/topology.h"

#include <jansson.h>
#include <stdint.h>

struct sample_ctx {
    const struct topo *topo;
    const char *path;              /* of a file under load; NULL: none */
    const char *const *more_paths; /* of a file on each further mount; ends with NULL; NULL: none */
    const char *slab;              /* name of the cache, "nfs_page" */
    bool allow_merged;             /* accept a merged cache under that name */
    unsigned edges_max;            /* edges are numbered 0 .. edges_max - 1 */
    json_t *notes;                 /* of the whole run; open() may add to it */
};

struct sampler {
    const struct sampler_ops *ops;
    /* followed by the sampler's own state */
};

struct sampler_ops {
    const char *name; /* the key of its object in a window of the record */

    /* Finds the source. A source that is absent is not an error: the sampler is opened, remembers
     * the reason, and window() says unavailable. NULL only when memory is out or the request is
     * refused (err set): a merged cache without allow_merged is refused with STATUS_FAILED. */
    struct sampler *(*open)(const struct sample_ctx *ctx, struct err *err);

    /* Fetches raw bytes for an edge. No allocation, no parsing. May be NULL for a sampler that
     * watches instead of subtracting: its skew is then that of settle(). */
    void (*read)(struct sampler *s, unsigned edge);

    /* Turns the bytes of the last read() into the numbers of that edge. May be NULL. */
    void (*settle)(struct sampler *s, unsigned edge);

    /* After it, what would cost too much at edges that follow each other closely. May be NULL. */
    void (*settle_thorough)(struct sampler *s, unsigned edge);

    /* Called between edges, for what can only be seen while it happens: about every 250 ms while a
     * sampler watches something, else once a second. May be NULL. `edge` is the last edge that was
     * read. */
    void (*tick)(struct sampler *s, unsigned edge);

    /* True while there is something that a tick would look at. May be NULL: never. */
    bool (*watches)(const struct sampler *s);

    /* The object for the window between two edges; new reference. Has "available": true, or
     * false with "reason". Adds to `notes` (of this window) what makes it doubtful or invalid. */
    json_t *(*window)(const struct sampler *s, unsigned from, unsigned to, json_t *notes);

    void (*close)(struct sampler *s);
};

/* NULL-terminated, in the order in which they are read. */
extern const struct sampler_ops *const samplers[];

/* A set of open samplers with the times at which each read at each edge. */
struct sampling;

struct sampling *sampling_open(const struct sample_ctx *ctx, struct err *err);

/* Reads all at an edge; edges come in ascending order. t_ns is the edge itself: CLOCK_MONOTONIC
 * when the caller read the workers' counters. thorough: with settle_thorough(). */
void sampling_edge(struct sampling *s, unsigned edge, uint64_t t_ns, bool thorough);
void sampling_tick(struct sampling *s);

/* Some sampler watches something: tick four times a second. A thread that is woken costs more than
 * what it then does. */
bool sampling_watches(const struct sampling *s);

/* Adds each sampler's object under its name to `window`, each with "skew": {"from_began_ns",
 * "from_ended_ns", "to_began_ns", "to_ended_ns"} relative to the edges, and "sampling": {"cpu_ns":
 * CPU time of the calling thread spent in reads, settles and ticks between the edges,
 * "thread_cpu_ns": its CPU time between them in all, "real_time": at both edges it had a real-time
 * policy (punctual.h)}. */
void sampling_window(const struct sampling *s, unsigned from, unsigned to, json_t *window,
                     json_t *notes);
void sampling_close(struct sampling *s);

#endif
