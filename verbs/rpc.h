/* Headers of ONC RPC calls and replies (RFC 5531), with AUTH_NONE or AUTH_SYS. */
#ifndef NUMALOAD_VERBS_RPC_H
#define NUMALOAD_VERBS_RPC_H

#include "xdr.h"

#include "../placement/err.h"

enum { RPC_GIDS_MAX = 16, RPC_MACHINE_MAX = 64 };

/* Who is asking (RFC 5531, appendix A). */
struct rpc_auth {
    uint32_t uid, gid;
    uint32_t gids[RPC_GIDS_MAX];
    uint32_t gids_n;
    char machine[RPC_MACHINE_MAX];
};

/* The effective user of this process and up to 16 of its groups. */
struct rpc_auth rpc_auth_self(void);

/* auth NULL: AUTH_NONE. */
void rpc_put_call(struct xdr_out *out, uint32_t xid, uint32_t program, uint32_t version,
                  uint32_t procedure, const struct rpc_auth *auth);

/* Reads the header of a reply up to the results. False when it is cut off, no reply, of another
 * xid, or when the server did not carry out the call; err says which. */
bool rpc_get_reply(struct xdr_in *in, uint32_t xid, struct err *err);

#endif
