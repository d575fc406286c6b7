#define _GNU_SOURCE
#ifdef HAVE_VERBS
#include "read.h"

#include "cm.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Completions taken from the device in one call. */
#define POLL_BATCH 32
/* Empty polls between two looks at the clock. */
#define SPINS 128
#define NONE UINT64_MAX
/* Without a completion for so long the port is looked at. */
#define STALLED_NS UINT64_C(1000000000)

struct reader {
    struct cm cm;
    struct offer offer;
    struct ibv_pd *pd;
    struct ibv_mr *mr;
    struct ibv_cq *cq;
    struct ibv_comp_channel *channel; /* NULL: polling */
    unsigned depth, reads, signal_every;
    int comp_vector;
    bool armed;
    unsigned events_n; /* not acknowledged yet: that takes a lock */

    /* READ number s (from 0, in order) lives in place s % depth of the arrays. */
    struct ibv_send_wr *wrs;
    struct ibv_sge *sges;
    uint32_t *tags;
    uint64_t head;   /* first one not given back */
    uint64_t done;   /* first one not known to be finished */
    uint64_t posted; /* first one not handed to the device */
    uint64_t added;  /* first one not added */

    uint64_t failed; /* the READ that failed; NONE: none did */
    int failure;     /* -errno of it or of the connection, 0: none */
    char why[512];
    uint64_t progress_ns;
};

/* ---- setting up ---- */

/* Rejections carry the reason in the private data. */
static bool connect_as(struct cm *cm, enum hello_purpose purpose, unsigned reads,
                       struct cm_answer *answer, struct offer *offer, struct err *err)
{
    uint8_t hello[HELLO_BYTES];
    bool rejected;
    hello_encode(hello, purpose);
    if (!cm_connect(cm, hello, sizeof(hello), (uint8_t)(reads < 255 ? reads : 255), 0, answer,
                    &rejected, err)) {
        if (rejected && answer->bytes && offer_decode(answer->data, answer->bytes, offer, NULL) &&
            offer->answer != OFFER_TAKEN)
            err_set(err, STATUS_FAILED, "%s: %s", cm->to.text, offer_answer_text(offer->answer));
        return false;
    }
    if (!offer_decode(answer->data, answer->bytes, offer, err))
        return err_prefix(err, "%s", cm->to.text);
    return true;
}

static bool make_queue_pair(struct cm *cm, struct ibv_pd *pd, struct ibv_cq *cq, unsigned depth,
                            struct err *err)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = cq,
        .recv_cq = cq,
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = depth + 1, .max_send_sge = 1, .max_recv_wr = 1, .max_recv_sge = 1},
    };
    if (rdma_create_qp(cm->id, pd, &attr) == 0)
        return true;
    return err_set(err, STATUS_FAILED, "%s: a queue pair of %u requests: %s%s",
                   ibv_get_device_name(cm->id->verbs->device), depth + 1, strerror(errno),
                   errno == ENOMEM || errno == EPERM
                       ? " (RLIMIT_MEMLOCK may be too low: ulimit -l unlimited)"
                       : "");
}

bool reader_probe(const struct address *to, const char *device, const struct verbs_need *need,
                  struct offer *offer, struct err *err)
{
    struct cm cm;
    struct cm_answer answer;
    struct verbs_device d = {0};
    struct ibv_pd *pd = NULL;
    struct ibv_cq *cq = NULL;
    bool ok = cm_resolve(&cm, to, device, err);
    if (!ok)
        goto out;
    ok = verbs_device_read(&d, ibv_get_device_name(cm.id->verbs->device), err) &&
         verbs_limits_check(&d, need, err);
    if (!ok)
        goto out;
    pd = ibv_alloc_pd(cm.id->verbs);
    cq = pd ? ibv_create_cq(cm.id->verbs, 2, NULL, NULL, 0) : NULL;
    if (!cq) {
        ok = err_set(err, STATUS_FAILED, "%s: protection domain and CQ: %s", d.base.name,
                     strerror(errno));
        goto out;
    }
    ok = make_queue_pair(&cm, pd, cq, 1, err) &&
         connect_as(&cm, HELLO_PROBE, 1, &answer, offer, err);
out:
    cm_close(&cm);
    if (cq)
        ibv_destroy_cq(cq);
    if (pd)
        ibv_dealloc_pd(pd);
    verbs_device_free(&d);
    return ok;
}

