/* One mount of a server through libnfs, used by one thread: URLs, contexts, and the calls that set
 * up, each under a deadline. libnfs never blocks here; every wait is a poll(2) loop of ours.
 *
 * URLs are those of libnfs: nfs://server/folder/file?version=4&nfsport=PORT&uid=UID... (the list is
 * in nfsc/libnfs.h). All files of a run are read through one mount of the folder that they share.
 */
#ifndef NUMALOAD_LIBNFS_MOUNT_H
#define NUMALOAD_LIBNFS_MOUNT_H
#ifdef HAVE_LIBNFS

#include "../../placement/err.h"

#include <sys/time.h> /* struct timeval, which libnfs.h lacks */

#include <nfsc/libnfs.h>
#include <stdbool.h>
#include <stdint.h>

/* The outcome of one call. It lives as long as the context, since a late reply still writes here.
 */
struct nfs_call {
    bool over;
    int status; /* >= 0, or -errno */
    struct nfsfh *file;
    struct nfs_stat_64 stat;
};

struct nfs_mount {
    struct nfs_context *nfs;
    unsigned version;     /* 3 or 4 */
    char *server;         /* as the URL names it */
    char *folder;         /* the one that is mounted: the URLs' common folder */
    uint64_t deadline_ns; /* for each call, from its beginning */
    struct nfs_call call;
};

/* Mounts the folder that holds all of urls[n]. `id` tells the clients of one process apart: NFSv4
 * servers drop the state of an earlier client of the same name. Refuses URLs of several servers or
 * with different arguments. On failure nothing is left open. */
bool nfs_mount_open(struct nfs_mount *m, const char *const *urls, unsigned n, unsigned id,
                    uint64_t deadline_ns, struct err *err);

/* Opens the file that a URL names for reading; *stat receives its attributes. Close with
 * nfs_mount_release. */
bool nfs_mount_file(struct nfs_mount *m, const char *url, struct nfsfh **file,
                    struct nfs_stat_64 *stat, struct err *err);

/* Gives a file back, waiting a second for the server at most. */
void nfs_mount_release(struct nfs_mount *m, struct nfsfh *file);

/* Cancels what is outstanding: its callbacks are called. */
void nfs_mount_close(struct nfs_mount *m);

/* One turn of the loop: waits up to wait_ms for the socket, then lets libnfs read, write and call
 * back. false when the connection cannot be used any more; nfs_get_error says why. */
bool nfs_mount_turn(struct nfs_mount *m, int wait_ms);

#endif
#endif
