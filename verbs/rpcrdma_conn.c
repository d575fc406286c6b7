#define _GNU_SOURCE
#ifdef HAVE_VERBS
#include "rpcrdma_conn.h"

#include "cm.h"
#include "rpcrdma_msg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { RECV_BYTES = 1024, SEND_MAX = 1024, INLINE_BYTES = 512, POLL_BATCH = 32, PAGE_BYTES = 4096 };
#define SEND_FLAG (UINT64_C(1) << 63) /* in wr_id: a send, else a receive */
#define PROBE_ID (SEND_FLAG - 1)
#define PROBE_NS UINT64_C(5000000000) /* of silence, and the host is asked whether it is there */
#define LOOK_NS UINT64_C(50000000)    /* between two looks at rdma_cm while nothing arrives */
#define PORT_LOOKS 20                 /* of these without an answer, and the port is looked at */
#define SERVER_READS 16 /* that fetch the data of our WRITEs at a time; servers insist on some */

struct conn {
    struct transport t;
    struct cm cm;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_mr *recv_mr, *send_mr;
    uint8_t *recv, *send;
    struct ibv_send_wr *send_wr;
    struct ibv_sge *send_sge;
    struct ibv_recv_wr *recv_wr; /* one a receive buffer, filled once */
    struct ibv_sge *recv_sge;
    uint32_t send_depth, signal_every, wqe_inline;
    uint64_t head, posted, tail;  /* sends written, handed over, known to be sent */
    uint64_t looked_ns, quiet_ns; /* quiet_ns: since when nothing arrived, or the last probe */
    unsigned looks;               /* since something arrived */
    bool probing;
    unsigned events; /* CQ events taken and not yet acknowledged */
};

static struct conn *conn(struct transport *t)
{
    return (struct conn *)t;
}

/* The device takes no request. Without the cause, one that is gone would only be an I/O error. */
static bool not_taken(struct conn *c, const char *what, int error, struct err *err)
{
    bool removed;
    const char *cause = cm_cause(&c->cm, &removed);
    c->t.lost = true;
    return err_set(err, STATUS_FAILED, "%s%s%s: %s: %s", cause ? cause : "", cause ? "; " : "",
                   c->cm.to.text, what, strerror(error));
}

/* ---- sending ---- */

static void *conn_next(struct transport *t)
{
    struct conn *c = conn(t);
    if (c->head - c->tail == c->send_depth)
        return NULL;
    return c->send + c->head % c->send_depth * SEND_MAX;
}

static void conn_send(struct transport *t, size_t bytes)
{
    struct conn *c = conn(t);
    uint64_t i = c->head % c->send_depth;
    c->send_sge[i].length = (uint32_t)bytes;
    c->send_wr[i] = (struct ibv_send_wr){
        .wr_id = SEND_FLAG | c->head,
        .sg_list = &c->send_sge[i],
        .num_sge = 1,
        .opcode = IBV_WR_SEND,
        .send_flags = (bytes <= c->wqe_inline ? IBV_SEND_INLINE : 0u) |
                      (c->head % c->signal_every == 0 ? IBV_SEND_SIGNALED : 0u),
    };
    if (c->head != c->posted)
        c->send_wr[(c->head - 1) % c->send_depth].next = &c->send_wr[i];
    c->head++;
}

static bool conn_flush(struct transport *t, struct err *err)
{
    struct conn *c = conn(t);
    struct ibv_send_wr *bad;
    if (c->posted == c->head)
        return true;
    int r = ibv_post_send(c->cm.id->qp, &c->send_wr[c->posted % c->send_depth], &bad);
    if (r)
        return not_taken(c, "ibv_post_send", r, err);
    c->posted = c->head;
    return true;
}

/* ---- receiving ---- */

static bool lost(struct conn *c, struct err *err)
{
    bool removed;
    c->t.lost = true;
    const char *why = cm_cause(&c->cm, &removed);
    if (why)
        return err_set(err, STATUS_FAILED, "%s", why);
    why = cm_port_down(&c->cm);
    if (why)
        return err_set(err, STATUS_FAILED, "the connection to %s is over: %s", c->cm.to.text, why);
    return err_set(err, STATUS_FAILED,
                   "the connection to %s is over: the device stopped its queue pair and says no "
                   "more",
                   c->cm.to.text);
}