static bool moderate(struct reader *r, const struct reader_setup *s, struct err *err)
{
    if (!s->cq_count && !s->cq_period_us)
        return true;
    struct ibv_modify_cq_attr attr = {
        .attr_mask = IBV_CQ_ATTR_MODERATE,
        .moderate = {.cq_count = (uint16_t)s->cq_count, .cq_period = (uint16_t)s->cq_period_us},
    };
    int error = ibv_modify_cq(r->cq, &attr);
    return !error || err_set(err, STATUS_FAILED, "%s: moderation of the CQ: %s",
                             ibv_get_device_name(r->cm.id->verbs->device), strerror(error));
}

static bool make_cq(struct reader *r, const struct reader_setup *s, struct err *err)
{
    struct ibv_context *ctx = r->cm.id->verbs;
    const char *device = ibv_get_device_name(ctx->device);
    unsigned vectors = ctx->num_comp_vectors > 0 ? (unsigned)ctx->num_comp_vectors : 0, vector = 0;
    if (s->choose_vector && !s->choose_vector(s->choose_arg, device, vectors, &vector, err))
        return false;
    if (vector >= vectors)
        return err_set(err, STATUS_FAILED, "vector %u: %s has %u", vector, device, vectors);
    r->comp_vector = (int)vector;
    if (s->events) {
        r->channel = ibv_create_comp_channel(ctx);
        if (!r->channel)
            return err_set(err, STATUS_FAILED, "completion channel: %s", strerror(errno));
    }
    r->cq = ibv_create_cq(ctx, (int)s->depth + 2, NULL, r->channel, r->comp_vector);
    if (!r->cq)
        return err_set(err, STATUS_FAILED, "%s: a CQ of %u entries on vector %u: %s", device,
                       s->depth + 2, vector, strerror(errno));
    return moderate(r, s, err);
}

/* Registered memory is locked: all threads of a user share one limit. */
static bool memory_refused(uint64_t bytes, struct err *err)
{
    struct rlimit lim;
    int error = errno;
    if (error != ENOMEM || getrlimit(RLIMIT_MEMLOCK, &lim) || lim.rlim_cur == RLIM_INFINITY)
        return err_set(err, STATUS_FAILED, "registering %llu bytes of memory: %s",
                       (unsigned long long)bytes, strerror(error));
    return err_set(err, STATUS_FAILED,
                   "registering %llu bytes of memory: RLIMIT_MEMLOCK allows %llu for all threads; "
                   "'ulimit -l unlimited' allows more, lower threads, iodepth or block need less",
                   (unsigned long long)bytes, (unsigned long long)lim.rlim_cur);
}

static bool register_memory(struct reader *r, const struct reader_setup *s, struct err *err)
{
    /* iWARP answers a READ with a tagged write, which the sink must allow (RFC 5040, 5.1). */
    int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING;
    if (r->cm.id->verbs->device->transport_type == IBV_TRANSPORT_IWARP)
        access |= IBV_ACCESS_REMOTE_WRITE;
    r->pd = ibv_alloc_pd(r->cm.id->verbs);
    if (!r->pd)
        return err_set(err, STATUS_FAILED, "protection domain: %s", strerror(errno));
    r->mr = ibv_reg_mr(r->pd, s->memory, s->bytes, access);
    return r->mr || memory_refused(s->bytes, err);
}

static bool make_ring(struct reader *r, const struct reader_setup *s, struct err *err)
{
    r->depth = s->depth;
    r->signal_every = s->signal_every ? s->signal_every : 1;
    r->failed = NONE;
    r->wrs = calloc(s->depth, sizeof(*r->wrs));
    r->sges = calloc(s->depth, sizeof(*r->sges));
    r->tags = calloc(s->depth, sizeof(*r->tags));
    return (r->wrs && r->sges && r->tags) || err_set(err, STATUS_FAILED, "out of memory");
}

