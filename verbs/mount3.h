/* The MOUNT protocol over TCP: the file handle of an exported folder. */
#ifndef NUMALOAD_VERBS_MOUNT3_H
#define NUMALOAD_VERBS_MOUNT3_H

#include "nfs3.h"
#include "rpc.h"

/* Asks mountd of `host` for the handle of `path`. mountport 0: the port mapper is asked for it.
 * From a reserved port if this process may have one, which many exports want. False when nobody
 * answers within deadline_ns or the reply is malformed; r->status is what mountd says. */
bool mount3_ask(const char *host, unsigned mountport, const char *path, const struct rpc_auth *auth,
                uint64_t deadline_ns, struct mount3_mnt *r, struct err *err);

#endif