static bool failed(struct conn *c, const struct ibv_wc *wc, struct err *err)
{
    const char *what = wc->wr_id & SEND_FLAG ? "sending a call" : "receiving a reply";
    if (wc->status == IBV_WC_WR_FLUSH_ERR)
        return lost(c, err);
    bool removed;
    const char *cause = cm_cause(&c->cm, &removed), *down = cm_port_down(&c->cm);
    c->t.lost = removed || down || wc->status == IBV_WC_RETRY_EXC_ERR || wc->wr_id == PROBE_ID;
    if (removed)
        return err_set(err, STATUS_FAILED, "%s with %u calls outstanding", cause, c->t.outstanding);
    if (down)
        return err_set(err, STATUS_FAILED, "%s with %u calls outstanding", down, c->t.outstanding);
    if (c->t.lost)
        return err_set(err, STATUS_FAILED,
                       "%s does not acknowledge any more (%s): it is down, or the link to it is",
                       c->cm.to.text, ibv_wc_status_str(wc->status));
    if (wc->status == IBV_WC_RNR_RETRY_EXC_ERR)
        return err_set(err, STATUS_FAILED,
                       "%s has no receive buffer for a call, although it granted the credit",
                       c->cm.to.text);
    return err_set(err, STATUS_FAILED, "%s: %s: %s", c->cm.to.text, what,
                   ibv_wc_status_str(wc->status));
}

/* A WRITE of no bytes: the peer's device acknowledges it, however busy its server is. A peer that
 * was started anew does not know this connection. */
static bool probe(struct conn *c, struct err *err)
{
    struct ibv_send_wr *bad, wr = {
                                 .wr_id = PROBE_ID,
                                 .opcode = IBV_WR_RDMA_WRITE,
                                 .send_flags = IBV_SEND_SIGNALED,
                             };
    int r = ibv_post_send(c->cm.id->qp, &wr, &bad);
    c->probing = true;
    return r == 0 || not_taken(c, "ibv_post_send", r, err);
}

/* Nothing has arrived. An answer that the server cannot get through makes no error here: only the
 * port tells that it cannot come, and only a probe that the host is gone. */
static bool look_around(struct conn *c, uint64_t now, struct err *err)
{
    const char *why = cm_lost(&c->cm);
    c->t.lost = why;
    if (why)
        return err_set(err, STATUS_FAILED, "%s", why);
    if (!c->t.outstanding || c->looks == 0) {
        c->looks = c->t.outstanding > 0;
        c->quiet_ns = now;
        return true;
    }
    if (now - c->quiet_ns > PROBE_NS && !c->probing) {
        c->quiet_ns = now;
        return probe(c, err);
    }
    if (++c->looks % PORT_LOOKS)
        return true;
    why = cm_port_down(&c->cm);
    c->t.lost = why;
    return !why ||
           err_set(err, STATUS_FAILED, "%s with %u calls outstanding", why, c->t.outstanding);
}

static void take_events(struct conn *c)
{
    struct ibv_cq *cq;
    void *ctx;
    while (ibv_get_cq_event(c->channel, &cq, &ctx) == 0)
        c->events++;
}

static int conn_poll(struct transport *t, struct transport_msg *msgs, unsigned max, struct err *err)
{
    struct conn *c = conn(t);
    struct ibv_wc wcs[POLL_BATCH];
    unsigned got = 0;
    int n;
    do {
        unsigned room = max - got < POLL_BATCH ? max - got : POLL_BATCH;
        n = ibv_poll_cq(c->cq, (int)room, wcs);
        if (n < 0)
            return not_taken(c, "ibv_poll_cq", EIO, err) - 1;
        for (int i = 0; i < n; i++) {
            const struct ibv_wc *wc = &wcs[i];
            if (wc->status != IBV_WC_SUCCESS)
                return failed(c, wc, err) - 1;
            if (wc->wr_id == PROBE_ID) {
                c->probing = false;
                continue;
            }
            if (wc->wr_id & SEND_FLAG) {
                c->tail = (wc->wr_id & ~SEND_FLAG) + 1;
                continue;
            }
            if (wc->wc_flags & IBV_WC_WITH_INV)
                return err_set(err, STATUS_FAILED,
                               "%s invalidated a memory key, which it was not allowed to",
                               c->cm.to.text) -
                       1;
            msgs[got++] = (struct transport_msg){.data = c->recv + wc->wr_id * RECV_BYTES,
                                                 .bytes = wc->byte_len,
                                                 .buffer = (uint32_t)wc->wr_id};
        }
    } while (n == POLL_BATCH && got < max);
    if (got) {
        c->looks = 0;
        return (int)got;
    }
    uint64_t now = cm_now_ns();
    if (now - c->looked_ns < LOOK_NS)
        return 0;
    c->looked_ns = now;
    return look_around(c, now, err) ? 0 : -1;
}