/* What never changes between two READs of a place. */
static void fill_ring(struct reader *r)
{
    for (unsigned i = 0; i < r->depth; i++) {
        r->sges[i].lkey = r->mr->lkey;
        r->wrs[i] = (struct ibv_send_wr){
            .sg_list = &r->sges[i],
            .num_sge = 1,
            .opcode = IBV_WR_RDMA_READ,
            .wr.rdma = {.rkey = r->offer.rkey},
        };
    }
}

static unsigned initiator_depth(const struct reader *r)
{
    struct ibv_device_attr a;
    if (ibv_query_device(r->cm.id->verbs, &a) || a.max_qp_init_rd_atom < 1)
        return 1;
    return (unsigned)a.max_qp_init_rd_atom;
}

struct reader *reader_open(const struct reader_setup *s, struct err *err)
{
    struct cm_answer answer;
    struct reader *r = calloc(1, sizeof(*r));
    if (!r) {
        err_set(err, STATUS_FAILED, "out of memory");
        return NULL;
    }
    if (!cm_resolve(&r->cm, s->to, s->device, err) || !make_ring(r, s, err) ||
        !make_cq(r, s, err) || !register_memory(r, s, err) ||
        !make_queue_pair(&r->cm, r->pd, r->cq, s->depth, err))
        goto fail;
    unsigned reads = initiator_depth(r);
    if (!connect_as(&r->cm, HELLO_LOAD, reads, &answer, &r->offer, err))
        goto fail;
    r->reads = answer.reads && answer.reads < reads ? answer.reads : reads;
    fill_ring(r);
    r->progress_ns = cm_now_ns();
    return r;
fail:
    reader_close(r);
    return NULL;
}

void reader_close(struct reader *r)
{
    cm_close(&r->cm);
    if (r->events_n)
        ibv_ack_cq_events(r->cq, r->events_n);
    if (r->cq)
        ibv_destroy_cq(r->cq);
    if (r->channel)
        ibv_destroy_comp_channel(r->channel);
    if (r->mr)
        ibv_dereg_mr(r->mr);
    if (r->pd)
        ibv_dealloc_pd(r->pd);
    free(r->wrs);
    free(r->sges);
    free(r->tags);
    free(r);
}

const struct offer *reader_offer(const struct reader *r)
{
    return &r->offer;
}

/* ---- reading ---- */

void reader_add(struct reader *r, uint32_t tag, void *buf, uint64_t offset, uint32_t bytes)
{
    unsigned at = (unsigned)(r->added % r->depth);
    struct ibv_send_wr *wr = &r->wrs[at];
    r->sges[at].addr = (uintptr_t)buf;
    r->sges[at].length = bytes;
    r->tags[at] = tag;
    wr->wr_id = r->added++;
    wr->wr.rdma.remote_addr = r->offer.address + offset;
    wr->next = NULL;
    wr->send_flags = r->added % r->signal_every ? 0 : IBV_SEND_SIGNALED;
    if (wr->wr_id > r->posted)
        r->wrs[(at ? at : r->depth) - 1].next = wr;
}

static int broken(struct reader *r, int error, const char *text)
{
    if (!r->failure) {
        r->failure = -error;
        snprintf(r->why, sizeof(r->why), "%s", text);
    }
    return r->failure;
}

/* The device takes no request. Without the cause, one that is gone would only be an I/O error. */
static int not_taken(struct reader *r, const char *what, int error)
{
    char text[sizeof(r->why)];
    bool removed;
    const char *cause = cm_cause(&r->cm, &removed);
    snprintf(text, sizeof(text), "%s%s%s: %s", cause ? cause : "", cause ? "; " : "", what,
             strerror(error));
    return broken(r, removed ? ENODEV : error, text);
}

int reader_ring(struct reader *r)
{
    struct ibv_send_wr *bad;
    if (r->posted == r->added)
        return 0;
    /* Of those that nobody follows yet, the last one speaks for all. */
    r->wrs[(r->added - 1) % r->depth].send_flags = IBV_SEND_SIGNALED;
    if (r->posted == r->done)
        r->progress_ns = cm_now_ns();
    int error = ibv_post_send(r->cm.id->qp, &r->wrs[r->posted % r->depth], &bad);
    if (error)
        return not_taken(r, "ibv_post_send", error);
    r->posted = r->added;
    return 0;
}

