#define _GNU_SOURCE
#include "nfs_call.h"

#include "rpcrdma_msg.h"

#include <errno.h>
#include <time.h>

static uint64_t clock_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void transport_grant(struct transport *t, uint32_t credits)
{
    if (credits < t->granted_min || t->granted_max == 0)
        t->granted_min = credits;
    if (credits > t->granted_max)
        t->granted_max = credits;
    t->granted = credits < 1 ? 1 : credits > t->credits ? t->credits : credits;
}

void nfs_call_begin(struct nfs_call *call)
{
    call->args = xdr_out(call->args_memory, sizeof(call->args_memory));
}

static bool wait_event(struct transport *t, uint64_t deadline_ns, struct err *err)
{
    struct pollfd fds[TRANSPORT_FDS];
    uint64_t now = clock_ns();
    if (now >= deadline_ns)
        return err_set(err, STATUS_FAILED, "the server does not answer");
    unsigned n = t->ops->fds(t, fds);
    int ms = (int)((deadline_ns - now) / 1000000 + 1);
    if (poll(fds, n, ms < 1000 ? ms : 1000) < 0 && errno != EINTR)
        return err_set(err, STATUS_FAILED, "poll: %s", strerror(errno));
    return true;
}

static bool take_reply(struct transport *t, struct nfs_call *call, uint32_t xid,
                       const struct transport_msg *msg, struct err *err)
{
    struct rpcrdma_reply r;
    if (!rpcrdma_get_reply(&r, msg->data, msg->bytes, err))
        return false;
    if (r.xid != xid)
        return err_set(err, STATUS_FAILED,
                       "RPC-over-RDMA: a reply to xid 0x%08x, which is not outstanding", r.xid);
    if (r.rpc_bytes > sizeof(call->results_memory))
        return err_set(err, STATUS_FAILED, "NFS reply of %zu bytes, at most %d can be", r.rpc_bytes,
                       NFS_RESULTS_MAX);
    transport_grant(t, r.credits);
    memcpy(call->results_memory, r.rpc, r.rpc_bytes);
    call->results = xdr_in(call->results_memory, r.rpc_bytes);
    return rpc_get_reply(&call->results, xid, err);
}

bool nfs_call(struct transport *t, struct nfs_call *call, enum nfs3_proc procedure,
              const struct rpc_auth *auth, uint64_t deadline_ns, struct err *err)
{
    static _Atomic uint32_t calls;
    uint32_t xid = (uint32_t)clock_ns() ^ ++calls << 24;
    uint64_t until = clock_ns() + deadline_ns;
    struct transport_msg msg;
    void *buf = t->ops->next(t);
    if (!buf)
        return err_set(err, STATUS_FAILED, "RPC-over-RDMA: the send queue is full");
    struct xdr_out out = xdr_out(buf, t->send_bytes);
    rpcrdma_put_call(&out, xid, t->credits, CHUNK_NONE, NULL, 0);
    rpc_put_call(&out, xid, NFS_PROGRAM, NFS_VERSION, procedure, auth);
    xdr_put_fixed(&out, call->args_memory, xdr_written(&call->args));
    if (!out.ok || !call->args.ok)
        return err_set(err, STATUS_FAILED,
                       "RPC call of more than %u bytes, the server's inline size", t->send_bytes);
    t->ops->send(t, xdr_written(&out));
    if (!t->ops->flush(t, err))
        return false;
    t->outstanding++;
    for (;;) {
        int n = t->ops->poll(t, &msg, 1, err);
        if (n < 0)
            return false;
        if (n == 0) {
            if (!t->ops->arm(t, err))
                return false;
            n = t->ops->poll(t, &msg, 1, err);
            if (n < 0 || (n == 0 && !wait_event(t, until, err)))
                return false;
        }
        if (n == 0)
            continue;
        t->outstanding--;
        bool ok = take_reply(t, call, xid, &msg, err);
        return t->ops->release(t, &msg, 1, err) && ok;
    }
}
