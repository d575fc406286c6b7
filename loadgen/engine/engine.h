/* What moves bytes. An engine belongs to one thread and is opened, used and closed by it.
 *
 * Calls are per batch, never per I/O. A new engine is one file and one line in engines[]. */
#ifndef NUMALOAD_ENGINE_H
#define NUMALOAD_ENGINE_H

#include "../../placement/err.h"

#include <hwloc/bitmap.h>
#include <jansson.h>
#include <stdint.h>

#define CACHE_LINE 64

/* One outstanding I/O. Slot i owns buffer i of the thread for as long as the thread lives. */
struct io {
    _Alignas(CACHE_LINE) void *buf; /* the slot's buffer, or its rest after a short read or write */
    uint64_t offset;                /* in the file */
    uint32_t bytes;                 /* asked for */
    uint32_t done;                  /* moved already, by earlier parts of the same I/O */
    uint32_t want;     /* bytes that the whole I/O must move; less than the block at end of file */
    uint32_t file;     /* index in target.files and in engine_setup.fds */
    uint64_t start_ns; /* latency counts from here; 0: the slot is idle; of a slot in
                          the worker's ready list, still that of its last I/O */
    bool write;        /* from buf to the file */
};

/* For loops that wait without sleeping. */
static inline void spin_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

struct completion {
    uint32_t slot;
    int32_t result; /* bytes, or -errno */
};

struct place;
struct profile;
struct target;

struct engine_setup {
    const struct profile *profile;
    const struct target *target;
    const struct place *place; /* for place_comp_vector (placement/place.h) */
    unsigned thread;           /* number of the worker, 0 .. threads - 1 */
    const int *fds;   /* one a file of the target, -1: not this thread's; they and the array stay
                         the caller's for as long as the engine lives. NULL when the engine has
                         locate() */
    unsigned files_n; /* of the target */
    bool write;       /* some I/Os may be writes */
    unsigned iodepth; /* number of slots */
    void *buffers;    /* iodepth x block_bytes, contiguous */
    uint64_t block_bytes;
    bool register_buffers;     /* false when the memlock limit is known to forbid it */
    hwloc_const_bitmap_t cpus; /* CPUs of the thread, or NULL: for helpers such as io-wq workers */
};

struct engine;

struct engine_ops {
    const char *name;
    bool call_in_reap; /* submit() makes no system call, so its time says nothing of one */
    bool spins;        /* can wait without sleeping: completion = poll */
    bool own_cqs; /* makes completion queues of its own, on the vectors of place_comp_vector; its
                     path begins with the server: "host:port" or a URL */

    /* Called once by the main thread before any buffer is made: can this machine give `threads`
     * engines of this depth at all? STATUS_SKIP when the kernel forbids the engine as such,
     * STATUS_FAILED when a limit is too low. */
    bool (*check)(unsigned threads, unsigned iodepth, struct err *err);

    /* For engines whose path is not a file of this machine (a URL): finds out what profile.paths
     * name and calls target_add for each. The caller cuts the target into blocks afterwards and
     * opens no descriptor. NULL: kernel files. */
    bool (*locate)(const struct profile *p, struct target *t, struct err *err);

    struct engine *(*open)(const struct engine_setup *setup, struct err *err);

    /* Takes the ios of n slots. Returns how many were taken from the front (the rest is offered
     * again), or -errno when the engine itself is broken. May leave the system call to reap(). */
    int (*submit)(struct engine *e, const struct io *ios, const uint32_t *slots, unsigned n);

    /* Waits until at least one I/O is complete or timeout_ns passed (0: does not wait), and returns
     * up to max completions; 0 on time-out or signal, -errno when the engine is broken. */
    int (*reap)(struct engine *e, struct completion *done, unsigned max, uint64_t timeout_ns);

    /* True when completions lie there that reap() would return; makes no system call. NULL: cannot
     * be told, as of io_uring, which posts them when the thread enters the kernel. */
    bool (*waiting)(const struct engine *e);

    /* What this engine uses of the kernel, the same keys for every thread; new reference. Booleans
     * are counted over the threads by the caller. */
    json_t *(*features)(const struct engine *e);

    /* What this engine found out about its transport (read size in use, credits granted, completion
     * vector): a flat object, new reference. Asked when the load is over, before close(). The
     * record keeps each distinct value with the number of threads that have it. "reconnects", a
     * count of connections that were lost and made anew, makes the run invalid when it is not 0.
     * May be NULL. */
    json_t *(*facts)(const struct engine *e);

    /* The last failure in words, when -errno says too little; NULL: nothing to add. Valid until the
     * next call. May be NULL. */
    const char *(*why)(struct engine *e);

    void (*close)(struct engine *e);
};

/* Engines in this build, NULL-terminated. */
extern const struct engine_ops *const engines[];

/* Names of all engines numaload has, NULL-terminated, whether in this build or not. */
extern const char *const engine_names[];

/* NULL with the reason when the engine is not in this build. */
const struct engine_ops *engine_find(const char *name, struct err *err);

#endif
