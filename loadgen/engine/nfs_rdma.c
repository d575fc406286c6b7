/* An NFSv3 client over RPC-over-RDMA in user space: what the kernel's client does, with the queue
 * pairs, completion queues, completion vectors and buffers of each thread its own.
 *
 * A lost connection is made anew and the outstanding READs are sent again, for half the deadline at
 * most; the run goes on, but is invalid. If that fails, it ends and keeps what was measured. */
#define _GNU_SOURCE
#ifdef HAVE_VERBS
#include "engine.h"

#include "../../placement/place.h"
#include "../../verbs/device.h"
#include "../../verbs/limits.h"
#include "../../verbs/nfs_client.h"
#include "../../verbs/nfs_connect.h"
#include "../../verbs/nfs_find.h"
#include "../../verbs/rpcrdma_conn.h"
#include "../profile.h"
#include "../run/target.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CREDITS_MIN = 2, CREDITS_MAX = 128, DONE_BATCH = 64 };
#define JUKEBOX_NS UINT64_C(100000000)

/* What locate() found, for every thread; kept by the target. */
struct located {
    struct address server;
    uint32_t rtmax_bytes; /* least of all files */
    unsigned files_n;
    struct nfs_fh fhs[]; /* by file of the target */
};

/* All connections of a thread take the one vector that its place has. */
struct vector_ctx {
    const struct place *place;
    unsigned thread;
    bool chosen;
    unsigned vector;
};

struct engine {
    const struct located *located;
    struct rpc_auth auth;
    struct rpcrdma_domain domain;
    struct vector_ctx vector;
    struct rpcrdma_setup setup;
    uint64_t deadline_ns;
    bool poll;                      /* spin instead of sleeping */
    struct transport **connections; /* NULL: lost */
    unsigned connections_n;
    unsigned unanswered; /* connections given up because their first call had no answer */
    uint32_t granted_min, granted_max; /* of connections that were lost; 0: none */
    struct rpcrdma_facts facts;        /* of the first connection */
    struct nfs_client *client;
    uint32_t read_bytes;
    struct nfs_done done[DONE_BATCH];
};

static bool nfsr_check(unsigned threads, unsigned iodepth, struct err *err)
{
    (void)threads;
    (void)iodepth;
    (void)err;
    return true; /* locate() has made a connection already */
}

/* ---- what is at the other end ---- */

static bool check_holes(const char *url, const struct nfs3_attr *a, const struct profile *p,
                        struct err *err)
{
    char have[32], want[32];
    if (p->allow_sparse || a->used_bytes >= a->size_bytes)
        return true;
    return err_set(err, STATUS_FAILED,
                   "%s has %s but only %s on the server's storage: holes (or compression) read "
                   "faster than any storage. Write real data, or add --allow-sparse",
                   url, format_size(a->size_bytes, have, sizeof(have)),
                   format_size(a->used_bytes, want, sizeof(want)));
}

static bool add_files(const struct profile *p, struct target *t, struct transport *connection,
                      struct located *l, struct err *err)
{
    struct rpc_auth auth = rpc_auth_self();
    char server[sizeof(((struct nfs_url *)0)->server)] = "";
    for (unsigned i = 0; i < l->files_n; i++) {
        struct nfs_url u;
        struct nfs_found f;
        if (!nfs_url_parse(&u, p->paths[i], err))
            return false;
        if (i && strcmp(server, u.server) != 0)
            return err_set(err, STATUS_USAGE,
                           "all paths of engine nfs-rdma must be of one server: %s and %s", server,
                           u.server);
        memcpy(server, u.server, sizeof(server));
        if (!nfs_find(connection, &u, &auth, p->deadline_ns, &f, err) ||
            !check_holes(p->paths[i], &f.attr, p, err) ||
            !target_add(t, p->paths[i], f.attr.size_bytes, "nfs", err))
            return false;
        l->fhs[i] = f.fh;
        if (!l->rtmax_bytes || f.limits.rtmax_bytes < l->rtmax_bytes)
            l->rtmax_bytes = f.limits.rtmax_bytes;
    }
    return true;
}

/* Calls of READs that a connection has outstanding at most. */
static unsigned credits_of(const struct profile *p, uint32_t rtmax_bytes)
{
    uint64_t read_bytes = p->block_bytes < rtmax_bytes ? p->block_bytes : rtmax_bytes;
    uint64_t per_io = (p->block_bytes + read_bytes - 1) / read_bytes;
    uint64_t credits = (p->iodepth * per_io + p->nconnect - 1) / p->nconnect;
    if (credits < CREDITS_MIN)
        return CREDITS_MIN;
    return (unsigned)(credits < CREDITS_MAX ? credits : CREDITS_MAX);
}

