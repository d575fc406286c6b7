#define _GNU_SOURCE
#ifdef HAVE_VERBS
#include "cm.h"

#include "device.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* For each step; rdma_cm gives up by itself only after a minute or more. */
#define STEP_MS 5000
/* From a failed request to the event that says why. */
#define CAUSE_MS 500
/* IB_CM_REJ_* of the InfiniBand specification, table "REJ reason", as the kernel passes them. */
#define REJECT_NO_LISTENER 8
#define REJECT_STALE 10
#define REJECT_BY_PEER 28

uint64_t cm_now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Waits for one event; NULL with errno ETIMEDOUT when none came in time. */
static struct rdma_cm_event *next_event(struct cm *cm, int timeout_ms)
{
    struct rdma_cm_event *event;
    struct pollfd p = {.fd = cm->channel->fd, .events = POLLIN};
    uint64_t end = cm_now_ns() + (uint64_t)timeout_ms * 1000000;
    for (;;) {
        if (rdma_get_cm_event(cm->channel, &event) == 0)
            return event;
        if (errno != EAGAIN && errno != EINTR)
            return NULL;
        uint64_t now = cm_now_ns();
        if (now >= end) {
            errno = ETIMEDOUT;
            return NULL;
        }
        if (poll(&p, 1, (int)((end - now) / 1000000) + 1) < 0 && errno != EINTR)
            return NULL;
    }
}

static bool no_device_on_route(const struct cm *cm, const char *what, int error, struct err *err)
{
    char *list = verbs_device_list();
    err_set(err, STATUS_FAILED, "%s: %s: %s (RDMA devices here: %s; 'numaload topo' shows them)",
            cm->to.text, what, strerror(error), list ? list : "?");
    free(list);
    return false;
}

/* The outcome of a step as a sentence. */
static bool step_failed(struct cm *cm, const struct rdma_cm_event *event, const char *step,
                        struct err *err)
{
    if (!event)
        return err_set(err, STATUS_FAILED, "%s: %s: %s", cm->to.text, step,
                       errno == ETIMEDOUT ? "nothing happened for 5 s" : strerror(errno));
    int error = event->status < 0 ? -event->status : EIO;
    switch (event->event) {
    case RDMA_CM_EVENT_ADDR_ERROR:
        return no_device_on_route(cm, "no RDMA device leads there", error, err);
    case RDMA_CM_EVENT_ROUTE_ERROR:
        return no_device_on_route(cm, "no route", error, err);
    case RDMA_CM_EVENT_UNREACHABLE:
        return err_set(err, STATUS_FAILED,
                       "%s: the host does not answer connection requests (%s): is it up, and is "
                       "UDP port 4791 (RoCE) open?",
                       cm->to.text, strerror(error));
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
        return err_set(err, STATUS_FAILED, "%s: the RDMA device was removed", cm->to.text);
    default:
        return err_set(err, STATUS_FAILED, "%s: %s: %s (%s)", cm->to.text, step,
                       rdma_event_str(event->event), strerror(error));
    }
}

static bool expect(struct cm *cm, enum rdma_cm_event_type want, const char *step, struct err *err)
{
    struct rdma_cm_event *event = next_event(cm, STEP_MS);
    bool ok = event && event->event == want;
    if (!ok)
        step_failed(cm, event, step, err);
    if (event)
        rdma_ack_cm_event(event);
    return ok;
}

