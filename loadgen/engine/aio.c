/* Linux AIO through libaio: submits inline from the calling thread, the published load.
 * Limits: fs/aio.c, ioctx_alloc(): the sum of all contexts' depths is bounded by fs.aio-max-nr. */
#define _GNU_SOURCE
#ifdef HAVE_AIO
#include "engine.h"

#include "../../placement/sysroot.h"

#include <errno.h>
#include <libaio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct engine {
    io_context_t ctx;
    const int *fds;
    unsigned iodepth;
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

static struct engine *aio_open(const struct engine_setup *setup, struct err *err)
{
    struct engine *e = calloc(1, sizeof(*e));
    if (!e)
        goto no_memory;
    e->fds = setup->fds;
    e->iodepth = setup->iodepth;
    e->iocbs = calloc(e->iodepth, sizeof(*e->iocbs));
    e->batch = calloc(e->iodepth, sizeof(*e->batch));
    e->events = calloc(e->iodepth, sizeof(*e->events));
    if (!e->iocbs || !e->batch || !e->events)
        goto no_memory;
    int r = io_setup((int)e->iodepth, &e->ctx);
    if (r == 0)
        return e;
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
        if (io->write)
            io_prep_pwrite(cb, e->fds[io->file], io->buf, io->bytes, (long long)io->offset);
        else
            io_prep_pread(cb, e->fds[io->file], io->buf, io->bytes, (long long)io->offset);
        cb->data = (void *)(uintptr_t)slots[i];
        e->batch[i] = cb;
    }
    int r = io_submit(e->ctx, (long)n, e->batch);
    return r == -EAGAIN || r == -EINTR ? 0 : r;
}

static int aio_reap(struct engine *e, struct completion *done, unsigned max, uint64_t timeout_ns)
{
    struct timespec ts = {.tv_sec = (time_t)(timeout_ns / 1000000000),
                          .tv_nsec = (long)(timeout_ns % 1000000000)};
    if (max > e->iodepth)
        max = e->iodepth;
    int n = io_getevents(e->ctx, timeout_ns ? 1 : 0, (long)max, e->events, &ts);
    if (n == -EINTR)
        return 0;
    for (int i = 0; i < n; i++) {
        done[i].slot = (uint32_t)(uintptr_t)e->events[i].data;
        done[i].result = (int32_t)(long)e->events[i].res;
    }
    return n;
}

static json_t *aio_features(const struct engine *e)
{
    (void)e;
    return json_object();
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
    .check = aio_check,
    .open = aio_open,
    .submit = aio_submit,
    .reap = aio_reap,
    .features = aio_features,
    .close = aio_close,
};
#endif
