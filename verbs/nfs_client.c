#define _GNU_SOURCE
#include "nfs_client.h"

#include "nfs_call.h"
#include "rpcrdma_msg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 16, TEMPLATE_MAX = 320, CONNECTIONS_MAX = 64 };
#define CHECK_NS UINT64_C(100000000) /* between two looks at the deadlines */
#define RETRY_FACTOR_MAX 64
#define AGAIN_FIRST_NS UINT64_C(100000000) /* pause between attempts to connect; doubles */
#define AGAIN_MOST_NS UINT64_C(1000000000)

enum part_state { PART_IDLE, PART_QUEUED, PART_SENT, PART_DELAYED };

/* One READ or WRITE: part k of slot s is parts[s * parts_per_slot + k]. */
struct part {
    enum part_state state;
    uint32_t xid;
    uint32_t from, bytes; /* within the I/O */
    unsigned connection;
    uint32_t tries;    /* answered with NFS3ERR_JUKEBOX */
    uint64_t sent_ns;  /* first time; 0: not yet */
    uint64_t again_ns; /* PART_DELAYED: when to send again */
};

struct slot {
    struct nfs_io io;
    unsigned left;     /* parts that are not answered yet */
    uint32_t good;     /* bytes from the beginning that moved */
    int error;         /* errno of the first part that failed, or 0 */
    uint32_t error_at; /* where it begins */
};

/* A connection that is being made anew. */
struct loss {
    uint64_t since_ns, next_ns, pause_ns; /* next_ns: when to try again */
    struct err why;
};

/* Indexes in the order in which they came; `mask` + 1 long, a power of 2. */
struct ring {
    uint32_t *at, mask, head, tail;
};

struct nfs_client {
    struct nfs_client_setup setup;
    struct transport *connections[CONNECTIONS_MAX]; /* NULL: lost */
    struct loss losses[CONNECTIONS_MAX];
    unsigned lost_n;
    unsigned turn; /* the connection to be tried first */
    unsigned parts_per_slot;
    uint32_t parts_n;
    struct part *parts;
    struct slot *slots;
    struct ring queue, finished;
    uint32_t *by_xid; /* part + 1, or 0; [xid & xid_mask] */
    uint32_t xid_mask, next_xid;
    uint32_t delayed; /* number of PART_DELAYED */
    uint32_t sent;    /* number of PART_SENT */
    uint64_t now_ns, checked_ns;
    uint8_t read_call[TEMPLATE_MAX],
        write_call[TEMPLATE_MAX]; /* RPC headers; the xid is filled in */
    size_t call_bytes;
    int over; /* errno, once the client is over */
    struct err why;
    struct nfs_client_counts counts;
};

static uint64_t clock_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint32_t power_of_2(uint32_t at_least)
{
    uint32_t n = 1;
    while (n < at_least)
        n <<= 1;
    return n;
}

static bool ring_make(struct ring *r, uint32_t entries)
{
    uint32_t n = power_of_2(entries);
    r->at = calloc(n, sizeof(*r->at));
    r->mask = n - 1;
    return r->at;
}

static void ring_put(struct ring *r, uint32_t value)
{
    r->at[r->tail++ & r->mask] = value;
}

static int end(struct nfs_client *c, int error)
{
    c->over = error;
    return -error;
}

static size_t make_template(uint8_t *call, enum nfs3_proc procedure, const struct rpc_auth *auth)
{
    struct xdr_out out = xdr_out(call, TEMPLATE_MAX);
    rpc_put_call(&out, 0, NFS_PROGRAM, NFS_VERSION, procedure, auth);
    return out.ok ? xdr_written(&out) : 0;
}

