/* Pipelined NFSv3 READs and WRITEs of one thread over one or more connections.
 *
 * An I/O belongs to a slot and is cut into READs of at most read_bytes (WRITEs: write_bytes), which
 * are sent as the credits of the connections allow, in turn over all of them. READ data are placed
 * by the server into the slot's buffer through a write chunk, WRITE data fetched from it through a
 * read chunk; no data pass through here. Nothing is allocated after nfs_client_new.
 *
 * A received message that is not exactly what was asked for ends the client: the connection carries
 * remote writes into memory, so nothing that comes after a wrong one can be believed. A connection
 * that is lost can be made anew: READs, and WRITEs to stable storage, may be done twice. */
#ifndef NUMALOAD_VERBS_NFS_CLIENT_H
#define NUMALOAD_VERBS_NFS_CLIENT_H

#include "nfs3.h"
#include "rpc.h"
#include "transport.h"

struct nfs_client_setup {
    struct transport *const *connections; /* granted by a first call; stay the caller's */
    unsigned connections_n;
    const struct rpc_auth *auth;
    unsigned slots;
    uint32_t io_bytes;                /* largest I/O */
    uint32_t read_bytes, write_bytes; /* largest READ and WRITE */
    uint64_t deadline_ns; /* of one READ or WRITE, from its first sending on a connection on */
    uint64_t retry_ns;    /* first pause after NFS3ERR_JUKEBOX; doubles up to 64 times that */
    bool spin;            /* poll the queues instead of sleeping until one has an event */

    /* Called when a connection was lost: closes what is left of it, so that nothing is placed
     * through it any more, and tries once to make it anew, granted by a first call. NULL with the
     * reason: not now; it is asked again, with pauses, for again_for_ns from the loss on. What was
     * outstanding is then sent again. NULL: a lost connection ends the client. */
    struct transport *(*again)(void *ctx, unsigned connection, struct err *err);
    void *again_ctx;
    uint64_t again_for_ns;
};

struct nfs_io {
    void *buf; /* within the memory that the connections' rkey covers */
    uint64_t offset;
    uint32_t bytes;          /* 1 .. io_bytes */
    const struct nfs_fh *fh; /* constant until the I/O is done */
    bool write;
};

struct nfs_done {
    uint32_t slot;
    int32_t result; /* bytes from the beginning of the I/O without a gap, or -errno */
};

struct nfs_client_counts {
    uint64_t calls;        /* READs and WRITEs that were answered */
    uint64_t jukebox;      /* NFS3ERR_JUKEBOX among the answers */
    uint64_t credit_waits; /* times that a call had to wait for a credit */
    uint64_t reconnects;   /* connections that were lost and made anew */
};

struct nfs_client;

struct nfs_client *nfs_client_new(const struct nfs_client_setup *setup, struct err *err);
void nfs_client_free(struct nfs_client *c);

/* Queues the I/O of an idle slot; nfs_client_flush or _reap sends it. */
void nfs_client_start(struct nfs_client *c, uint32_t slot, const struct nfs_io *io);

/* Sends what the credits allow. 0, or -errno when the client is over. */
int nfs_client_flush(struct nfs_client *c);

/* Waits up to timeout_ns (0: not) for at least one finished I/O; returns up to max of them, 0 on
 * time-out or signal, -errno when the client is over. */
int nfs_client_reap(struct nfs_client *c, struct nfs_done *done, unsigned max, uint64_t timeout_ns);

/* The last failure of an I/O or of the client in words, or NULL. */
const char *nfs_client_why(const struct nfs_client *c);

const struct nfs_client_counts *nfs_client_counts(const struct nfs_client *c);

#endif
