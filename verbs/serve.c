#define _GNU_SOURCE
#ifdef HAVE_VERBS
#include "serve.h"

#include "device.h"
#include "limits.h"
#include "offer.h"

#include "../placement/text.h"

#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BACKLOG 1024

/* One a device: what all its connections share. */
struct region {
    struct ibv_context *ctx;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr; /* NULL after it was revoked */
    unsigned reads;    /* that a queue pair answers at a time */
};

struct client {
    struct client *next;
    struct rdma_cm_id *id;
    bool probe;
};

struct responder {
    struct responder_setup setup;
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener;
    struct region *regions;
    size_t regions_n;
    struct client *clients;
    struct responder_counts counts;
    bool revoked;
};

static void say(const struct responder *r, const char *fmt, const char *who)
{
    char text[256];
    snprintf(text, sizeof(text), fmt, who);
    if (r->setup.say)
        r->setup.say(text);
}

/* ---- memory ---- */

static bool check_limits(const struct responder *r, struct ibv_context *ctx, struct err *err)
{
    struct verbs_device d;
    struct verbs_need need = {.threads = 1, .mr_bytes = r->setup.bytes, .comp_vector = -1};
    bool ok = verbs_device_read(&d, ibv_get_device_name(ctx->device), err) &&
              verbs_limits_check(&d, &need, err);
    verbs_device_free(&d);
    return ok;
}

static bool add_region(struct responder *r, struct ibv_context *ctx, struct err *err)
{
    struct ibv_device_attr attr;
    if (!check_limits(r, ctx, err))
        return false;
    struct region *bigger = realloc(r->regions, (r->regions_n + 1) * sizeof(*bigger));
    if (!bigger)
        return err_set(err, STATUS_FAILED, "out of memory");
    r->regions = bigger;
    struct region *g = &r->regions[r->regions_n++];
    *g = (struct region){.ctx = ctx, .reads = 1};
    if (ibv_query_device(ctx, &attr) == 0 && attr.max_qp_rd_atom > 0)
        g->reads = attr.max_qp_rd_atom < 255 ? (unsigned)attr.max_qp_rd_atom : 255;
    g->pd = ibv_alloc_pd(ctx);
    g->cq = g->pd ? ibv_create_cq(ctx, 16, NULL, NULL, 0) : NULL;
    if (g->cq)
        g->mr = ibv_reg_mr(g->pd, r->setup.memory, r->setup.bytes,
                           IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                               IBV_ACCESS_RELAXED_ORDERING);
    if (g->mr)
        return true;
    return err_set(err, STATUS_FAILED, "%s: registering %llu bytes: %s%s",
                   ibv_get_device_name(ctx->device), (unsigned long long)r->setup.bytes,
                   strerror(errno),
                   errno == ENOMEM ? " (RLIMIT_MEMLOCK too low? ulimit -l unlimited)" : "");
}

/* An address belongs to one device; every address to all of them. */
static bool add_regions(struct responder *r, struct err *err)
{
    int n = 0;
    struct ibv_context **all = r->listener->verbs ? NULL : rdma_get_devices(&n);
    const char *only = r->setup.device;
    bool ok = true;
    if (r->listener->verbs) {
        const char *name = ibv_get_device_name(r->listener->verbs->device);
        if (only && strcmp(only, name) != 0)
            return err_set(err, STATUS_FAILED, "%s is an address of %s, not of %s",
                           r->setup.listen->text, name, only);
        return add_region(r, r->listener->verbs, err);
    }
    for (int i = 0; i < n && ok; i++)
        if (!only || strcmp(only, ibv_get_device_name(all[i]->device)) == 0)
            ok = add_region(r, all[i], err);
    if (all)
        rdma_free_devices(all);
    return ok &&
           (r->regions_n || err_set(err, STATUS_FAILED, "there is no RDMA device to serve on"));
}

static struct region *region_of(struct responder *r, const struct ibv_context *ctx)
{
    for (size_t i = 0; i < r->regions_n; i++)
        if (r->regions[i].ctx == ctx)
            return &r->regions[i];
    return NULL;
}