struct nfs_client *nfs_client_new(const struct nfs_client_setup *setup, struct err *err)
{
    uint32_t least =
        setup->read_bytes < setup->write_bytes ? setup->read_bytes : setup->write_bytes;
    uint64_t per_slot = least ? (setup->io_bytes + (uint64_t)least - 1) / least : 0;
    uint64_t parts = per_slot * setup->slots;
    if (setup->connections_n < 1 || setup->connections_n > CONNECTIONS_MAX || parts == 0 ||
        parts > UINT32_MAX / 4) {
        err_set(err, STATUS_FAILED, "nfs-rdma: %u connections, %" PRIu64 " calls at a time",
                setup->connections_n, parts);
        return NULL;
    }
    struct nfs_client *c = calloc(1, sizeof(*c));
    if (!c)
        goto no_memory;
    c->setup = *setup;
    memcpy(c->connections, setup->connections, setup->connections_n * sizeof(*c->connections));
    c->parts_per_slot = (unsigned)per_slot;
    c->parts_n = (uint32_t)parts;
    c->parts = calloc(c->parts_n, sizeof(*c->parts));
    c->slots = calloc(setup->slots, sizeof(*c->slots));
    c->xid_mask = power_of_2(2 * c->parts_n) - 1;
    c->by_xid = calloc(c->xid_mask + (size_t)1, sizeof(*c->by_xid));
    c->call_bytes = make_template(c->read_call, NFS3_READ, setup->auth);
    make_template(c->write_call, NFS3_WRITE, setup->auth);
    if (!c->parts || !c->slots || !c->by_xid || !ring_make(&c->queue, c->parts_n) ||
        !ring_make(&c->finished, setup->slots))
        goto no_memory;
    /* Begins anywhere, so that a server's memory of an earlier run's xids is not met again. */
    c->now_ns = clock_ns();
    c->next_xid = (uint32_t)(c->now_ns * UINT64_C(0x9e3779b97f4a7c15) >> 32) ^ (uint32_t)gettid();
    return c;
no_memory:
    err_set(err, STATUS_FAILED, "out of memory");
    nfs_client_free(c);
    return NULL;
}

void nfs_client_free(struct nfs_client *c)
{
    if (!c)
        return;
    free(c->parts);
    free(c->slots);
    free(c->by_xid);
    free(c->queue.at);
    free(c->finished.at);
    free(c);
}

static void enqueue(struct nfs_client *c, uint32_t index)
{
    c->parts[index].state = PART_QUEUED;
    ring_put(&c->queue, index);
}

void nfs_client_start(struct nfs_client *c, uint32_t number, const struct nfs_io *io)
{
    struct slot *s = &c->slots[number];
    uint32_t most = io->write ? c->setup.write_bytes : c->setup.read_bytes;
    *s = (struct slot){.io = *io, .good = io->bytes};
    uint32_t index = number * c->parts_per_slot;
    for (uint32_t from = 0; from < io->bytes; index++, s->left++) {
        uint32_t bytes = io->bytes - from < most ? io->bytes - from : most;
        c->parts[index] = (struct part){.from = from, .bytes = bytes};
        enqueue(c, index);
        from += bytes;
    }
}

/* ---- lost connections ---- */

/* An operation of connection i failed and set c->why. What was outstanding on it waits to be sent
 * again. False: the client is over. */
static bool lose(struct nfs_client *c, unsigned i)
{
    if (!c->setup.again || !c->connections[i]->lost) {
        end(c, ENOTCONN);
        return false;
    }
    c->connections[i] = NULL;
    c->lost_n++;
    c->losses[i] = (struct loss){
        .since_ns = c->now_ns, .next_ns = c->now_ns, .pause_ns = AGAIN_FIRST_NS, .why = c->why};
    for (uint32_t index = 0; index < c->parts_n; index++) {
        struct part *p = &c->parts[index];
        if (p->state != PART_SENT || p->connection != i)
            continue;
        c->by_xid[p->xid & c->xid_mask] = 0;
        c->sent--;
        p->sent_ns = 0;
        enqueue(c, index);
    }
    return true;
}