static bool open_channel(struct cm *cm, struct err *err)
{
    cm->channel = rdma_create_event_channel();
    if (!cm->channel) {
        char *list = verbs_device_list();
        err_set(err, STATUS_SKIP,
                "RDMA cannot be used here: %s (devices: %s; needed: an RDMA device, the kernel's "
                "rdma_ucm and ib_uverbs, /dev/infiniband/rdma_cm; 'tools/soft-roce up' makes a "
                "device in software)",
                strerror(errno), list ? list : "?");
        free(list);
        return false;
    }
    int flags = fcntl(cm->channel->fd, F_GETFL);
    if (flags < 0 || fcntl(cm->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        rdma_create_id(cm->channel, &cm->id, NULL, RDMA_PS_TCP))
        return err_set(err, STATUS_FAILED, "%s: rdma_create_id: %s", cm->to.text, strerror(errno));
    return true;
}

/* An address of the device to start from, so that the route begins there. */
static bool source_of(const struct verbs_device *d, sa_family_t family, struct sockaddr_storage *sa)
{
    if (d->iwarp) /* its GIDs are no addresses */
        return false;
    for (size_t i = 0; i < d->ports_n; i++) {
        const struct verbs_gid *g =
            verbs_gid_choose(d, &d->ports[i], family == AF_INET ? GID_IPV4 : GID_IPV6, NULL);
        if (!g || g->type != GID_ROCE_V2)
            continue;
        *sa = (struct sockaddr_storage){.ss_family = family};
        if (family == AF_INET)
            memcpy(&((struct sockaddr_in *)sa)->sin_addr, g->raw + 12, 4);
        else
            memcpy(&((struct sockaddr_in6 *)sa)->sin6_addr, g->raw, 16);
        return true;
    }
    return false;
}

/* Before the kernel is asked: a device that is not there, is down or has no address is named. */
static bool check_device(const char *device, sa_family_t family, struct sockaddr_storage *from,
                         bool *has_from, struct err *err)
{
    struct verbs_device d;
    bool ok = verbs_device_read(&d, device, err);
    bool usable = false;
    for (size_t i = 0; ok && !usable && i < d.ports_n; i++)
        usable = verbs_port_usable(&d, &d.ports[i], err) &&
                 verbs_gid_choose(&d, &d.ports[i], family == AF_INET ? GID_IPV4 : GID_IPV6, err);
    *has_from = usable && source_of(&d, family, from);
    verbs_device_free(&d);
    return ok && usable;
}

static bool check_found(const struct cm *cm, const char *device, struct err *err)
{
    const char *found = ibv_get_device_name(cm->id->verbs->device);
    struct verbs_device d;
    bool ok = true;
    if (device && strcmp(device, found) != 0)
        return err_set(err, STATUS_FAILED,
                       "%s is reached through %s, not through %s as asked with 'device'",
                       cm->to.text, found, device);
    if (verbs_device_read(&d, found, NULL)) {
        const struct verbs_port *p = verbs_device_port(&d, cm->id->port_num);
        ok = !p || verbs_port_usable(&d, p, err);
    }
    verbs_device_free(&d);
    return ok;
}

bool cm_resolve(struct cm *cm, const struct address *to, const char *device, struct err *err)
{
    struct sockaddr_storage from;
    bool has_from = false;
    *cm = (struct cm){.to = *to};
    if (device && !check_device(device, to->sa.ss_family, &from, &has_from, err))
        return false;
    if (!open_channel(cm, err))
        return false;
    if (rdma_resolve_addr(cm->id, has_from ? (struct sockaddr *)&from : NULL,
                          (struct sockaddr *)&cm->to.sa, STEP_MS))
        return no_device_on_route(cm, "no RDMA device leads there", errno, err);
    if (!expect(cm, RDMA_CM_EVENT_ADDR_RESOLVED, "looking for the device", err))
        return false;
    if (!cm->id->verbs) /* resolved to no device: a loopback address on old kernels */
        return no_device_on_route(cm, "no RDMA device leads there", ENODEV, err);
    if (!check_found(cm, device, err))
        return false;
    if (rdma_resolve_route(cm->id, STEP_MS))
        return no_device_on_route(cm, "no route", errno, err);
    return expect(cm, RDMA_CM_EVENT_ROUTE_RESOLVED, "looking for the route", err);
}

static void take_answer(struct cm_answer *a, const struct rdma_cm_event *event)
{
    const struct rdma_conn_param *p = &event->param.conn;
    *a = (struct cm_answer){.reads = p->initiator_depth};
    a->bytes = p->private_data ? p->private_data_len : 0;
    if (a->bytes)
        memcpy(a->data, p->private_data, a->bytes);
}

static bool rejected_text(const struct cm *cm, int status, struct err *err)
{
    if (status == REJECT_NO_LISTENER || status == -ECONNREFUSED)
        return err_set(err, STATUS_FAILED,
                       "%s: connection refused: nobody listens on this port (start 'numaload "
                       "serve' there)",
                       cm->to.text);
    if (status == REJECT_STALE)
        return err_set(
            err, STATUS_FAILED,
            "%s: the peer still had a connection of this machine that was cut off without "
            "a word (stale connection); it drops it now: try again",
            cm->to.text);
    if (status == REJECT_BY_PEER)
        return err_set(err, STATUS_FAILED, "%s: the peer rejected the connection", cm->to.text);
    return err_set(err, STATUS_FAILED, "%s: the connection was rejected, reason %d", cm->to.text,
                   status);
}

bool cm_connect(struct cm *cm, const void *data, uint8_t bytes, uint8_t reads, uint8_t answers,
                struct cm_answer *answer, bool *rejected, struct err *err)
{
    struct rdma_conn_param param = {
        .private_data = data,
        .private_data_len = bytes,
        .initiator_depth = reads,
        .responder_resources = answers,
        .retry_count = 6, /* as the kernel's NFS client; soft-RoCE takes 7 for "for ever" */
        .rnr_retry_count = 7,
    };
    *rejected = false;
    *answer = (struct cm_answer){0};
    if (rdma_connect(cm->id, &param))
        return err_set(err, STATUS_FAILED, "%s: rdma_connect: %s", cm->to.text, strerror(errno));
    struct rdma_cm_event *event = next_event(cm, STEP_MS);
    bool ok = event && event->event == RDMA_CM_EVENT_ESTABLISHED;
    if (ok) {
        take_answer(answer, event);
        cm->connected = true;
    } else if (event && event->event == RDMA_CM_EVENT_REJECTED) {
        *rejected = event->status != REJECT_STALE;
        take_answer(answer, event);
        rejected_text(cm, event->status, err);
    } else {
        step_failed(cm, event, "connecting", err);
    }
    if (event)
        rdma_ack_cm_event(event);
    return ok;
}

static void removed_text(struct cm *cm)
{
    cm->removed = true;
    snprintf(cm->lost, sizeof(cm->lost), "the RDMA device %s was removed",
             ibv_get_device_name(cm->id->verbs->device));
}

const char *cm_lost(struct cm *cm)
{
    struct rdma_cm_event *event;
    while (!cm->lost[0] && rdma_get_cm_event(cm->channel, &event) == 0) {
        switch (event->event) {
        case RDMA_CM_EVENT_DISCONNECTED:
            snprintf(cm->lost, sizeof(cm->lost), "%s closed the connection", cm->to.text);
            break;
        case RDMA_CM_EVENT_DEVICE_REMOVAL:
            removed_text(cm);
            break;
        case RDMA_CM_EVENT_ADDR_CHANGE:
        case RDMA_CM_EVENT_TIMEWAIT_EXIT:
            break;
        default:
            snprintf(cm->lost, sizeof(cm->lost), "connection to %s: %s", cm->to.text,
                     rdma_event_str(event->event));
        }
        rdma_ack_cm_event(event);
    }
    return cm->lost[0] ? cm->lost : NULL;
}

const char *cm_cause(struct cm *cm, bool *removed)
{
    struct ibv_port_attr port;
    struct pollfd p = {.fd = cm->channel->fd, .events = POLLIN};
    /* The kernel cuts a removed device off before the event comes, if it does. */
    if (!cm_lost(cm) && ibv_query_port(cm->id->verbs, cm->id->port_num, &port) == 0) {
        poll(&p, 1, CAUSE_MS);
        cm_lost(cm);
    }
    if (!cm->removed && ibv_query_port(cm->id->verbs, cm->id->port_num, &port))
        removed_text(cm);
    *removed = cm->removed;
    return cm->lost[0] ? cm->lost : NULL;
}

const char *cm_port_down(struct cm *cm)
{
    struct ibv_port_attr port;
    uint8_t number = cm->id->port_num;
    if (ibv_query_port(cm->id->verbs, number, &port) || port.state == IBV_PORT_ACTIVE)
        return NULL;
    snprintf(cm->port, sizeof(cm->port), "port %u of %s went down (%s)", number,
             ibv_get_device_name(cm->id->verbs->device), ibv_port_state_str(port.state));
    return cm->port;
}

void cm_close(struct cm *cm)
{
    if (cm->id) {
        if (cm->connected)
            rdma_disconnect(cm->id);
        if (cm->id->qp)
            rdma_destroy_qp(cm->id);
        rdma_destroy_id(cm->id);
    }
    if (cm->channel)
        rdma_destroy_event_channel(cm->channel);
    cm->id = NULL;
    cm->channel = NULL;
    cm->connected = false;
}
#endif
