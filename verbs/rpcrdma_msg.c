#include "rpcrdma_msg.h"

#define PRIVATE_MAGIC 0xf6ab0e18u /* RFC 8797, 4.1 */
enum { PRIVATE_VERSION = 1, PRIVATE_INVALIDATE = 1, PRIVATE_UNIT = 1024 };

static void put_segment(struct xdr_out *out, const struct rpcrdma_segment *s)
{
    xdr_put_u32(out, s->handle);
    xdr_put_u32(out, s->length);
    xdr_put_u64(out, s->offset);
}

void rpcrdma_put_call(struct xdr_out *out, uint32_t xid, uint32_t credits, enum rpcrdma_chunk chunk,
                      const struct rpcrdma_segment *segment, uint32_t position)
{
    xdr_put_u32(out, xid);
    xdr_put_u32(out, RPCRDMA_VERSION);
    xdr_put_u32(out, credits);
    xdr_put_u32(out, RDMA_MSG);
    if (chunk == CHUNK_READ) {
        xdr_put_u32(out, 1);
        xdr_put_u32(out, position);
        put_segment(out, segment);
    }
    xdr_put_u32(out, 0); /* end of the read list */
    if (chunk == CHUNK_WRITE) {
        xdr_put_u32(out, 1);
        xdr_put_u32(out, 1);
        put_segment(out, segment);
    }
    xdr_put_u32(out, 0); /* end of the write list */
    xdr_put_u32(out, 0); /* no reply chunk */
}

static bool bad(struct err *err, const struct rpcrdma_reply *r, const char *what)
{
    return err_set(err, STATUS_FAILED, "RPC-over-RDMA reply to xid 0x%08x: %s", r->xid, what);
}

static bool get_error(struct xdr_in *in, const struct rpcrdma_reply *r, struct err *err)
{
    uint32_t error = xdr_u32(in), low = 0, high = 0;
    if (error == ERR_VERS) {
        low = xdr_u32(in);
        high = xdr_u32(in);
    }
    if (!in->ok)
        return bad(err, r, "RDMA_ERROR that is cut off");
    if (error == ERR_VERS)
        return err_set(err, STATUS_FAILED,
                       "RPC-over-RDMA: the server refuses version 1 (ERR_VERS); it speaks %u to %u",
                       low, high);
    if (error == ERR_CHUNK)
        return bad(err, r, "the server could not use the chunk of the call (ERR_CHUNK)");
    return err_set(err, STATUS_FAILED,
                   "RPC-over-RDMA reply to xid 0x%08x: RDMA_ERROR with unknown code %u", r->xid,
                   error);
}

/* A discriminator of an optional item: 0 or 1 and nothing else (RFC 4506, 4.19). */
static bool get_flag(struct xdr_in *in, bool *present)
{
    uint32_t v = xdr_u32(in);
    *present = v == 1;
    return in->ok && v <= 1;
}

static bool get_write_list(struct xdr_in *in, struct rpcrdma_reply *r, struct err *err)
{
    bool more;
    if (!get_flag(in, &r->has_write))
        return bad(err, r, "the write list is cut off or no list");
    if (!r->has_write)
        return true;
    r->segments_n = xdr_u32(in);
    if (r->segments_n > RPCRDMA_SEGMENTS_MAX) {
        uint32_t n = r->segments_n;
        r->segments_n = 0;
        return err_set(err, STATUS_FAILED,
                       "RPC-over-RDMA reply to xid 0x%08x: write chunk of %u segments, %u offered",
                       r->xid, n, RPCRDMA_SEGMENTS_MAX);
    }
    for (uint32_t i = 0; i < r->segments_n; i++) {
        r->segments[i].handle = xdr_u32(in);
        r->segments[i].length = xdr_u32(in);
        r->segments[i].offset = xdr_u64(in);
    }
    if (!get_flag(in, &more))
        return bad(err, r, "the write list is cut off or no list");
    return !more || bad(err, r, "more write chunks than were offered");
}

bool rpcrdma_get_reply(struct rpcrdma_reply *r, const void *data, size_t bytes, struct err *err)
{
    struct xdr_in in = xdr_in(data, bytes);
    bool present;
    *r = (struct rpcrdma_reply){.xid = xdr_u32(&in)};
    uint32_t version = xdr_u32(&in);
    r->credits = xdr_u32(&in);
    uint32_t proc = xdr_u32(&in);
    if (!in.ok)
        return err_set(err, STATUS_FAILED,
                       "RPC-over-RDMA: a message of %zu bytes, too short for its header", bytes);
    if (version != RPCRDMA_VERSION)
        return err_set(err, STATUS_FAILED,
                       "RPC-over-RDMA reply to xid 0x%08x: version %u, asked in version 1", r->xid,
                       version);
    if (proc == RDMA_ERROR)
        return get_error(&in, r, err);
    if (proc == RDMA_NOMSG)
        return bad(err, r, "RDMA_NOMSG, but no reply chunk was offered");
    if (proc != RDMA_MSG)
        return err_set(err, STATUS_FAILED,
                       "RPC-over-RDMA reply to xid 0x%08x: message type %u, which no server sends",
                       r->xid, proc);
    if (!get_flag(&in, &present))
        return bad(err, r, "the read list is cut off or no list");
    if (present)
        return bad(err, r, "a read list, which only calls have");
    if (!get_write_list(&in, r, err))
        return false;
    if (!get_flag(&in, &present))
        return bad(err, r, "the reply chunk is cut off or none");
    if (present)
        return bad(err, r, "a reply chunk, but none was offered");
    r->rpc = in.at;
    r->rpc_bytes = xdr_left(&in);
    return true;
}

static uint8_t encode_size(uint32_t bytes)
{
    uint32_t units = bytes / PRIVATE_UNIT;
    return (uint8_t)(units < 1 ? 0 : units > 256 ? 255 : units - 1);
}

void rpcrdma_put_private(uint8_t data[RPCRDMA_PRIVATE_BYTES], const struct rpcrdma_private *p)
{
    struct xdr_out out = xdr_out(data, RPCRDMA_PRIVATE_BYTES);
    xdr_put_u32(&out, PRIVATE_MAGIC);
    xdr_put_fixed(&out,
                  (uint8_t[4]){PRIVATE_VERSION, p->remote_invalidation ? PRIVATE_INVALIDATE : 0,
                               encode_size(p->send_bytes), encode_size(p->recv_bytes)},
                  4);
}

struct rpcrdma_private rpcrdma_get_private(const void *data, size_t bytes)
{
    struct xdr_in in = xdr_in(data, data ? bytes : 0);
    uint32_t magic = xdr_u32(&in);
    const uint8_t *b = xdr_fixed(&in, 4);
    if (!b || magic != PRIVATE_MAGIC || b[0] != PRIVATE_VERSION)
        return (struct rpcrdma_private){.send_bytes = RPCRDMA_INLINE_DEFAULT,
                                        .recv_bytes = RPCRDMA_INLINE_DEFAULT};
    return (struct rpcrdma_private){
        .present = true,
        .remote_invalidation = b[1] & PRIVATE_INVALIDATE,
        .send_bytes = (b[2] + 1u) * PRIVATE_UNIT,
        .recv_bytes = (b[3] + 1u) * PRIVATE_UNIT,
    };
}
