/* NFS version 3 and its MOUNT protocol (RFC 1813), and the port mapper (RFC 1833): arguments and
 * results of the procedures that reading and preparing files need.
 *
 * put functions write the arguments after rpc_put_call(); get functions read the results after
 * rpc_get_reply(). A get function returns false only for a result that cannot be understood; an
 * error that the server reports is in `status`. */
#ifndef NUMALOAD_VERBS_NFS3_H
#define NUMALOAD_VERBS_NFS3_H

#include "xdr.h"

#include "../placement/err.h"

enum { NFS_PROGRAM = 100003, NFS_VERSION = 3, MOUNT_PROGRAM = 100005, MOUNT_VERSION = 3 };
enum { PORTMAP_PROGRAM = 100000, PORTMAP_VERSION = 2, PORTMAP_GETPORT = 3, PORTMAP_PORT = 111 };
enum { MOUNT_MNT = 1, MOUNT_PATH_MAX = 1024, NFS3_NAME_MAX = 255 };

enum nfs3_proc {
    NFS3_NULL = 0,
    NFS3_GETATTR = 1,
    NFS3_SETATTR = 2,
    NFS3_LOOKUP = 3,
    NFS3_READ = 6,
    NFS3_WRITE = 7,
    NFS3_CREATE = 8,
    NFS3_FSINFO = 19,
    NFS3_COMMIT = 21,
};

enum nfs3_stat {
    NFS3_OK = 0,
    NFS3ERR_NOENT = 2,
    NFS3ERR_ACCES = 13,
    NFS3ERR_NOTDIR = 20,
    NFS3ERR_STALE = 70,
    NFS3ERR_JUKEBOX = 10008,
};

enum nfs3_type { NF3REG = 1, NF3DIR = 2 };
enum nfs3_stable { NFS3_UNSTABLE = 0, NFS3_FILE_SYNC = 2 };

struct nfs_fh {
    uint32_t bytes;
    uint8_t data[64]; /* NFS3_FHSIZE */
};

struct nfs3_attr {
    bool present;
    uint32_t type; /* enum nfs3_type */
    uint64_t size_bytes;
    uint64_t used_bytes; /* on storage */
};

/* "NFS3ERR_STALE (stale file handle)"; unknown numbers are named as such. Not thread-local: the
 * text is constant, or that of the buffer. */
const char *nfs3_status_text(uint32_t status, char *buf, size_t cap);

/* The errno value that says the same, for callers that have nothing better. */
int nfs3_errno(uint32_t status);

void nfs3_put_fh(struct xdr_out *out, const struct nfs_fh *fh);
void nfs3_put_lookup(struct xdr_out *out, const struct nfs_fh *dir, const char *name);
void nfs3_put_read(struct xdr_out *out, const struct nfs_fh *fh, uint64_t offset, uint32_t bytes);
/* Up to and with the length of the data, which follow, inline or by a read chunk. */
void nfs3_put_write(struct xdr_out *out, const struct nfs_fh *fh, uint64_t offset, uint32_t bytes,
                    enum nfs3_stable stable);
/* UNCHECKED, mode 0644, cut to no bytes. */
void nfs3_put_create(struct xdr_out *out, const struct nfs_fh *dir, const char *name);
void nfs3_put_commit(struct xdr_out *out, const struct nfs_fh *fh);

struct nfs3_lookup {
    uint32_t status;
    struct nfs_fh fh;
    struct nfs3_attr attr;
};
bool nfs3_get_lookup(struct xdr_in *in, struct nfs3_lookup *r, struct err *err);

/* The handle is optional in the protocol; fh.bytes is 0 when the server left it out. */
bool nfs3_get_create(struct xdr_in *in, struct nfs3_lookup *r, struct err *err);

struct nfs3_getattr {
    uint32_t status;
    struct nfs3_attr attr;
};
bool nfs3_get_getattr(struct xdr_in *in, struct nfs3_getattr *r, struct err *err);

struct nfs3_fsinfo {
    uint32_t status;
    uint32_t rtmax_bytes, wtmax_bytes; /* largest READ and WRITE */
};
bool nfs3_get_fsinfo(struct xdr_in *in, struct nfs3_fsinfo *r, struct err *err);

struct nfs3_read {
    uint32_t status;
    uint32_t count;      /* bytes that were read */
    uint32_t data_bytes; /* length of the opaque; the data themselves are not touched */
    bool eof;
    struct nfs3_attr attr;
};
bool nfs3_get_read(struct xdr_in *in, struct nfs3_read *r, struct err *err);

struct nfs3_write {
    uint32_t status;
    uint32_t count;     /* bytes that were written */
    uint32_t committed; /* enum nfs3_stable */
    uint64_t verifier;  /* changes when the server restarts */
};
bool nfs3_get_write(struct xdr_in *in, struct nfs3_write *r, struct err *err);

/* count and committed are not filled. */
bool nfs3_get_commit(struct xdr_in *in, struct nfs3_write *r, struct err *err);

/* ---- MOUNT and the port mapper, both over TCP ---- */

/* IPPROTO_TCP. The result is the port in one u32; 0: not registered. */
void portmap_put_getport(struct xdr_out *out, uint32_t program, uint32_t version);

struct mount3_mnt {
    uint32_t status; /* the values of enum nfs3_stat that RFC 1813, 5.1.5 lists */
    struct nfs_fh fh;
    bool auth_sys; /* among the flavors that the export takes */
};
bool mount3_get_mnt(struct xdr_in *in, struct mount3_mnt *r, struct err *err);

#endif
