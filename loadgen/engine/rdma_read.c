/* Raw RDMA READs from the memory of 'numaload serve': what the wire can do without NFS.
 *
 * One queue pair and one CQ a thread (verbs/read.h); the path is rdma://HOST:PORT or HOST:PORT.
 * Each connection begins with a READ of up to 1 MiB whose data is checked. */
#define _GNU_SOURCE
#ifdef HAVE_VERBS
#include "engine.h"

#include "../pattern.h"
#include "../profile.h"
#include "../run/target.h"

#include "../../placement/place.h"
#include "../../verbs/read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES (UINT64_C(1) << 20)
#define FIRST_WAIT_NS UINT64_C(10000000000)
#define REAP_BATCH 64

struct engine {
    struct reader *reader;
    uint64_t bytes; /* of the responder's memory */
    unsigned iodepth;
};

static bool rdma_check(unsigned threads, unsigned iodepth, struct err *err)
{
    (void)threads;
    (void)iodepth;
    (void)err;
    return true; /* what a device allows is known once the route is: see locate */
}

static bool one_address(const struct profile *p, struct address *a, struct err *err)
{
    if (p->paths[1])
        return err_set(err, STATUS_USAGE,
                       "engine rdma-read reads the memory of one responder; %s is a second one",
                       p->paths[1]);
    return address_parse(a, p->paths[0], OFFER_PORT, false, err);
}

static struct verbs_need need_of(const struct profile *p)
{
    return (struct verbs_need){
        .threads = (unsigned)p->threads,
        .depth = (unsigned)p->iodepth,
        .extra = 2,
        .sge = 1,
        .mr_bytes = p->iodepth * p->block_bytes,
        .comp_vector = -1,
        .cq_count = (unsigned)p->cq_count,
        .cq_period_us = p->cq_period_ns / 1000,
    };
}

static bool rdma_locate(const struct profile *p, struct target *t, struct err *err)
{
    struct address to;
    struct offer offer;
    struct verbs_need need = need_of(p);
    if (profile_writes(p))
        return err_set(err, STATUS_USAGE, "engine rdma-read only reads");
    if (!one_address(p, &to, err) || !reader_probe(&to, p->device, &need, &offer, err))
        return false;
    if (offer.salt != p->salt)
        return err_set(err, STATUS_FAILED,
                       "%s is filled with salt %" PRIu64 ", this run expects %" PRIu64
                       ": add --salt %" PRIu64,
                       to.text, offer.salt, p->salt, offer.salt);
    return target_add(t, p->paths[0], offer.bytes, "rdma", err);
}

/* The first READ of a connection shows that address, key and data are what they should be. */
static bool first_read(struct engine *e, const struct engine_setup *s, struct err *err)
{
    uint64_t room = s->iodepth * s->block_bytes;
    uint64_t n = e->bytes < FIRST_BYTES ? e->bytes : FIRST_BYTES;
    n = n < room ? n : room;
    /* Threads look at different parts. */
    uint64_t offset = s->thread * FIRST_BYTES % (e->bytes - n + 1) & ~UINT64_C(7);
    struct read_done done;
    memset(s->buffers, 0, n);
    reader_add(e->reader, 0, s->buffers, offset, (uint32_t)n);
    int r = reader_ring(e->reader);
    if (r == 0)
        r = reader_poll(e->reader, &done, 1, FIRST_WAIT_NS);
    if (r == 1 && done.result < 0)
        r = done.result;
    const char *why = reader_why(e->reader);
    if (r == 0)
        return err_set(err, STATUS_FAILED,
                       "thread %u: the first READ did not come back within 10 s", s->thread);
    if (r < 0)
        return err_set(err, STATUS_FAILED, "thread %u: the first READ failed: %s", s->thread,
                       why ? why : strerror(-r));
    size_t good = pattern_check(s->buffers, n, offset, s->profile->salt);
    return good == n || err_set(err, STATUS_FAILED,
                                "thread %u: the first READ brought wrong data: byte %zu of %" PRIu64
                                " at offset %" PRIu64 " is not what the responder was filled with",
                                s->thread, good, n, offset);
}

static bool choose_vector(void *arg, const char *device, unsigned vectors, unsigned *vector,
                          struct err *err)
{
    const struct engine_setup *s = arg;
    return place_comp_vector(s->place, s->thread, device, vectors, vector, err);
}

static struct engine *rdma_open(const struct engine_setup *s, struct err *err)
{
    const struct profile *p = s->profile;
    struct address to;
    struct engine *e = calloc(1, sizeof(*e));
    if (!e) {
        err_set(err, STATUS_FAILED, "out of memory");
        return NULL;
    }
    struct reader_setup setup = {
        .to = &to,
        .device = p->device,
        .memory = s->buffers,
        .bytes = s->iodepth * s->block_bytes,
        .depth = s->iodepth,
        .choose_vector = choose_vector,
        .choose_arg = (void *)s,
        .events = !profile_polls(p),
        .cq_count = (unsigned)p->cq_count,
        .cq_period_us = p->cq_period_ns / 1000,
        .signal_every = (unsigned)p->signal_every,
    };
    e->iodepth = s->iodepth;
    if (!one_address(p, &to, err))
        goto fail;
    e->reader = reader_open(&setup, err);
    if (!e->reader)
        goto fail;
    e->bytes = reader_offer(e->reader)->bytes;
    if (e->bytes < s->target->files[0].bytes) {
        err_set(err, STATUS_FAILED, "%s offers %" PRIu64 " bytes now, it offered more before",
                to.text, e->bytes);
        goto fail;
    }
    if (first_read(e, s, err))
        return e;
fail:
    if (e->reader)
        reader_close(e->reader);
    free(e);
    return NULL;
}

static int rdma_submit(struct engine *e, const struct io *ios, const uint32_t *slots, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct io *io = &ios[slots[i]];
        uint64_t left =
            e->bytes - io->offset; /* a READ beyond the end would break the connection */
        reader_add(e->reader, slots[i], io->buf, io->offset,
                   left < io->bytes ? (uint32_t)left : io->bytes);
    }
    int r = reader_ring(e->reader);
    return r < 0 ? r : (int)n;
}

static int rdma_reap(struct engine *e, struct completion *done, unsigned max, uint64_t timeout_ns)
{
    struct read_done got[REAP_BATCH];
    int n = reader_poll(e->reader, got, max < REAP_BATCH ? max : REAP_BATCH, timeout_ns);
    for (int i = 0; i < n; i++)
        done[i] = (struct completion){got[i].tag, got[i].result};
    return n;
}

static json_t *rdma_features(const struct engine *e)
{
    (void)e;
    return json_object();
}

static json_t *rdma_facts(const struct engine *e)
{
    return reader_facts(e->reader);
}

static const char *rdma_why(struct engine *e)
{
    return reader_why(e->reader);
}

static void rdma_close(struct engine *e)
{
    reader_close(e->reader);
    free(e);
}

const struct engine_ops engine_rdma_read = {
    .name = "rdma-read",
    .spins = true,
    .own_cqs = true,
    .check = rdma_check,
    .locate = rdma_locate,
    .open = rdma_open,
    .submit = rdma_submit,
    .reap = rdma_reap,
    .features = rdma_features,
    .facts = rdma_facts,
    .why = rdma_why,
    .close = rdma_close,
};
#endif
