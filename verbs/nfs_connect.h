/* A connection to an NFS server that has answered a first call and so granted credits.
 *
 * A first call can stay without an answer although both sides say that they are connected: as
 * its source reads, the kernel's siw overlooks a message that arrives between its answer to the
 * connection request and its taking over of the socket, until another one arrives - and before the
 * first grant no other may be sent. Such a connection is given up and made anew. Only in builds
 * with HAVE_VERBS.
 */
#ifndef NUMALOAD_VERBS_NFS_CONNECT_H
#define NUMALOAD_VERBS_NFS_CONNECT_H

#include "rpcrdma_conn.h"

#include <stdint.h>

/* Tries for up to deadline_ns; *unanswered grows by the connections that were given up. */
struct transport *nfs_connect(const struct rpcrdma_setup *setup, struct rpcrdma_facts *facts,
                              uint64_t deadline_ns, unsigned *unanswered, struct err *err);

#endif