static bool check_limits(const struct profile *p, uint32_t rtmax_bytes, const char *device,
                         struct err *err)
{
    struct verbs_device d;
    struct verbs_need need = {
        .threads = (unsigned)p->threads,
        .connections = (unsigned)p->nconnect,
        .depth = rpcrdma_requests(credits_of(p, rtmax_bytes)),
        .sge = 1,
        .mr_bytes = p->iodepth * p->block_bytes,
        .mrs_per_thread = 1 + 2 * (unsigned)p->nconnect, /* the data; calls and replies */
        .comp_vector = -1,
    };
    bool ok = verbs_device_read(&d, device, err) && verbs_limits_check(&d, &need, err);
    verbs_device_free(&d);
    return ok;
}

static bool nfsr_locate(const struct profile *p, struct target *t, struct err *err)
{
    struct nfs_url first;
    struct rpcrdma_domain domain = {0};
    struct rpcrdma_facts facts;
    struct transport *connection = NULL;
    unsigned n = 0, unanswered = 0;
    bool ok = false;
    while (p->paths[n])
        n++;
    struct located *l = calloc(1, sizeof(*l) + n * sizeof(l->fhs[0]));
    if (!l)
        return err_set(err, STATUS_FAILED, "out of memory");
    l->files_n = n;
    if (!nfs_url_parse(&first, p->paths[0], err) ||
        !address_parse(&l->server, first.server, NFS_RDMA_PORT, false, err))
        goto out;
    struct rpcrdma_setup setup = {
        .to = &l->server, .device = p->device, .domain = &domain, .credits = CREDITS_MIN};
    connection = nfs_connect(&setup, &facts, p->deadline_ns, &unanswered, err);
    ok = connection && add_files(p, t, connection, l, err) &&
         check_limits(p, l->rtmax_bytes, facts.device, err);
out:
    if (connection)
        connection->ops->close(connection);
    rpcrdma_domain_free(&domain);
    if (ok)
        t->located = l;
    else
        free(l);
    return ok;
}

/* ---- one thread ---- */

static bool choose_vector(void *ctx, const char *device, unsigned vectors, unsigned *vector,
                          struct err *err)
{
    struct vector_ctx *v = ctx;
    if (!v->chosen && !place_comp_vector(v->place, v->thread, device, vectors, &v->vector, err))
        return false;
    v->chosen = true;
    *vector = v->vector;
    return true;
}

static void nfsr_close(struct engine *e)
{
    nfs_client_free(e->client);
    for (unsigned i = 0; e->connections && i < e->connections_n; i++)
        if (e->connections[i])
            e->connections[i]->ops->close(e->connections[i]);
    rpcrdma_domain_free(&e->domain);
    free(e->connections);
    free(e);
}

static void add_grants(const struct transport *t, uint32_t *least, uint32_t *most)
{
    if (t->granted_max > *most)
        *most = t->granted_max;
    if (!*least || t->granted_min < *least)
        *least = t->granted_min;
}

static struct transport *connect_again(void *ctx, unsigned i, struct err *err)
{
    struct engine *e = ctx;
    struct rpcrdma_facts facts;
    const char *down = e->connections[i] ? rpcrdma_port_down(e->connections[i]) : NULL;
    if (down) {
        err_set(err, STATUS_FAILED, "%s", down);
        return NULL;
    }
    if (e->connections[i]) {
        add_grants(e->connections[i], &e->granted_min, &e->granted_max);
        e->connections[i]->ops->close(e->connections[i]);
    }
    e->connections[i] = nfs_connect(&e->setup, &facts, e->deadline_ns / 2, &e->unanswered, err);
    return e->connections[i];
}

static bool connect_all(struct engine *e, const struct engine_setup *s, struct err *err)
{
    e->vector = (struct vector_ctx){.place = s->place, .thread = s->thread};
    e->setup = (struct rpcrdma_setup){
        .to = &e->located->server,
        .device = s->profile->device,
        .domain = &e->domain,
        .memory = s->buffers,
        .bytes = s->iodepth * s->block_bytes,
        .credits = credits_of(s->profile, e->located->rtmax_bytes),
        .vector = choose_vector,
        .vector_ctx = &e->vector,
    };
    for (unsigned i = 0; i < e->connections_n; i++) {
        struct rpcrdma_facts facts;
        e->connections[i] = nfs_connect(&e->setup, &facts, e->deadline_ns, &e->unanswered, err);
        if (!e->connections[i])
            return err_prefix(err, "thread %u, connection %u of %u", s->thread, i + 1,
                              e->connections_n);
        if (i == 0)
            e->facts = facts;
    }
    return true;
}

