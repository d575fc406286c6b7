/* One NFS call at a time, waited for: mounting, looking up, asking for limits. */
#ifndef NUMALOAD_VERBS_NFS_CALL_H
#define NUMALOAD_VERBS_NFS_CALL_H

#include "nfs3.h"
#include "rpc.h"
#include "transport.h"

enum { NFS_ARGS_MAX = 512, NFS_RESULTS_MAX = 1024 };

/* Arguments are put into `args` and results read from `results`, both over memory of this struct.
 */
struct nfs_call {
    struct xdr_out args;
    struct xdr_in results;
    uint8_t args_memory[NFS_ARGS_MAX];
    uint8_t results_memory[NFS_RESULTS_MAX];
};

/* Begins a call: args is empty afterwards. */
void nfs_call_begin(struct nfs_call *call);

/* Sends NFS procedure `procedure` with those arguments and waits for its reply, while nothing else
 * is outstanding on the connection. NFS3ERR_JUKEBOX is left to the caller. False when the
 * connection is over, the reply malformed or refused, or the time is up. */
bool nfs_call(struct transport *t, struct nfs_call *call, enum nfs3_proc procedure,
              const struct rpc_auth *auth, uint64_t deadline_ns, struct err *err);

/* Applies the grant of a reply, RFC 8166, 3.3.1: never more than was asked for, and a grant of 0,
 * which no server may send, counts as 1, for nothing could ever be sent again otherwise. */
void transport_grant(struct transport *t, uint32_t credits);

#endif