/* Tries those whose time has come. False: one stayed away for too long. */
static bool reconnect(struct nfs_client *c)
{
    for (unsigned i = 0; i < c->setup.connections_n; i++) {
        struct loss *l = &c->losses[i];
        struct err err = {0};
        if (c->connections[i] || c->now_ns < l->next_ns)
            continue;
        c->connections[i] = c->setup.again(c->setup.again_ctx, i, &err);
        c->now_ns = clock_ns();
        if (c->connections[i]) {
            c->lost_n--;
            c->counts.reconnects++;
            c->why = (struct err){0};
            continue;
        }
        if (c->now_ns - l->since_ns > c->setup.again_for_ns)
            return err_set(&c->why, STATUS_FAILED, "%s; no new connection in %.1f s: %s",
                           l->why.text, (double)(c->now_ns - l->since_ns) / 1e9, err.text);
        l->next_ns = c->now_ns + l->pause_ns;
        l->pause_ns = 2 * l->pause_ns < AGAIN_MOST_NS ? 2 * l->pause_ns : AGAIN_MOST_NS;
    }
    return true;
}

/* ---- sending ---- */

static uint32_t take_xid(struct nfs_client *c, uint32_t index)
{
    while (c->by_xid[c->next_xid & c->xid_mask])
        c->next_xid++;
    uint32_t xid = c->next_xid++;
    c->by_xid[xid & c->xid_mask] = index + 1;
    return xid;
}

/* The next connection in turn that has a credit and room to send, or NULL. */
static struct transport *choose(struct nfs_client *c, void **buf)
{
    for (unsigned i = 0; i < c->setup.connections_n; i++) {
        unsigned n = (c->turn + i) % c->setup.connections_n;
        struct transport *t = c->connections[n];
        if (!t || t->outstanding >= t->granted)
            continue;
        *buf = t->ops->next(t);
        if (*buf) {
            c->turn = n;
            return t;
        }
    }
    return NULL;
}

static size_t put_part(struct nfs_client *c, struct transport *t, const struct part *p,
                       const struct nfs_io *io, void *buf)
{
    struct xdr_out out = xdr_out(buf, t->send_bytes);
    struct rpcrdma_segment segment = {
        .handle = t->rkey, .length = p->bytes, .offset = (uintptr_t)((char *)io->buf + p->from)};
    uint32_t args = (uint32_t)(4 + xdr_padded(io->fh->bytes) + 8 + 4 + 4 + 4);
    rpcrdma_put_call(&out, p->xid, t->credits, io->write ? CHUNK_READ : CHUNK_WRITE, &segment,
                     (uint32_t)c->call_bytes + args);
    uint8_t *call = out.at;
    xdr_put_fixed(&out, io->write ? c->write_call : c->read_call, c->call_bytes);
    struct xdr_out xid = xdr_out(call, out.ok ? 4 : 0);
    xdr_put_u32(&xid, p->xid);
    if (io->write)
        nfs3_put_write(&out, io->fh, io->offset + p->from, p->bytes, NFS3_FILE_SYNC);
    else
        nfs3_put_read(&out, io->fh, io->offset + p->from, p->bytes);
    return out.ok ? xdr_written(&out) : 0;
}

