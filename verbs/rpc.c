#define _GNU_SOURCE
#include "rpc.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { RPC_CALL = 0, RPC_REPLY = 1, RPC_VERSION = 2, AUTH_NONE = 0, AUTH_SYS = 1 };
enum { MSG_ACCEPTED = 0, MSG_DENIED = 1, RPC_MISMATCH = 0, AUTH_ERROR = 1 };
enum { OPAQUE_AUTH_MAX = 400 };

struct rpc_auth rpc_auth_self(void)
{
    struct rpc_auth a = {.uid = geteuid(), .gid = getegid()};
    int n = getgroups(0, NULL);
    gid_t *all = n > 0 ? calloc((size_t)n, sizeof(*all)) : NULL;
    if (all && (n = getgroups(n, all)) > 0)
        for (; a.gids_n < (uint32_t)n && a.gids_n < RPC_GIDS_MAX; a.gids_n++)
            a.gids[a.gids_n] = all[a.gids_n];
    free(all);
    if (gethostname(a.machine, sizeof(a.machine) - 1))
        snprintf(a.machine, sizeof(a.machine), "numaload");
    return a;
}

static void put_auth_sys(struct xdr_out *out, const struct rpc_auth *a)
{
    uint32_t name = (uint32_t)strlen(a->machine);
    xdr_put_u32(out, AUTH_SYS);
    xdr_put_u32(out, (uint32_t)(5 * 4 + xdr_padded(name) + a->gids_n * 4));
    xdr_put_u32(out, 0); /* stamp: any number */
    xdr_put_opaque(out, a->machine, name);
    xdr_put_u32(out, a->uid);
    xdr_put_u32(out, a->gid);
    xdr_put_u32(out, a->gids_n);
    for (uint32_t i = 0; i < a->gids_n; i++)
        xdr_put_u32(out, a->gids[i]);
}

void rpc_put_call(struct xdr_out *out, uint32_t xid, uint32_t program, uint32_t version,
                  uint32_t procedure, const struct rpc_auth *auth)
{
    xdr_put_u32(out, xid);
    xdr_put_u32(out, RPC_CALL);
    xdr_put_u32(out, RPC_VERSION);
    xdr_put_u32(out, program);
    xdr_put_u32(out, version);
    xdr_put_u32(out, procedure);
    if (auth) {
        put_auth_sys(out, auth);
    } else {
        xdr_put_u32(out, AUTH_NONE);
        xdr_put_u32(out, 0);
    }
    xdr_put_u32(out, AUTH_NONE); /* verifier */
    xdr_put_u32(out, 0);
}

static bool denied(struct xdr_in *in, struct err *err)
{
    /* RFC 5531, 8.2, auth_stat 1 .. 7 */
    static const char *const reasons[] = {
        "no reason",         "bad credentials",   "rejected credentials",  "bad verifier",
        "rejected verifier", "too weak security", "bad response verifier", "unknown reason"};
    uint32_t why = xdr_u32(in), detail = xdr_u32(in);
    if (!in->ok)
        return err_set(err, STATUS_FAILED, "RPC reply: a denial that is cut off");
    if (why == RPC_MISMATCH)
        return err_set(err, STATUS_FAILED, "RPC: the server does not speak RPC version 2");
    if (why != AUTH_ERROR)
        return err_set(err, STATUS_FAILED, "RPC reply: denied with unknown reason %u", why);
    size_t n = sizeof(reasons) / sizeof(*reasons);
    return err_set(
        err, STATUS_FAILED,
        "RPC: the server refuses the user of this process: %s (auth_stat %u); the export "
        "must allow sec=sys",
        detail < n ? reasons[detail] : "unknown reason", detail);
}

static bool accepted(struct xdr_in *in, struct err *err)
{
    uint32_t bytes, low, high;
    xdr_u32(in);
    xdr_opaque(in, OPAQUE_AUTH_MAX, &bytes);
    uint32_t status = xdr_u32(in);
    if (!in->ok)
        return err_set(err, STATUS_FAILED, "RPC reply: the header is cut off");
    switch (status) {
    case 0:
        return true;
    case 1:
        return err_set(err, STATUS_FAILED, "RPC: the server does not have this program there");
    case 2:
        low = xdr_u32(in);
        high = xdr_u32(in);
        if (!in->ok)
            return err_set(err, STATUS_FAILED, "RPC reply: the header is cut off");
        return err_set(err, STATUS_FAILED,
                       "RPC: the server does not serve this version of the program; it serves %u "
                       "to %u",
                       low, high);
    case 3:
        return err_set(err, STATUS_FAILED, "RPC: the server does not have this procedure");
    case 4:
        return err_set(err, STATUS_FAILED, "RPC: the server could not read the arguments");
    case 5:
        return err_set(err, STATUS_FAILED, "RPC: the server had an error of its own (SYSTEM_ERR)");
    default:
        return err_set(err, STATUS_FAILED, "RPC reply: unknown status %u", status);
    }
}

bool rpc_get_reply(struct xdr_in *in, uint32_t xid, struct err *err)
{
    uint32_t got = xdr_u32(in), type = xdr_u32(in), stat = xdr_u32(in);
    if (!in->ok)
        return err_set(err, STATUS_FAILED, "RPC reply: the header is cut off");
    if (got != xid)
        return err_set(err, STATUS_FAILED, "RPC reply: xid 0x%08x, expected 0x%08x", got, xid);
    if (type != RPC_REPLY)
        return err_set(err, STATUS_FAILED, "RPC reply: message type %u is no reply", type);
    if (stat == MSG_DENIED)
        return denied(in, err);
    if (stat != MSG_ACCEPTED)
        return err_set(err, STATUS_FAILED,
                       "RPC reply: reply_stat %u is neither accepted nor denied", stat);
    return accepted(in, err);
}