static struct engine *nfsr_open(const struct engine_setup *s, struct err *err)
{
    struct engine *e = calloc(1, sizeof(*e));
    if (!e) {
        err_set(err, STATUS_FAILED, "out of memory");
        return NULL;
    }
    e->located = s->target->located;
    e->auth = rpc_auth_self();
    e->deadline_ns = s->profile->deadline_ns;
    e->poll = profile_polls(s->profile);
    e->read_bytes = (uint32_t)(s->block_bytes < e->located->rtmax_bytes ? s->block_bytes
                                                                        : e->located->rtmax_bytes);
    e->connections_n = (unsigned)s->profile->nconnect;
    e->connections = calloc(e->connections_n, sizeof(*e->connections));
    if (!e->connections) {
        err_set(err, STATUS_FAILED, "out of memory");
        goto fail;
    }
    if (!connect_all(e, s, err))
        goto fail;
    struct nfs_client_setup setup = {
        .connections = e->connections,
        .connections_n = e->connections_n,
        .auth = &e->auth,
        .slots = s->iodepth,
        .io_bytes = (uint32_t)s->block_bytes,
        .read_bytes = e->read_bytes,
        .write_bytes = e->read_bytes,
        .deadline_ns = e->deadline_ns,
        .retry_ns = JUKEBOX_NS,
        .spin = e->poll,
        .again = connect_again,
        .again_ctx = e,
        .again_for_ns = e->deadline_ns / 2, /* before the run is ended for its stillness */
    };
    e->client = nfs_client_new(&setup, err);
    if (e->client)
        return e;
fail:
    nfsr_close(e);
    return NULL;
}

static int nfsr_submit(struct engine *e, const struct io *ios, const uint32_t *slots, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct io *io = &ios[slots[i]];
        nfs_client_start(e->client, slots[i],
                         &(struct nfs_io){.buf = io->buf,
                                          .offset = io->offset,
                                          .bytes = io->want - io->done,
                                          .fh = &e->located->fhs[io->file]});
    }
    int r = nfs_client_flush(e->client);
    return r ? r : (int)n;
}

static int nfsr_reap(struct engine *e, struct completion *done, unsigned max, uint64_t timeout_ns)
{
    int n = nfs_client_reap(e->client, e->done, max < DONE_BATCH ? max : DONE_BATCH, timeout_ns);
    for (int i = 0; i < n; i++)
        done[i] = (struct completion){.slot = e->done[i].slot, .result = e->done[i].result};
    return n;
}

static json_t *nfsr_features(const struct engine *e)
{
    return json_pack("{s:b, s:b}", "inline_calls", e->facts.wqe_inline_bytes > 0, "private_data",
                     e->facts.private_data);
}

static json_t *nfsr_facts(const struct engine *e)
{
    const struct nfs_client_counts *c = nfs_client_counts(e->client);
    struct verbs_device d;
    json_t *device =
        verbs_device_read(&d, e->facts.device, NULL) ? verbs_device_json(&d) : json_null();
    verbs_device_free(&d);
    uint32_t least = e->granted_min, most = e->granted_max;
    for (unsigned i = 0; i < e->connections_n; i++)
        if (e->connections[i])
            add_grants(e->connections[i], &least, &most);
    return json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:s, s:o}",
        "device", e->facts.device, "comp_vector", (json_int_t)e->facts.comp_vector, "nconnect",
        (json_int_t)e->connections_n, "read_bytes", (json_int_t)e->read_bytes, "rtmax_bytes",
        (json_int_t)e->located->rtmax_bytes, "credits_asked", (json_int_t)e->setup.credits,
        "credits_granted_min", (json_int_t)least, "credits_granted_max", (json_int_t)most,
        "inline_send_bytes", (json_int_t)e->facts.inline_send_bytes, "inline_recv_bytes",
        (json_int_t)e->facts.inline_recv_bytes, "server_can_invalidate",
        e->facts.remote_invalidation, "jukebox_replies", (json_int_t)c->jukebox,
        "first_calls_unanswered", (json_int_t)e->unanswered, "reconnects",
        (json_int_t)c->reconnects, "completion", e->poll ? "poll" : "event", "device_facts",
        device);
}

static const char *nfsr_why(struct engine *e)
{
    return nfs_client_why(e->client);
}

const struct engine_ops engine_nfs_rdma = {
    .name = "nfs-rdma",
    .spins = true,
    .own_cqs = true,
    .check = nfsr_check,
    .locate = nfsr_locate,
    .open = nfsr_open,
    .submit = nfsr_submit,
    .reap = nfsr_reap,
    .features = nfsr_features,
    .facts = nfsr_facts,
    .why = nfsr_why,
    .close = nfsr_close,
};
#endif