static bool send_queued(struct nfs_client *c)
{
    bool used[CONNECTIONS_MAX] = {false};
    /* First, as it closes what was lost: nothing may be sent again while that can still write. */
    if (c->lost_n && !reconnect(c))
        return false;
    while (c->queue.head != c->queue.tail) {
        void *buf;
        struct transport *t = choose(c, &buf);
        if (!t) {
            c->counts.credit_waits++;
            break;
        }
        uint32_t index = c->queue.at[c->queue.head++ & c->queue.mask];
        struct part *p = &c->parts[index];
        const struct slot *s = &c->slots[index / c->parts_per_slot];
        p->xid = take_xid(c, index);
        p->connection = c->turn;
        p->state = PART_SENT;
        if (!p->sent_ns)
            p->sent_ns = c->now_ns;
        size_t bytes = put_part(c, t, p, &s->io, buf);
        if (!bytes)
            return err_set(&c->why, STATUS_FAILED,
                           "RPC call of more than %u bytes, the server's inline size",
                           t->send_bytes);
        t->ops->send(t, bytes);
        t->outstanding++;
        c->sent++;
        used[c->turn] = true;
        c->turn = (c->turn + 1) % c->setup.connections_n;
    }
    for (unsigned i = 0; i < c->setup.connections_n; i++)
        if (used[i] && !c->connections[i]->ops->flush(c->connections[i], &c->why) && !lose(c, i))
            return false;
    return true;
}

int nfs_client_flush(struct nfs_client *c)
{
    if (c->over)
        return -c->over;
    c->now_ns = clock_ns();
    return send_queued(c) ? 0 : end(c, ENOTCONN);
}

/* ---- receiving ---- */

/* The bytes that a part moved, 0 with an error. The slot ends where its first short part ends. */
static void part_done(struct nfs_client *c, uint32_t index, uint32_t moved, int error)
{
    struct part *p = &c->parts[index];
    struct slot *s = &c->slots[index / c->parts_per_slot];
    p->state = PART_IDLE;
    if (error && (!s->error || p->from < s->error_at)) {
        s->error = error;
        s->error_at = p->from;
    }
    if (moved < p->bytes && p->from + moved < s->good)
        s->good = p->from + moved;
    if (--s->left == 0)
        ring_put(&c->finished, index / c->parts_per_slot);
}

static void delay(struct nfs_client *c, struct part *p)
{
    uint64_t factor = p->tries < 6 ? UINT64_C(1) << p->tries : RETRY_FACTOR_MAX;
    p->tries++;
    p->again_ns = c->now_ns + c->setup.retry_ns * factor;
    p->state = PART_DELAYED;
    c->delayed++;
    c->counts.jukebox++;
}

/* True when the status of a result ends the part's story. */
static bool failed_status(struct nfs_client *c, uint32_t index, uint32_t status)
{
    struct part *p = &c->parts[index];
    char text[64];
    if (status == NFS3_OK)
        return false;
    if (status == NFS3ERR_JUKEBOX) {
        delay(c, p);
        return true;
    }
    err_set(&c->why, STATUS_FAILED, "%s", nfs3_status_text(status, text, sizeof(text)));
    part_done(c, index, 0, nfs3_errno(status));
    return true;
}

static bool wrong(struct nfs_client *c, const struct part *p, const char *what, uint32_t got,
                  uint32_t asked)
{
    return err_set(&c->why, STATUS_FAILED, "reply to xid 0x%08x: %s: %u bytes, %u asked for",
                   p->xid, what, got, asked);
}

/* Count, length of the data and length of the chunk must tell one story (RFC 8166, 3.4.6;
 * RFC 8267, 2). A responder may have written the XDR padding of the data too. */
static bool read_done(struct nfs_client *c, uint32_t index, const struct rpcrdma_reply *r,
                      struct xdr_in *in)
{
    struct part *p = &c->parts[index];
    const struct slot *s = &c->slots[index / c->parts_per_slot];
    const struct rpcrdma_segment *w = &r->segments[0];
    struct nfs3_read result;
    if (!nfs3_get_read(in, &result, &c->why))
        return false;
    if (r->has_write && r->segments_n &&
        (w->handle != c->connections[p->connection]->rkey ||
         w->offset != (uintptr_t)((char *)s->io.buf + p->from)))
        return err_set(&c->why, STATUS_FAILED,
                       "reply to xid 0x%08x: its write chunk is not the one that was offered",
                       p->xid);
    uint32_t written = r->has_write && r->segments_n ? w->length : 0;
    if (written > p->bytes)
        return wrong(c, p, "the write chunk is longer than offered", written, p->bytes);
    if (failed_status(c, index, result.status))
        return true;
    if (result.count > p->bytes)
        return wrong(c, p, "READ returned more than asked", result.count, p->bytes);
    if (result.data_bytes != result.count)
        return err_set(&c->why, STATUS_FAILED,
                       "reply to xid 0x%08x: READ counts %u bytes, but its data are %u bytes long",
                       p->xid, result.count, result.data_bytes);
    if (written != result.count && written != xdr_padded(result.count))
        return err_set(&c->why, STATUS_FAILED,
                       "reply to xid 0x%08x: READ counts %u bytes, but %u were placed by RDMA",
                       p->xid, result.count, written);
    part_done(c, index, result.count, 0);
    return true;
}