static void read_broken(struct reader *r, const struct ibv_wc *wc, int error, const char *text)
{
    if (r->failed == NONE)
        r->failed = wc->wr_id;
    broken(r, error, text);
}

static void read_failed(struct reader *r, const struct ibv_wc *wc)
{
    bool removed;
    const char *to = r->cm.to.text, *lost = cm_cause(&r->cm, &removed);
    const char *down = cm_port_down(&r->cm);
    char text[sizeof(r->why)];
    int error = EIO;
    if (down && wc->status != IBV_WC_REM_ACCESS_ERR) {
        snprintf(text, sizeof(text), "%s with READs outstanding (%s)", down,
                 ibv_wc_status_str(wc->status));
        read_broken(r, wc, ENETDOWN, text);
        return;
    }
    switch (wc->status) {
    case IBV_WC_REM_ACCESS_ERR:
        snprintf(text, sizeof(text),
                 "%s refuses key 0x%x (remote access error): the responder has revoked its memory",
                 to, r->offer.rkey);
        error = EACCES;
        break;
    case IBV_WC_RETRY_EXC_ERR:
        snprintf(text, sizeof(text),
                 "%s does not answer (retries exceeded): the responder, its host or a link is down",
                 to);
        error = ETIMEDOUT;
        break;
    case IBV_WC_WR_FLUSH_ERR:
        snprintf(text, sizeof(text), "%s with READs outstanding",
                 lost ? lost : "the connection broke");
        error = removed ? ENODEV : ECONNRESET;
        break;
    default:
        snprintf(text, sizeof(text), "%s: %s (vendor error 0x%x)%s%s", to,
                 ibv_wc_status_str(wc->status), wc->vendor_err, lost ? "; " : "", lost ? lost : "");
    }
    read_broken(r, wc, error, text);
}

static void take_completion(struct reader *r, const struct ibv_wc *wc)
{
    if (r->failure) /* what follows a failure is only flushed */
        return;
    if (wc->status != IBV_WC_SUCCESS)
        read_failed(r, wc);
    else if (wc->wr_id >= r->done)
        r->done = wc->wr_id + 1;
}

/* What is known to be finished, in order; then, once, the one that failed. */
static unsigned give_back(struct reader *r, struct read_done *done, unsigned max)
{
    unsigned n = 0;
    if (r->failed != NONE && r->failed > r->done)
        r->done = r->failed; /* those before it were done, whether they said so or not */
    for (; n < max && r->head < r->done; n++, r->head++) {
        unsigned at = (unsigned)(r->head % r->depth);
        done[n] = (struct read_done){r->tags[at], (int32_t)r->sges[at].length};
    }
    if (n < max && r->failed == r->head && r->head < r->posted) {
        done[n++] = (struct read_done){r->tags[r->head % r->depth], r->failure};
        r->head++;
        r->done = r->head;
        r->failed = NONE; /* said; failure stays */
    }
    return n;
}

static int take(struct reader *r, struct read_done *done, unsigned max)
{
    struct ibv_wc wcs[POLL_BATCH];
    unsigned n = give_back(r, done, max);
    while (n < max) {
        int got = ibv_poll_cq(r->cq, POLL_BATCH, wcs);
        if (got < 0)
            return not_taken(r, "ibv_poll_cq", EIO);
        for (int i = 0; i < got; i++)
            take_completion(r, &wcs[i]);
        n += give_back(r, done + n, max - n);
        if (got < POLL_BATCH)
            break;
    }
    return n || !r->failure ? (int)n : r->failure;
}

/* Nothing came for a while: is there still somebody who could send it? */
static int look_around(struct reader *r)
{
    char text[sizeof(r->why)];
    const char *lost = cm_lost(&r->cm);
    unsigned waiting = (unsigned)(r->posted - r->done);
    if (lost) {
        bool removed;
        lost = cm_cause(&r->cm, &removed);
        snprintf(text, sizeof(text), "%s with %u READs outstanding", lost, waiting);
        return broken(r, removed ? ENODEV : ECONNRESET, text);
    }
    if (!waiting || cm_now_ns() - r->progress_ns < STALLED_NS)
        return 0;
    const char *down = cm_port_down(&r->cm);
    if (!down)
        return 0;
    snprintf(text, sizeof(text), "%s with %u READs outstanding", down, waiting);
    return broken(r, ENETDOWN, text);
}