static bool post_receives(struct conn *c, const struct transport_msg *msgs, unsigned n,
                          struct err *err)
{
    struct ibv_recv_wr *bad;
    if (n == 0)
        return true;
    for (unsigned i = 0; i < n; i++)
        c->recv_wr[msgs[i].buffer].next = i + 1 < n ? &c->recv_wr[msgs[i + 1].buffer] : NULL;
    int r = ibv_post_recv(c->cm.id->qp, &c->recv_wr[msgs[0].buffer], &bad);
    return r == 0 || not_taken(c, "ibv_post_recv", r, err);
}

static bool conn_release(struct transport *t, const struct transport_msg *msgs, unsigned n,
                         struct err *err)
{
    return post_receives(conn(t), msgs, n, err);
}

static bool conn_arm(struct transport *t, struct err *err)
{
    struct conn *c = conn(t);
    take_events(c);
    int r = ibv_req_notify_cq(c->cq, 0);
    return r == 0 || not_taken(c, "ibv_req_notify_cq", r, err);
}

static unsigned conn_fds(const struct transport *t, struct pollfd fds[TRANSPORT_FDS])
{
    const struct conn *c = (const struct conn *)t;
    fds[0] = (struct pollfd){.fd = c->channel->fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = c->cm.channel->fd, .events = POLLIN};
    return 2;
}

static void conn_close(struct transport *t)
{
    struct conn *c = conn(t);
    struct ibv_cq *cq = c->cq;
    if (cq && c->channel) {
        take_events(c);
        ibv_ack_cq_events(cq, c->events);
    }
    cm_close(&c->cm); /* with the queue pair, so that nothing reaches the memory any more */
    if (cq)
        ibv_destroy_cq(cq);
    if (c->channel)
        ibv_destroy_comp_channel(c->channel);
    if (c->recv_mr)
        ibv_dereg_mr(c->recv_mr);
    if (c->send_mr)
        ibv_dereg_mr(c->send_mr);
    free(c->recv);
    free(c->send);
    free(c->send_wr);
    free(c->send_sge);
    free(c->recv_wr);
    free(c->recv_sge);
    free(c);
}

static const struct transport_ops conn_ops = {
    .next = conn_next,
    .send = conn_send,
    .flush = conn_flush,
    .poll = conn_poll,
    .release = conn_release,
    .arm = conn_arm,
    .fds = conn_fds,
    .close = conn_close,
};

/* ---- making one ---- */

static struct ibv_mr *register_memory(struct ibv_pd *pd, void *memory, uint64_t bytes, int access,
                                      struct err *err)
{
    struct ibv_mr *mr = ibv_reg_mr(pd, memory, bytes, access);
    if (mr)
        return mr;
    int error = errno;
    struct rlimit lim = {.rlim_cur = RLIM_INFINITY};
    getrlimit(RLIMIT_MEMLOCK, &lim);
    if (error == ENOMEM && lim.rlim_cur != RLIM_INFINITY)
        err_set(err, STATUS_FAILED,
                "registering %llu bytes: no more memory may be locked, RLIMIT_MEMLOCK is %llu; "
                "'ulimit -l unlimited' allows it",
                (unsigned long long)bytes, (unsigned long long)lim.rlim_cur);
    else
        err_set(err, STATUS_FAILED, "registering %llu bytes: %s", (unsigned long long)bytes,
                strerror(error));
    return NULL;
}

