/* Linux AIO through libaio: submits inline from the calling thread, the published load.
 * Limits: fs/aio.c, ioctx_alloc(): the sum of all contexts' depths is bounded by fs.aio-max-nr. */
#define _GNU_SOURCE
#ifdef HAVE_AIO
#include "engine.h"

#include "../../placement/sysroot.h"
#include "../profile.h"
#include "../run/worker.h"

#include <errno.h>
#include <libaio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The completion ring that io_setup(2) maps into the process (fs/aio.c, struct aio_ring). Taking
 * events out of it by moving `head` is provided for there: user_refill_reqs_available(). */
struct aio_ring {
    unsigned id, nr; /* nr: events there is room for */
    unsigned head;   /* of the reader */
    _Atomic unsigned tail;
    unsigned magic, compat_features, incompat_features, header_bytes;
    struct io_event events[];
};
#define AIO_RING_MAGIC 0xa10a10a1

struct engine {
    io_context_t ctx;
    struct aio_ring *ring; /* NULL: not as this code knows it */
    const int *fds;
    unsigned iodepth;
    bool spin;
    struct iocb *iocbs;  /* by slot */
    struct iocb **batch; /* scratch of a submit */
    struct io_event *events;
};

static bool aio_check(unsigned threads, unsigned iodepth, struct err *err)
{
    int64_t max, used;
    if (sysroot_read_i64("/proc/sys/fs/aio-max-nr", &max) ||
        sysroot_read_i64("/proc/sys/fs/aio-nr", &used))
        return true; /* io_setup will say */
    uint64_t want = (uint64_t)threads * iodepth;
    if ((int64_t)want <= max - used)
        return true;
    return err_set(err, STATUS_FAILED,
                   "engine aio: %u threads x iodepth %u need %llu requests; fs.aio-max-nr is %lld "
                   "and %lld are in use. Raise it (sysctl fs.aio-max-nr=%lld), lower threads or "
                   "iodepth, or use engine uring",
                   threads, iodepth, (unsigned long long)want, (long long)max, (long long)used,
                   (long long)(used + (int64_t)want));
}

static struct aio_ring *find_ring(io_context_t ctx)
{
    struct aio_ring *ring = (struct aio_ring *)ctx;
    return ring->magic == AIO_RING_MAGIC && ring->incompat_features == 0 &&
                   ring->header_bytes == sizeof(*ring)
               ? ring
               : NULL;
}

static struct engine *aio_open(const struct engine_setup *setup, struct err *err)
{
    struct engine *e = calloc(1, sizeof(*e));
    if (!e)
        goto no_memory;
    e->fds = setup->fds;
    e->iodepth = setup->iodepth;
    e->spin = profile_polls(setup->profile);
    e->iocbs = calloc(e->iodepth, sizeof(*e->iocbs));
    e->batch = calloc(e->iodepth, sizeof(*e->batch));
    e->events = calloc(e->iodepth, sizeof(*e->events));
    if (!e->iocbs || !e->batch || !e->events)
        goto no_memory;
    int r = io_setup((int)e->iodepth, &e->ctx);
    if (r == 0) {
        e->ring = find_ring(e->ctx);
        for (unsigned i = 0; i < e->iodepth; i++)
            e->iocbs[i].data = (void *)(uintptr_t)i;
        return e;
    }
    if (r == -EAGAIN)
        err_set(err, STATUS_FAILED,
                "io_setup of %u requests: fs.aio-max-nr is used up by other programs", e->iodepth);
    else if (r == -ENOSYS)
        err_set(err, STATUS_SKIP, "engine aio: this kernel was built without CONFIG_AIO");
    else
        err_set(err, STATUS_FAILED, "io_setup of %u requests: %s", e->iodepth, strerror(-r));
    goto fail;
no_memory:
    err_set(err, STATUS_FAILED, "out of memory");
fail:
    if (e) {
        free(e->iocbs);
        free(e->batch);
        free(e->events);
        free(e);
    }
    return NULL;
}

static int aio_submit(struct engine *e, const struct io *ios, const uint32_t *slots, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct iocb *cb = &e->iocbs[slots[i]];
        const struct io *io = &ios[slots[i]];
        cb->aio_fildes = e->fds[io->file];
        cb->aio_lio_opcode = io->write ? IO_CMD_PWRITE : IO_CMD_PREAD;
        cb->u.c.buf = io->buf;
        cb->u.c.nbytes = io->bytes;
        cb->u.c.offset = (long long)io->offset;
        e->batch[i] = cb;
    }
    int r = io_submit(e->ctx, (long)n, e->batch);
    return r == -EAGAIN || r == -EINTR ? 0 : r;
}

static inline void take(struct completion *done, const struct io_event *event)
{
    done->slot = (uint32_t)(uintptr_t)event->data;
    done->result = (int32_t)(long)event->res;
}

/* What is in the ring already costs no system call. */
static unsigned take_ready(struct aio_ring *ring, struct completion *done, unsigned max)
{
    const unsigned tail = atomic_load_explicit(&ring->tail, memory_order_acquire), nr = ring->nr;
    unsigned head = ring->head, n = 0;
    while (head != tail && n < max) {
        take(&done[n++], &ring->events[head]);
        head = head + 1 < nr ? head + 1 : 0;
    }
    if (n)
        atomic_store_explicit((_Atomic unsigned *)&ring->head, head, memory_order_release);
    return n;
}

static unsigned spin(struct engine *e, struct completion *done, unsigned max, uint64_t timeout_ns)
{
    const uint64_t until = now_ns() + timeout_ns;
    unsigned n;
    while (!(n = take_ready(e->ring, done, max)) && now_ns() < until)
        spin_pause();
    return n;
}

static int aio_reap(struct engine *e, struct completion *done, unsigned max, uint64_t timeout_ns)
{
    struct timespec ts = {.tv_sec = (time_t)(timeout_ns / 1000000000),
                          .tv_nsec = (long)(timeout_ns % 1000000000)};
    if (max > e->iodepth)
        max = e->iodepth;
    unsigned ready = e->ring ? take_ready(e->ring, done, max) : 0;
    if (ready || (e->ring && !timeout_ns))
        return (int)ready;
    if (e->ring && e->spin)
        return (int)spin(e, done, max, timeout_ns);
    int n = io_getevents(e->ctx, timeout_ns ? 1 : 0, (long)max, e->events, &ts);
    if (n == -EINTR)
        return 0;
    for (int i = 0; i < n; i++)
        take(&done[i], &e->events[i]);
    return n;
}

static bool aio_waiting(const struct engine *e)
{
    return e->ring && e->ring->head != atomic_load_explicit(&e->ring->tail, memory_order_relaxed);
}

static json_t *aio_features(const struct engine *e)
{
    return json_pack("{s:b, s:b}", "reaps_in_user_space", e->ring != NULL, "polls",
                     e->ring && e->spin);
}

static void aio_close(struct engine *e)
{
    io_destroy(e->ctx);
    free(e->iocbs);
    free(e->batch);
    free(e->events);
    free(e);
}

const struct engine_ops engine_aio = {
    .name = "aio",
    .spins = true,
    .check = aio_check,
    .open = aio_open,
    .submit = aio_submit,
    .reap = aio_reap,
    .waiting = aio_waiting,
    .features = aio_features,
    .close = aio_close,
};
#endif