static int spin(struct reader *r, struct read_done *done, unsigned max, uint64_t end_ns)
{
    for (;;) {
        for (unsigned i = 0; i < SPINS; i++) {
            int n = take(r, done, max);
            if (n)
                return n;
        }
        if (cm_now_ns() >= end_ns)
            return 0;
    }
}

/* Sleeps until the CQ has an event, the connection has one, or the time is over. */
static int sleep_for_event(struct reader *r, uint64_t end_ns)
{
    struct pollfd fds[2] = {{.fd = r->channel->fd, .events = POLLIN},
                            {.fd = r->cm.channel->fd, .events = POLLIN}};
    uint64_t now = cm_now_ns();
    uint64_t left = end_ns > now ? end_ns - now : 0;
    struct timespec ts = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
    if (ppoll(fds, 2, &ts, NULL) <= 0)
        return 0;
    if (fds[1].revents)
        return look_around(r);
    struct ibv_cq *cq;
    void *context;
    if (ibv_get_cq_event(r->channel, &cq, &context))
        return broken(r, errno, "ibv_get_cq_event failed");
    r->events_n++;
    r->armed = false;
    return 0;
}

static int wait_for_event(struct reader *r, struct read_done *done, unsigned max, uint64_t end_ns)
{
    for (;;) {
        if (!r->armed && ibv_req_notify_cq(r->cq, 0))
            return not_taken(r, "ibv_req_notify_cq", EIO);
        r->armed = true;
        /* What came before the CQ was armed makes no event. */
        int n = take(r, done, max);
        if (n)
            return n;
        n = sleep_for_event(r, end_ns);
        if (n)
            return n;
        if (!r->armed)
            n = take(r, done, max);
        if (n || cm_now_ns() >= end_ns)
            return n;
    }
}

int reader_poll(struct reader *r, struct read_done *done, unsigned max, uint64_t timeout_ns)
{
    int n = take(r, done, max);
    if (n == 0 && timeout_ns) {
        uint64_t end = cm_now_ns() + timeout_ns;
        n = r->channel ? wait_for_event(r, done, max, end) : spin(r, done, max, end);
        if (n == 0)
            return look_around(r);
    }
    if (n > 0)
        r->progress_ns = cm_now_ns();
    return n;
}

const char *reader_why(const struct reader *r)
{
    return r->why[0] ? r->why : NULL;
}

json_t *reader_facts(const struct reader *r)
{
    struct ibv_context *ctx = r->cm.id->verbs;
    struct ibv_port_attr port = {0};
    ibv_query_port(ctx, r->cm.id->port_num, &port);
    struct verbs_device d;
    json_t *device = verbs_device_read(&d, ibv_get_device_name(ctx->device), NULL)
                         ? verbs_device_json(&d)
                         : json_null();
    verbs_device_free(&d);
    json_t *mtu = port.active_mtu >= IBV_MTU_256 && port.active_mtu <= IBV_MTU_4096
                      ? json_integer(128 << port.active_mtu)
                      : json_null();
    return json_pack(
        "{s:s, s:s, s:s, s:i, s:o, s:i, s:i, s:s, s:i, s:i, s:I, s:o, s:o}", "responder",
        r->cm.to.text, "device", ibv_get_device_name(ctx->device), "kind",
        ctx->device->transport_type == IBV_TRANSPORT_IWARP ? "iWARP" : "InfiniBand or RoCE", "port",
        (int)r->cm.id->port_num, "active_mtu_bytes", mtu, "comp_vector", r->comp_vector,
        "comp_vectors", ctx->num_comp_vectors, "completion", r->channel ? "event" : "poll",
        "signal_every", (int)r->signal_every, "reads_on_the_wire", (int)r->reads, "responder_bytes",
        (json_int_t)r->offer.bytes, "responder_node",
        r->offer.node >= 0 ? json_integer(r->offer.node) : json_null(), "device_facts", device);
}
#endif