static bool write_done(struct nfs_client *c, uint32_t index, struct xdr_in *in)
{
    struct part *p = &c->parts[index];
    struct nfs3_write result;
    if (!nfs3_get_write(in, &result, &c->why))
        return false;
    if (failed_status(c, index, result.status))
        return true;
    if (result.count > p->bytes)
        return wrong(c, p, "WRITE took more than it was given", result.count, p->bytes);
    if (result.committed != NFS3_FILE_SYNC)
        return err_set(&c->why, STATUS_FAILED,
                       "reply to xid 0x%08x: the server did not write through to stable storage as "
                       "asked",
                       p->xid);
    part_done(c, index, result.count, 0);
    return true;
}

static bool receive(struct nfs_client *c, unsigned connection, const struct transport_msg *msg)
{
    struct rpcrdma_reply r;
    if (!rpcrdma_get_reply(&r, msg->data, msg->bytes, &c->why))
        return false;
    uint32_t index = c->by_xid[r.xid & c->xid_mask] - 1;
    struct part *p = index != UINT32_MAX ? &c->parts[index] : NULL;
    if (!p || p->state != PART_SENT || p->xid != r.xid || p->connection != connection)
        return err_set(&c->why, STATUS_FAILED,
                       "RPC-over-RDMA: a reply to xid 0x%08x, which is not outstanding: answered "
                       "twice, or never asked",
                       r.xid);
    struct transport *t = c->connections[connection];
    c->by_xid[r.xid & c->xid_mask] = 0;
    c->sent--;
    t->outstanding--;
    transport_grant(t, r.credits);
    c->counts.calls++;
    struct xdr_in in = xdr_in(r.rpc, r.rpc_bytes);
    if (!rpc_get_reply(&in, r.xid, &c->why))
        return false;
    return c->slots[index / c->parts_per_slot].io.write ? write_done(c, index, &in)
                                                        : read_done(c, index, &r, &in);
}

/* Takes what has arrived on one connection. */
static int receive_on(struct nfs_client *c, unsigned i)
{
    struct transport_msg msgs[BATCH];
    struct transport *t = c->connections[i];
    int n;
    do {
        n = t->ops->poll(t, msgs, BATCH, &c->why);
        if (n < 0)
            return lose(c, i) ? 0 : -c->over;
        for (int m = 0; m < n; m++)
            if (!receive(c, i, &msgs[m]))
                return end(c, EPROTO);
        if (n && !t->ops->release(t, msgs, (unsigned)n, &c->why))
            return lose(c, i) ? 0 : -c->over;
    } while (n == BATCH);
    return 0;
}

static int receive_all(struct nfs_client *c)
{
    int r = 0;
    for (unsigned i = 0; r == 0 && i < c->setup.connections_n; i++)
        r = c->connections[i] ? receive_on(c, i) : 0;
    return r;
}

/* Makes every connection wake the thread up. */
static bool arm_all(struct nfs_client *c)
{
    for (unsigned i = 0; i < c->setup.connections_n; i++) {
        struct transport *t = c->connections[i];
        if (t && !t->ops->arm(t, &c->why) && !lose(c, i))
            return false;
    }
    return true;
}

