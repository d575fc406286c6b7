/* What moves bytes. An engine belongs to one thread and is opened, used and closed by it.
 *
 * Calls are per batch, never per I/O. A new engine is one file and one line in engines[]. */
#ifndef NUMALOAD_ENGINE_H
#define NUMALOAD_ENGINE_H

#include "../../placement/err.h"

#include <hwloc/bitmap.h>
#include <jansson.h>
#include <stdint.h>

/* One outstanding I/O. Slot i owns buffer i of the thread for as long as the thread lives. */
struct io {
    void *buf;       /* where this request reads to: the slot's buffer, or its rest after a
                        short read */
    uint64_t offset; /* in the file */
    uint32_t bytes;  /* asked for */
    uint32_t done;   /* got already, by earlier parts of the same I/O */
    uint32_t want;   /* bytes that the whole I/O must bring; less than the block at end of file */
    uint64_t start_ns;
};

struct completion {
    uint32_t slot;
    int32_t result; /* bytes, or -errno */
};

struct engine_setup {
    int fd;           /* open for reading; stays the caller's */
    unsigned iodepth; /* number of slots */
    void *buffers;    /* iodepth x block_bytes, contiguous */
    uint64_t block_bytes;
    bool register_buffers;     /* false when the memlock limit is known to forbid it */
    hwloc_const_bitmap_t cpus; /* CPUs of the thread, or NULL: for helpers such as io-wq workers */
};

struct engine;

struct engine_ops {
    const char *name;

    /* Called once by the main thread before any buffer is made: can this machine give `threads`
     * engines of this depth at all? STATUS_SKIP when the kernel forbids the engine as such,
     * STATUS_FAILED when a limit is too low. */
    bool (*check)(unsigned threads, unsigned iodepth, struct err *err);

    struct engine *(*open)(const struct engine_setup *setup, struct err *err);

    /* Takes the ios of n slots. Returns how many were taken from the front (the rest is offered
     * again), or -errno when the engine itself is broken. May leave the system call to reap(). */
    int (*submit)(struct engine *e, const struct io *ios, const uint32_t *slots, unsigned n);

    /* Waits until at least one I/O is complete or timeout_ns passed (0: does not wait), and returns
     * up to max completions; 0 on time-out or signal, -errno when the engine is broken. */
    int (*reap)(struct engine *e, struct completion *done, unsigned max, uint64_t timeout_ns);

    /* What this engine uses of the kernel, the same keys for every thread; new reference. Booleans
     * are counted over the threads by the caller. */
    json_t *(*features)(const struct engine *e);

    void (*close)(struct engine *e);
};

/* Engines in this build, NULL-terminated. */
extern const struct engine_ops *const engines[];

/* Names of all engines numaload has, NULL-terminated, whether in this build or not. */
extern const char *const engine_names[];

/* NULL with the reason when the engine is not in this build. */
const struct engine_ops *engine_find(const char *name, struct err *err);

#endif