static bool join_domain(struct conn *c, const struct rpcrdma_setup *s, struct err *err)
{
    struct rpcrdma_domain *d = s->domain;
    struct ibv_context *verbs = c->cm.id->verbs;
    if (!d->pd) {
        d->verbs = verbs;
        d->pd = ibv_alloc_pd(verbs);
        if (!d->pd)
            return err_set(err, STATUS_FAILED, "%s: ibv_alloc_pd: %s",
                           ibv_get_device_name(verbs->device), strerror(errno));
    }
    if (d->verbs != verbs)
        return err_set(err, STATUS_FAILED,
                       "%s is reached through %s now and through %s before; name one with --device",
                       s->to->text, ibv_get_device_name(verbs->device),
                       ibv_get_device_name(d->verbs->device));
    if (s->memory && !d->mr)
        d->mr = register_memory(d->pd, s->memory, s->bytes,
                                IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                    (s->write ? IBV_ACCESS_REMOTE_READ : 0),
                                err);
    return !s->memory || d->mr;
}

/* What C allows aligned_alloc to be asked for. */
static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static bool make_memory(struct conn *c, const struct rpcrdma_setup *s, struct err *err)
{
    size_t recv_bytes = whole_pages((size_t)s->credits * RECV_BYTES);
    size_t send_bytes = whole_pages((size_t)c->send_depth * SEND_MAX);
    c->recv = aligned_alloc(PAGE_BYTES, recv_bytes);
    c->send = aligned_alloc(PAGE_BYTES, send_bytes);
    c->send_wr = calloc(c->send_depth, sizeof(*c->send_wr));
    c->send_sge = calloc(c->send_depth, sizeof(*c->send_sge));
    c->recv_wr = calloc(s->credits, sizeof(*c->recv_wr));
    c->recv_sge = calloc(s->credits, sizeof(*c->recv_sge));
    if (!c->recv || !c->send || !c->send_wr || !c->send_sge || !c->recv_wr || !c->recv_sge)
        return err_set(err, STATUS_FAILED, "out of memory");
    memset(c->recv, 0, recv_bytes);
    memset(c->send, 0, send_bytes);
    c->recv_mr = register_memory(s->domain->pd, c->recv, recv_bytes, IBV_ACCESS_LOCAL_WRITE, err);
    c->send_mr = c->recv_mr ? register_memory(s->domain->pd, c->send, send_bytes, 0, err) : NULL;
    if (!c->send_mr)
        return false;
    for (unsigned i = 0; i < c->send_depth; i++)
        c->send_sge[i] = (struct ibv_sge){.addr = (uintptr_t)c->send + (uint64_t)i * SEND_MAX,
                                          .lkey = c->send_mr->lkey};
    for (unsigned i = 0; i < s->credits; i++) {
        c->recv_sge[i] = (struct ibv_sge){.addr = (uintptr_t)c->recv + (uint64_t)i * RECV_BYTES,
                                          .length = RECV_BYTES,
                                          .lkey = c->recv_mr->lkey};
        c->recv_wr[i] = (struct ibv_recv_wr){.wr_id = i, .sg_list = &c->recv_sge[i], .num_sge = 1};
    }
    return true;
}