/* Brings back what waited after NFS3ERR_JUKEBOX and looks at the deadlines. *next_ns becomes the
 * time of the next thing to do here. */
static int look_at_clock(struct nfs_client *c, uint64_t *next_ns)
{
    c->now_ns = clock_ns();
    *next_ns = c->now_ns + CHECK_NS;
    bool check = c->now_ns - c->checked_ns >= CHECK_NS && c->sent + c->delayed > 0;
    if (!check && !c->delayed)
        return 0;
    if (check)
        c->checked_ns = c->now_ns;
    for (uint32_t i = 0; i < c->parts_n; i++) {
        struct part *p = &c->parts[i];
        if (p->state != PART_SENT && p->state != PART_DELAYED)
            continue;
        if (c->now_ns - p->sent_ns > c->setup.deadline_ns) {
            double seconds = (double)(c->now_ns - p->sent_ns) / 1e9;
            if (p->tries)
                err_set(&c->why, STATUS_FAILED,
                        "NFS3ERR_JUKEBOX (the server asks to try again later) %u times in %.1f s",
                        p->tries, seconds);
            else
                err_set(&c->why, STATUS_FAILED, "no answer for %.1f s", seconds);
            return end(c, ETIMEDOUT);
        }
        if (p->state == PART_DELAYED && p->again_ns <= c->now_ns) {
            c->delayed--;
            enqueue(c, i);
        } else if (p->state == PART_DELAYED && p->again_ns < *next_ns) {
            *next_ns = p->again_ns;
        }
    }
    return 0;
}

static int sleep_until(struct nfs_client *c, uint64_t until_ns)
{
    struct pollfd fds[CONNECTIONS_MAX * TRANSPORT_FDS];
    unsigned n = 0;
    uint64_t now = clock_ns();
    if (until_ns <= now)
        return 0;
    for (unsigned i = 0; i < c->setup.connections_n; i++)
        n += c->connections[i] ? c->connections[i]->ops->fds(c->connections[i], fds + n) : 0;
    struct timespec ts = {.tv_sec = (time_t)((until_ns - now) / 1000000000),
                          .tv_nsec = (long)((until_ns - now) % 1000000000)};
    return ppoll(fds, n, &ts, NULL) < 0 ? -errno : 0;
}

static unsigned take_finished(struct nfs_client *c, struct nfs_done *done, unsigned max)
{
    unsigned n = 0;
    for (; n < max && c->finished.head != c->finished.tail; n++) {
        uint32_t number = c->finished.at[c->finished.head++ & c->finished.mask];
        const struct slot *s = &c->slots[number];
        done[n].slot = number;
        /* What came before the part that failed is not lost: the rest is asked for again. */
        done[n].result = s->error && s->good == 0 ? -s->error : (int32_t)s->good;
    }
    return n;
}

int nfs_client_reap(struct nfs_client *c, struct nfs_done *done, unsigned max, uint64_t timeout_ns)
{
    uint64_t until = clock_ns() + timeout_ns, next;
    bool armed = false;
    for (;;) {
        if (c->over)
            return -c->over;
        if (receive_all(c) || look_at_clock(c, &next))
            return -c->over;
        if (!send_queued(c))
            return end(c, ENOTCONN);
        unsigned n = take_finished(c, done, max);
        if (n || c->now_ns >= until)
            return (int)n;
        if (c->setup.spin)
            continue;
        if (!armed) {
            if (!arm_all(c))
                return -c->over;
            armed = true;
            continue; /* what came before the arming makes no event */
        }
        armed = false;
        if (sleep_until(c, next < until ? next : until) == -EINTR)
            return 0;
    }
}

const char *nfs_client_why(const struct nfs_client *c)
{
    return c->why.text[0] ? c->why.text : NULL;
}

const struct nfs_client_counts *nfs_client_counts(const struct nfs_client *c)
{
    return &c->counts;
}