void responder_revoke(struct responder *r)
{
    r->revoked = true;
    for (size_t i = 0; i < r->regions_n; i++)
        if (r->regions[i].mr && ibv_dereg_mr(r->regions[i].mr) == 0)
            r->regions[i].mr = NULL;
}

/* ---- clients ---- */

static const char *name_of(struct rdma_cm_id *id, struct address *a)
{
    memcpy(&a->sa, rdma_get_peer_addr(id), sizeof(a->sa));
    address_name(a);
    return a->text;
}

static void reject(struct responder *r, struct rdma_cm_id *id, enum offer_answer answer)
{
    uint8_t data[OFFER_BYTES];
    struct offer o = {.answer = answer, .node = -1};
    struct address from;
    offer_encode(data, &o);
    r->counts.rejected++;
    say(r, "a connection from %s was rejected", name_of(id, &from));
    rdma_reject(id, data, sizeof(data));
    rdma_destroy_id(id);
}

static bool accept_client(struct responder *r, struct rdma_cm_id *id, struct region *g,
                          unsigned asked)
{
    uint8_t data[OFFER_BYTES];
    struct ibv_qp_init_attr attr = {
        .send_cq = g->cq,
        .recv_cq = g->cq,
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 1, .max_send_sge = 1, .max_recv_wr = 1, .max_recv_sge = 1},
    };
    unsigned reads = asked && asked < g->reads ? asked : g->reads;
    struct offer o = {.answer = OFFER_TAKEN,
                      .bytes = r->setup.bytes,
                      .address = (uintptr_t)r->setup.memory,
                      .rkey = g->mr->rkey,
                      .node = r->setup.node,
                      .salt = r->setup.salt,
                      .reads = reads};
    struct rdma_conn_param param = {
        .private_data = data,
        .private_data_len = sizeof(data),
        .responder_resources = (uint8_t)reads,
        .rnr_retry_count = 7,
    };
    offer_encode(data, &o);
    return rdma_create_qp(id, g->pd, &attr) == 0 && rdma_accept(id, &param) == 0;
}

static void on_request(struct responder *r, const struct rdma_cm_event *event)
{
    const struct rdma_conn_param *p = &event->param.conn;
    struct region *g = region_of(r, event->id->verbs);
    enum hello_purpose purpose = HELLO_LOAD;
    bool known = p->private_data && hello_decode(p->private_data, p->private_data_len, &purpose);
    if (!known || r->revoked || !g) {
        reject(r, event->id,
               !known       ? OFFER_OTHER_VERSION
               : r->revoked ? OFFER_REVOKED
                            : OFFER_NO_RESOURCES);
        return;
    }
    struct client *c = calloc(1, sizeof(*c));
    /* The request's responder_resources is what the client would have on the wire. */
    if (!c || !accept_client(r, event->id, g, p->responder_resources)) {
        free(c);
        if (event->id->qp)
            rdma_destroy_qp(event->id);
        reject(r, event->id, OFFER_NO_RESOURCES);
        return;
    }
    *c = (struct client){.next = r->clients, .id = event->id, .probe = purpose == HELLO_PROBE};
    event->id->context = c;
    r->clients = c;
    if (c->probe) {
        r->counts.probes++;
    } else {
        r->counts.clients++;
        r->counts.present++;
    }
}

static void drop(struct responder *r, struct client *c)
{
    struct client **at = &r->clients;
    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
    if (!c->probe)
        r->counts.present--;
    rdma_disconnect(c->id);
    if (c->id->qp)
        rdma_destroy_qp(c->id);
    rdma_destroy_id(c->id);
    free(c);
}

/* Returns what must be dropped once the event is acknowledged. */
static struct client *on_event(struct responder *r, const struct rdma_cm_event *event, bool *gone)
{
    switch (event->event) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
        on_request(r, event);
        return NULL;
    case RDMA_CM_EVENT_ESTABLISHED:
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
    case RDMA_CM_EVENT_ADDR_CHANGE:
        return NULL;
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
        if (event->id == r->listener)
            *gone = true;
        break;
    default:
        break;
    }
    return event->id == r->listener ? NULL : event->id->context;
}

