/* pread(2) and pwrite(2), one I/O at a time: the plainest engine, for comparison and for odd file
 * systems. */
#define _GNU_SOURCE
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct engine {
    const int *fds;
    bool full;
    struct completion done;
};

static bool sync_check(unsigned threads, unsigned iodepth, struct err *err)
{
    (void)threads;
    (void)iodepth;
    (void)err;
    return true;
}

static struct engine *sync_open(const struct engine_setup *setup, struct err *err)
{
    struct engine *e = calloc(1, sizeof(*e));
    if (!e) {
        err_set(err, STATUS_FAILED, "out of memory");
        return NULL;
    }
    e->fds = setup->fds;
    return e;
}

static int sync_submit(struct engine *e, const struct io *ios, const uint32_t *slots, unsigned n)
{
    if (n == 0 || e->full)
        return 0;
    const struct io *io = &ios[slots[0]];
    int fd = e->fds[io->file];
    ssize_t got = io->write ? pwrite(fd, io->buf, io->bytes, (off_t)io->offset)
                            : pread(fd, io->buf, io->bytes, (off_t)io->offset);
    e->done = (struct completion){.slot = slots[0], .result = got < 0 ? -errno : (int32_t)got};
    e->full = true;
    return 1;
}

static int sync_reap(struct engine *e, struct completion *done, unsigned max, uint64_t timeout_ns)
{
    (void)timeout_ns;
    if (!e->full || max == 0)
        return 0;
    done[0] = e->done;
    e->full = false;
    return 1;
}

static json_t *sync_features(const struct engine *e)
{
    (void)e;
    return json_object();
}

static void sync_close(struct engine *e)
{
    free(e);
}

const struct engine_ops engine_sync = {
    .name = "sync",
    .check = sync_check,
    .open = sync_open,
    .submit = sync_submit,
    .reap = sync_reap,
    .features = sync_features,
    .close = sync_close,
};
