/* The transport header of RPC-over-RDMA version 1 (RFC 8166) and its private data (RFC 8797).
 *
 * A call carries at most one read chunk (the data of a WRITE) or one write chunk (room for the data
 * of a READ), of one segment each, since the buffers of a thread are one registration. No reply
 * chunk is offered: the largest reply of the procedures in nfs3.h without READ's data is under 300
 * bytes, and no inline size is below 1024. */
#ifndef NUMALOAD_VERBS_RPCRDMA_MSG_H
#define NUMALOAD_VERBS_RPCRDMA_MSG_H

#include "xdr.h"

#include "../placement/err.h"

enum {
    RPCRDMA_VERSION = 1,
    RPCRDMA_INLINE_DEFAULT = 1024, /* without private data, RFC 8166, 3.3.2 */
    RPCRDMA_SEGMENTS_MAX = 1,      /* what a call offers, and thus a reply may return */
    RPCRDMA_PRIVATE_BYTES = 8,
};

enum rpcrdma_proc { RDMA_MSG = 0, RDMA_NOMSG = 1, RDMA_MSGP = 2, RDMA_DONE = 3, RDMA_ERROR = 4 };
enum rpcrdma_error { ERR_VERS = 1, ERR_CHUNK = 2 };

struct rpcrdma_segment {
    uint32_t handle; /* rkey */
    uint32_t length; /* bytes */
    uint64_t offset; /* virtual address */
};

enum rpcrdma_chunk { CHUNK_NONE, CHUNK_READ, CHUNK_WRITE };

/* Writes the header of a call. `position` is the offset in the RPC message at which a read chunk's
 * data belong. */
void rpcrdma_put_call(struct xdr_out *out, uint32_t xid, uint32_t credits, enum rpcrdma_chunk chunk,
                      const struct rpcrdma_segment *segment, uint32_t position);

struct rpcrdma_reply {
    uint32_t xid;
    uint32_t credits;                                      /* granted by the server */
    bool has_write;                                        /* the offered write chunk came back */
    uint32_t segments_n;                                   /* of it */
    struct rpcrdma_segment segments[RPCRDMA_SEGMENTS_MAX]; /* length: bytes that were written */
    const void *rpc; /* the RPC message, in the caller's data */
    size_t rpc_bytes;
};

/* Takes a received message apart. False, with err saying what was wrong, for everything that a
 * server must not send in answer to such calls: another version, RDMA_ERROR (its meaning is named),
 * RDMA_NOMSG, a read list, more chunks or segments than were offered, a message that is cut off. */
bool rpcrdma_get_reply(struct rpcrdma_reply *r, const void *data, size_t bytes, struct err *err);

struct rpcrdma_private {
    bool present;                    /* false: the peer sent none, or none that is understood */
    bool remote_invalidation;        /* the sender can take Send With Invalidate */
    uint32_t send_bytes, recv_bytes; /* inline sizes of the sender, 1024 .. 262144 */
};

/* Sizes are rounded down to what the field can say. */
void rpcrdma_put_private(uint8_t data[RPCRDMA_PRIVATE_BYTES], const struct rpcrdma_private *p);

/* Unknown or missing private data mean the defaults of RFC 8166, never an error. */
struct rpcrdma_private rpcrdma_get_private(const void *data, size_t bytes);

#endif