bool responder_step(struct responder *r, struct err *err)
{
    struct rdma_cm_event *event;
    bool gone = false;
    while (!gone && rdma_get_cm_event(r->channel, &event) == 0) {
        struct client *c = on_event(r, event, &gone);
        rdma_ack_cm_event(event);
        if (c)
            drop(r, c);
    }
    if (gone)
        return err_set(err, STATUS_FAILED, "the RDMA device was removed");
    return errno == EAGAIN || errno == EINTR ||
           err_set(err, STATUS_FAILED, "rdma_get_cm_event: %s", strerror(errno));
}

/* ---- all of it ---- */

static bool listen_on(struct responder *r, struct address *bound, struct err *err)
{
    const struct address *at = r->setup.listen;
    if (rdma_create_id(r->channel, &r->listener, NULL, RDMA_PS_TCP))
        return err_set(err, STATUS_FAILED, "rdma_create_id: %s", strerror(errno));
    if (rdma_bind_addr(r->listener, (struct sockaddr *)&at->sa)) {
        char *list = verbs_device_list();
        err_set(err, STATUS_FAILED, "listening on %s: %s%s (RDMA devices here: %s)", at->text,
                strerror(errno),
                errno == EADDRINUSE      ? ": another program listens there"
                : errno == EADDRNOTAVAIL ? ": no interface has this address"
                : errno == ENODEV        ? ": no RDMA device has this address"
                                         : "",
                list ? list : "?");
        free(list);
        return false;
    }
    if (!add_regions(r, err))
        return false;
    if (rdma_listen(r->listener, BACKLOG))
        return err_set(err, STATUS_FAILED, "listening on %s: %s", at->text, strerror(errno));
    memcpy(&bound->sa, rdma_get_local_addr(r->listener), sizeof(bound->sa));
    address_name(bound);
    return true;
}

struct responder *responder_open(const struct responder_setup *setup, struct address *bound,
                                 struct err *err)
{
    struct responder *r = calloc(1, sizeof(*r));
    if (!r) {
        err_set(err, STATUS_FAILED, "out of memory");
        return NULL;
    }
    r->setup = *setup;
    r->channel = rdma_create_event_channel();
    if (!r->channel) {
        char *list = verbs_device_list();
        err_set(err, STATUS_SKIP,
                "RDMA cannot be used here: %s (devices: %s; needed: an RDMA device, the kernel's "
                "rdma_ucm and ib_uverbs; 'tools/soft-roce up' makes a device in software)",
                strerror(errno), list ? list : "?");
        free(list);
        goto fail;
    }
    int flags = fcntl(r->channel->fd, F_GETFL);
    if (flags < 0 || fcntl(r->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        err_set(err, STATUS_FAILED, "event channel: %s", strerror(errno));
        goto fail;
    }
    if (listen_on(r, bound, err))
        return r;
fail:
    responder_close(r);
    return NULL;
}

int responder_fd(const struct responder *r)
{
    return r->channel->fd;
}

struct responder_counts responder_counts(const struct responder *r)
{
    return r->counts;
}

char *responder_devices(const struct responder *r)
{
    char *list = NULL;
    for (size_t i = 0; i < r->regions_n; i++)
        text_append(&list, "%s%s", list ? ", " : "",
                    ibv_get_device_name(r->regions[i].ctx->device));
    return list;
}

void responder_close(struct responder *r)
{
    while (r->clients)
        drop(r, r->clients);
    if (r->listener)
        rdma_destroy_id(r->listener);
    for (size_t i = 0; i < r->regions_n; i++) {
        struct region *g = &r->regions[i];
        if (g->mr)
            ibv_dereg_mr(g->mr);
        if (g->cq)
            ibv_destroy_cq(g->cq);
        if (g->pd)
            ibv_dealloc_pd(g->pd);
    }
    free(r->regions);
    if (r->channel)
        rdma_destroy_event_channel(r->channel);
    free(r);
}
#endif
