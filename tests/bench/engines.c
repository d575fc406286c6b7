/* The engines of the bench build of numaload: two that move nothing, so that what is left is
 * numaload's own loop, beside the real ones. Stands in for loadgen/engine/engines.c.
 *
 *   null  completes everything at once, without a system call
 *   nop   io_uring's IORING_OP_NOP: a system call a batch, and the kernel's completion queue
 *
 * Both "read" a file of 1 GiB that does not exist. */
#define _GNU_SOURCE
#include "../../loadgen/engine/ring.h"
#include "../../loadgen/run/target.h"

#include <stdlib.h>
#include <string.h>

struct engine {
    struct ring ring;
    bool nop;
    int32_t block_bytes;
    struct completion *done;
    unsigned done_n;
};

static bool any(unsigned threads, unsigned iodepth, struct err *err)
{
    (void)threads;
    (void)iodepth;
    (void)err;
    return true;
}

static bool locate(const struct profile *p, struct target *t, struct err *err)
{
    return target_add(t, p->paths[0], UINT64_C(1) << 30, "nothing", err);
}

static struct engine *null_open(const struct engine_setup *s, struct err *err)
{
    struct engine *e = calloc(1, sizeof(*e));
    if (e)
        e->done = calloc(s->iodepth, sizeof(*e->done));
    if (e && e->done)
        return e;
    free(e);
    err_set(err, STATUS_FAILED, "out of memory");
    return NULL;
}

static struct engine *nop_open(const struct engine_setup *s, struct err *err)
{
    struct engine *e = null_open(s, err);
    if (!e)
        return NULL;
    e->nop = true;
    if (ring_open(&e->ring, s->iodepth, false) < 0) {
        free(e->done);
        free(e);
        err_set(err, STATUS_SKIP, "no io_uring here");
        return NULL;
    }
    for (unsigned i = 0; i < s->iodepth; i++) {
        io_uring_prep_nop(&e->ring.sqes[i]);
        e->ring.sqes[i].user_data = i;
    }
    e->block_bytes = (int32_t)s->block_bytes;
    return e;
}

static int null_submit(struct engine *e, const struct io *ios, const uint32_t *slots, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        e->done[e->done_n++] =
            (struct completion){.slot = slots[i], .result = (int32_t)ios[slots[i]].want};
    return (int)n;
}

static int null_reap(struct engine *e, struct completion *done, unsigned max, uint64_t timeout_ns)
{
    unsigned n = e->done_n < max ? e->done_n : max;
    (void)timeout_ns;
    memcpy(done, e->done, n * sizeof(*done));
    e->done_n -= n;
    return (int)n;
}

static int nop_submit(struct engine *e, const struct io *ios, const uint32_t *slots, unsigned n)
{
    (void)ios;
    for (unsigned i = 0; i < n; i++)
        ring_put(&e->ring, slots[i]);
    return (int)n;
}

static int nop_reap(struct engine *e, struct completion *done, unsigned max, uint64_t timeout_ns)
{
    int r = ring_enter(&e->ring, timeout_ns);
    if (r < 0)
        return r;
    unsigned n = ring_take(&e->ring, done, max);
    for (unsigned i = 0; i < n; i++)
        done[i].result = e->block_bytes; /* a NOP moves none */
    return (int)n;
}

static json_t *features(const struct engine *e)
{
    (void)e;
    return json_object();
}

static void null_close(struct engine *e)
{
    if (e->nop)
        ring_close(&e->ring);
    free(e->done);
    free(e);
}

static const struct engine_ops engine_null = {.name = "null",
                                              .check = any,
                                              .locate = locate,
                                              .open = null_open,
                                              .submit = null_submit,
                                              .reap = null_reap,
                                              .features = features,
                                              .close = null_close};
static const struct engine_ops engine_nop = {.name = "nop",
                                             .check = any,
                                             .locate = locate,
                                             .open = nop_open,
                                             .submit = nop_submit,
                                             .reap = nop_reap,
                                             .features = features,
                                             .close = null_close};
extern const struct engine_ops engine_uring, engine_aio, engine_sync;

const char *const engine_names[] = {"null", "nop", "uring", "aio", "sync", NULL};
const struct engine_ops *const engines[] = {&engine_null, &engine_nop,  &engine_uring,
                                            &engine_aio,  &engine_sync, NULL};

const struct engine_ops *engine_find(const char *name, struct err *err)
{
    for (const struct engine_ops *const *e = engines; *e; e++)
        if (strcmp((*e)->name, name) == 0)
            return *e;
    err_set(err, STATUS_SKIP, "the bench build has no engine %s", name);
    return NULL;
}