static bool make_cq(struct conn *c, const struct rpcrdma_setup *s, struct rpcrdma_facts *f,
                    struct err *err)
{
    struct ibv_context *verbs = c->cm.id->verbs;
    snprintf(f->device, sizeof(f->device), "%s", ibv_get_device_name(verbs->device));
    if (s->vector && !s->vector(s->vector_ctx, f->device, (unsigned)verbs->num_comp_vectors,
                                &f->comp_vector, err))
        return false;
    c->channel = ibv_create_comp_channel(verbs);
    int flags = c->channel ? fcntl(c->channel->fd, F_GETFL) : -1;
    if (flags < 0 || fcntl(c->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return err_set(err, STATUS_FAILED, "%s: completion channel: %s", f->device,
                       strerror(errno));
    int entries = (int)(c->send_depth + s->credits + 1); /* 1: the probe */
    c->cq = ibv_create_cq(verbs, entries, NULL, c->channel, (int)f->comp_vector);
    return c->cq || err_set(err, STATUS_FAILED, "%s: a CQ of %d entries on vector %u: %s",
                            f->device, entries, f->comp_vector, strerror(errno));
}

static bool make_qp(struct conn *c, const struct rpcrdma_setup *s, struct rpcrdma_facts *f,
                    struct err *err)
{
    struct ibv_qp_init_attr attr;
    for (uint32_t inline_bytes = INLINE_BYTES;; inline_bytes = 0) {
        attr = (struct ibv_qp_init_attr){
            .send_cq = c->cq,
            .recv_cq = c->cq,
            .qp_type = IBV_QPT_RC,
            .cap = {.max_send_wr = c->send_depth + 1,
                    .max_recv_wr = s->credits,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = inline_bytes},
        };
        if (rdma_create_qp(c->cm.id, s->domain->pd, &attr) == 0)
            break;
        if (inline_bytes == 0) /* not every device can copy so much into a work request */
            return err_set(err, STATUS_FAILED,
                           "%s: a queue pair for %u sends and %u receives: %s (max_qp_wr of the "
                           "device may be less; lower iodepth)",
                           f->device, attr.cap.max_send_wr, s->credits, strerror(errno));
    }
    c->wqe_inline =
        attr.cap.max_inline_data < INLINE_BYTES ? attr.cap.max_inline_data : INLINE_BYTES;
    f->wqe_inline_bytes = c->wqe_inline;
    return true;
}

/* Few sends ask for a completion: one of them tells of all before it. Until it comes, the queue
 * must hold what was answered already beside what is outstanding. */
static void set_depths(struct conn *c, unsigned credits)
{
    c->send_depth = 2 * credits + 2;
    c->signal_every = credits / 2 + 1;
}

static void apply_answer(struct conn *c, const struct cm_answer *answer, struct rpcrdma_facts *f)
{
    struct rpcrdma_private p = rpcrdma_get_private(answer->data, answer->bytes);
    f->private_data = p.present;
    f->remote_invalidation = p.remote_invalidation;
    f->inline_send_bytes = p.recv_bytes < SEND_MAX ? p.recv_bytes : SEND_MAX;
    f->inline_recv_bytes = p.send_bytes < RECV_BYTES ? p.send_bytes : RECV_BYTES;
    c->t.send_bytes = f->inline_send_bytes;
}

struct transport *rpcrdma_connect(const struct rpcrdma_setup *s, struct rpcrdma_facts *facts,
                                  struct err *err)
{
    struct conn *c = calloc(1, sizeof(*c));
    uint8_t data[RPCRDMA_PRIVATE_BYTES];
    struct cm_answer answer;
    bool rejected;
    *facts = (struct rpcrdma_facts){0};
    if (!c) {
        err_set(err, STATUS_FAILED, "out of memory");
        return NULL;
    }
    c->t = (struct transport){.ops = &conn_ops, .credits = s->credits, .granted = 1};
    set_depths(c, s->credits);
    if (!cm_resolve(&c->cm, s->to, s->device, err) || !join_domain(c, s, err) ||
        !make_cq(c, s, facts, err) || !make_memory(c, s, err) || !make_qp(c, s, facts, err))
        goto fail;
    for (unsigned i = 0; i < s->credits; i++)
        if (!post_receives(c, &(struct transport_msg){.buffer = i}, 1, err))
            goto fail;
    rpcrdma_put_private(
        data, &(struct rpcrdma_private){.send_bytes = SEND_MAX, .recv_bytes = RECV_BYTES});
    if (!cm_connect(&c->cm, data, sizeof(data), 0, SERVER_READS, &answer, &rejected, err)) {
        if (rejected)
            err_set(err, STATUS_FAILED,
                    "%s: connection refused: no NFS server takes RDMA connections on this port "
                    "(its /proc/fs/nfsd/portlist has no such line 'rdma PORT'), or it has no room",
                    s->to->text);
        goto fail;
    }
    apply_answer(c, &answer, facts);
    c->t.rkey = s->domain->mr ? s->domain->mr->rkey : 0;
    return &c->t;
fail:
    conn_close(&c->t);
    return NULL;
}

const char *rpcrdma_port_down(struct transport *t)
{
    struct conn *c = conn(t);
    const char *why = cm_port_down(&c->cm);
    if (why)
        ibv_modify_qp(c->cm.id->qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_ERR}, IBV_QP_STATE);
    return why;
}

unsigned rpcrdma_requests(unsigned credits)
{
    struct conn c;
    set_depths(&c, credits);
    return c.send_depth + 1;
}

void rpcrdma_domain_free(struct rpcrdma_domain *d)
{
    if (d->mr)
        ibv_dereg_mr(d->mr);
    if (d->pd)
        ibv_dealloc_pd(d->pd);
    *d = (struct rpcrdma_domain){0};
}
#endif
