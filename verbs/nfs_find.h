/* From a URL to a file handle: nfs-rdma://host[:port]/export/file[?mountport=N]. */
#ifndef NUMALOAD_VERBS_NFS_FIND_H
#define NUMALOAD_VERBS_NFS_FIND_H

#include "nfs_call.h"

#define NFS_URL_PREFIX "nfs-rdma://"
#define NFS_RDMA_PORT "20049" /* IANA: nfsrdma */

struct nfs_url {
    char host[256];                /* without brackets */
    char server[300];              /* "host:port", "[v6]:port" */
    char path[MOUNT_PATH_MAX + 1]; /* begins with a slash */
    unsigned mountport;            /* 0: ask the port mapper */
};

/* STATUS_USAGE for a text that is none. */
bool nfs_url_parse(struct nfs_url *u, const char *text, struct err *err);

struct nfs_found {
    struct nfs_fh fh;
    struct nfs3_attr attr;
    struct nfs3_fsinfo limits;
};

/* Mounts the longest part of the path that the server exports (the MOUNT protocol, over TCP), looks
 * up the rest over the connection and asks for the file's attributes and the server's limits. The
 * connection is granted credits by the first reply. Errors name the path and what the server said.
 */
bool nfs_find(struct transport *t, const struct nfs_url *u, const struct rpc_auth *auth,
              uint64_t deadline_ns, struct nfs_found *found, struct err *err);

/* The same for the folder of a file that need not be there; *name is the file's, within u. */
bool nfs_find_folder(struct transport *t, const struct nfs_url *u, const struct rpc_auth *auth,
                     uint64_t deadline_ns, struct nfs_fh *folder, const char **name,
                     struct err *err);

/* One name in a folder. What the server said is in r->status. */
bool nfs_lookup(struct transport *t, const struct nfs_fh *folder, const char *name,
                const struct rpc_auth *auth, uint64_t deadline_ns, struct nfs3_lookup *r,
                struct err *err);

/* Makes a file in a folder, or cuts the one that is there to no bytes. */
bool nfs_create(struct transport *t, const struct nfs_fh *folder, const char *name,
                const struct rpc_auth *auth, uint64_t deadline_ns, struct nfs_fh *file,
                struct err *err);

/* Limits of the server; refused when it does not say them. */
bool nfs_limits(struct transport *t, const struct nfs_fh *fh, const struct rpc_auth *auth,
                uint64_t deadline_ns, struct nfs3_fsinfo *limits, struct err *err);

#endif
