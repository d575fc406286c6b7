/* A connection of RPC-over-RDMA through librdmacm: a queue pair with a CQ of its own on a
 * completion vector of the caller's choice. Used by one thread. Only in builds with HAVE_VERBS.
 *
 * The buffers of a thread are registered once and their rkey is exposed for as long as the thread
 * lives: no registration and no memory window an I/O. What that exposes to the server is memory
 * that holds nothing but data which the server itself has sent. A key that stays must not be
 * invalidated by the peer, so the private data offer no remote invalidation, and a Send With
 * Invalidate ends the connection. */
#ifndef NUMALOAD_VERBS_RPCRDMA_CONN_H
#define NUMALOAD_VERBS_RPCRDMA_CONN_H

#include "address.h"
#include "transport.h"

#include <stdbool.h>

/* What the connections of one thread share: they must lead through one device. */
struct rpcrdma_domain {
    struct ibv_context *verbs;
    struct ibv_pd *pd;
    struct ibv_mr *mr;
};

/* Chooses the completion vector, once the device is known. */
typedef bool rpcrdma_vector(void *ctx, const char *device, unsigned vectors, unsigned *vector,
                            struct err *err);

struct rpcrdma_setup {
    const struct address *to;
    const char *device; /* that must be used, NULL: the one that the route leads through */
    struct rpcrdma_domain *domain; /* zeroed; made with the first connection */
    void *memory;                  /* what the server may write to; NULL: nothing */
    uint64_t bytes;
    unsigned credits;       /* receive buffers, and calls that may be outstanding */
    bool write;             /* the server fetches data from the memory too */
    rpcrdma_vector *vector; /* NULL: vector 0 */
    void *vector_ctx;
};

struct rpcrdma_facts {
    char device[64];
    unsigned comp_vector;
    bool private_data;        /* the server sent RFC 8797 private data */
    bool remote_invalidation; /* it would invalidate remotely, if it were asked to */
    uint32_t inline_send_bytes, inline_recv_bytes; /* in use: calls and replies */
    uint32_t wqe_inline_bytes; /* calls up to this length are copied into the work request */
};

/* Errors name the step and the cause. */
struct transport *rpcrdma_connect(const struct rpcrdma_setup *setup, struct rpcrdma_facts *facts,
                                  struct err *err);

/* To be asked before a connection that was lost is closed: while its port is down this says so, and
 * the connection is to be kept, with its queue pair stopped so that nothing reaches the memory. A
 * goodbye that soft-RoCE cannot send breaks its queue pair for connection management (rxe_qp_error
 * of the GSI queue pair, whose receives nobody posts again): no connection is made any more after
 * it, on any port that is up again. NULL: close it. */
const char *rpcrdma_port_down(struct transport *t);

/* How many requests the send queue of a connection of so many credits must take. */
unsigned rpcrdma_requests(unsigned credits);

/* After all connections are closed. */
void rpcrdma_domain_free(struct rpcrdma_domain *d);

#endif
