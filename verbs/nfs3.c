#include "nfs3.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>

/* RFC 1813, 2.6 */
static const struct {
    uint32_t status;
    int error;
    const char *text;
} statuses[] = {
    {0, 0, "NFS3_OK"},
    {1, EPERM, "NFS3ERR_PERM (not owner)"},
    {2, ENOENT, "NFS3ERR_NOENT (no such file or directory)"},
    {5, EIO, "NFS3ERR_IO (I/O error of the server)"},
    {6, ENXIO, "NFS3ERR_NXIO (no such device)"},
    {13, EACCES, "NFS3ERR_ACCES (permission denied)"},
    {17, EEXIST, "NFS3ERR_EXIST (file exists)"},
    {18, EXDEV, "NFS3ERR_XDEV (cross-device link)"},
    {19, ENODEV, "NFS3ERR_NODEV (no such device)"},
    {20, ENOTDIR, "NFS3ERR_NOTDIR (not a directory)"},
    {21, EISDIR, "NFS3ERR_ISDIR (is a directory)"},
    {22, EINVAL, "NFS3ERR_INVAL (invalid argument)"},
    {27, EFBIG, "NFS3ERR_FBIG (file too large)"},
    {28, ENOSPC, "NFS3ERR_NOSPC (no space left)"},
    {30, EROFS, "NFS3ERR_ROFS (read-only file system)"},
    {31, EMLINK, "NFS3ERR_MLINK (too many links)"},
    {63, ENAMETOOLONG, "NFS3ERR_NAMETOOLONG (name too long)"},
    {66, ENOTEMPTY, "NFS3ERR_NOTEMPTY (directory not empty)"},
    {69, EDQUOT, "NFS3ERR_DQUOT (quota exceeded)"},
    {70, ESTALE, "NFS3ERR_STALE (stale file handle: the file was removed or replaced)"},
    {71, EREMOTE, "NFS3ERR_REMOTE (too many levels of remote in path)"},
    {10001, EBADF, "NFS3ERR_BADHANDLE (the file handle is not valid)"},
    {10002, EIO, "NFS3ERR_NOT_SYNC"},
    {10003, EIO, "NFS3ERR_BAD_COOKIE"},
    {10004, EOPNOTSUPP, "NFS3ERR_NOTSUPP (operation not supported)"},
    {10005, EIO, "NFS3ERR_TOOSMALL"},
    {10006, EREMOTEIO, "NFS3ERR_SERVERFAULT (fault of the server)"},
    {10007, EINVAL, "NFS3ERR_BADTYPE"},
    {10008, EAGAIN, "NFS3ERR_JUKEBOX (the server asks to try again later)"},
};

const char *nfs3_status_text(uint32_t status, char *buf, size_t cap)
{
    for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++)
        if (statuses[i].status == status)
            return statuses[i].text;
    snprintf(buf, cap, "unknown NFS status %u", status);
    return buf;
}

int nfs3_errno(uint32_t status)
{
    for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++)
        if (statuses[i].status == status)
            return statuses[i].error;
    return EIO;
}

static bool cut_off(struct err *err, const char *what)
{
    return err_set(err, STATUS_FAILED, "NFS reply: the result of %s is cut off or malformed", what);
}

static struct nfs3_attr get_fattr(struct xdr_in *in)
{
    struct nfs3_attr a = {.present = true, .type = xdr_u32(in)};
    xdr_fixed(in, 4 * 4); /* mode, nlink, uid, gid */
    a.size_bytes = xdr_u64(in);
    a.used_bytes = xdr_u64(in);
    xdr_fixed(in, 2 * 4 + 2 * 8 + 3 * 8); /* rdev, fsid, fileid, atime, mtime, ctime */
    return a;
}

static bool get_flag(struct xdr_in *in)
{
    uint32_t v = xdr_u32(in);
    if (v > 1)
        in->ok = false;
    return v == 1;
}

static struct nfs3_attr get_post_op_attr(struct xdr_in *in)
{
    return get_flag(in) ? get_fattr(in) : (struct nfs3_attr){0};
}

static void skip_wcc_data(struct xdr_in *in)
{
    if (get_flag(in))
        xdr_fixed(in, 8 + 8 + 8); /* size, mtime, ctime */
    get_post_op_attr(in);
}

static void get_fh(struct xdr_in *in, struct nfs_fh *fh)
{
    const uint8_t *data = xdr_opaque(in, sizeof(fh->data), &fh->bytes);
    if (data)
        memcpy(fh->data, data, fh->bytes);
}

void nfs3_put_fh(struct xdr_out *out, const struct nfs_fh *fh)
{
    xdr_put_opaque(out, fh->data, fh->bytes);
}

void nfs3_put_lookup(struct xdr_out *out, const struct nfs_fh *dir, const char *name)
{
    nfs3_put_fh(out, dir);
    xdr_put_string(out, name);
}

void nfs3_put_read(struct xdr_out *out, const struct nfs_fh *fh, uint64_t offset, uint32_t bytes)
{
    nfs3_put_fh(out, fh);
    xdr_put_u64(out, offset);
    xdr_put_u32(out, bytes);
}

void nfs3_put_write(struct xdr_out *out, const struct nfs_fh *fh, uint64_t offset, uint32_t bytes,
                    enum nfs3_stable stable)
{
    nfs3_put_read(out, fh, offset, bytes);
    xdr_put_u32(out, stable);
    xdr_put_u32(out, bytes);
}

void nfs3_put_create(struct xdr_out *out, const struct nfs_fh *dir, const char *name)
{
    nfs3_put_lookup(out, dir, name);
    xdr_put_u32(out, 0); /* UNCHECKED */
    xdr_put_u32(out, 1);
    xdr_put_u32(out, 0644);
    xdr_put_u32(out, 0); /* uid, gid: the server's choice */
    xdr_put_u32(out, 0);
    xdr_put_u32(out, 1);
    xdr_put_u64(out, 0); /* size */
    xdr_put_u32(out, 0); /* atime, mtime: unchanged */
    xdr_put_u32(out, 0);
}

void nfs3_put_commit(struct xdr_out *out, const struct nfs_fh *fh)
{
    nfs3_put_read(out, fh, 0, 0); /* all of the file */
}

bool nfs3_get_lookup(struct xdr_in *in, struct nfs3_lookup *r, struct err *err)
{
    *r = (struct nfs3_lookup){.status = xdr_u32(in)};
    if (in->ok && r->status == NFS3_OK) {
        get_fh(in, &r->fh);
        r->attr = get_post_op_attr(in);
        if (r->fh.bytes == 0)
            in->ok = false;
    }
    return in->ok || cut_off(err, "LOOKUP");
}

bool nfs3_get_create(struct xdr_in *in, struct nfs3_lookup *r, struct err *err)
{
    *r = (struct nfs3_lookup){.status = xdr_u32(in)};
    if (in->ok && r->status == NFS3_OK) {
        if (get_flag(in))
            get_fh(in, &r->fh);
        r->attr = get_post_op_attr(in);
    }
    return in->ok || cut_off(err, "CREATE");
}

bool nfs3_get_getattr(struct xdr_in *in, struct nfs3_getattr *r, struct err *err)
{
    *r = (struct nfs3_getattr){.status = xdr_u32(in)};
    if (in->ok && r->status == NFS3_OK)
        r->attr = get_fattr(in);
    return in->ok || cut_off(err, "GETATTR");
}

bool nfs3_get_fsinfo(struct xdr_in *in, struct nfs3_fsinfo *r, struct err *err)
{
    *r = (struct nfs3_fsinfo){.status = xdr_u32(in)};
    get_post_op_attr(in);
    if (in->ok && r->status == NFS3_OK) {
        r->rtmax_bytes = xdr_u32(in);
        xdr_fixed(in, 2 * 4); /* rtpref, rtmult */
        r->wtmax_bytes = xdr_u32(in);
        xdr_fixed(in, 3 * 4 + 8 + 8 + 4); /* wtpref, wtmult, dtpref, maxfilesize, delta, flags */
        if (in->ok && (r->rtmax_bytes == 0 || r->wtmax_bytes == 0))
            return err_set(err, STATUS_FAILED, "NFS reply: FSINFO with a read or write size of 0");
    }
    return in->ok || cut_off(err, "FSINFO");
}

bool nfs3_get_read(struct xdr_in *in, struct nfs3_read *r, struct err *err)
{
    *r = (struct nfs3_read){.status = xdr_u32(in)};
    r->attr = get_post_op_attr(in);
    if (in->ok && r->status == NFS3_OK) {
        r->count = xdr_u32(in);
        r->eof = get_flag(in);
        r->data_bytes = xdr_u32(in);
    }
    return in->ok || cut_off(err, "READ");
}

bool nfs3_get_write(struct xdr_in *in, struct nfs3_write *r, struct err *err)
{
    *r = (struct nfs3_write){.status = xdr_u32(in)};
    skip_wcc_data(in);
    if (in->ok && r->status == NFS3_OK) {
        r->count = xdr_u32(in);
        r->committed = xdr_u32(in);
        r->verifier = xdr_u64(in);
        if (r->committed > NFS3_FILE_SYNC)
            in->ok = false;
    }
    return in->ok || cut_off(err, "WRITE");
}

bool nfs3_get_commit(struct xdr_in *in, struct nfs3_write *r, struct err *err)
{
    *r = (struct nfs3_write){.status = xdr_u32(in)};
    skip_wcc_data(in);
    if (in->ok && r->status == NFS3_OK)
        r->verifier = xdr_u64(in);
    return in->ok || cut_off(err, "COMMIT");
}

void portmap_put_getport(struct xdr_out *out, uint32_t program, uint32_t version)
{
    xdr_put_u32(out, program);
    xdr_put_u32(out, version);
    xdr_put_u32(out, IPPROTO_TCP);
    xdr_put_u32(out, 0);
}

bool mount3_get_mnt(struct xdr_in *in, struct mount3_mnt *r, struct err *err)
{
    enum { FLAVORS_MAX = 64, FLAVOR_SYS = 1 };
    *r = (struct mount3_mnt){.status = xdr_u32(in)};
    if (in->ok && r->status == NFS3_OK) {
        get_fh(in, &r->fh);
        uint32_t n = xdr_u32(in);
        if (n > FLAVORS_MAX || r->fh.bytes == 0)
            in->ok = false;
        for (uint32_t i = 0; in->ok && i < n; i++)
            if (xdr_u32(in) == FLAVOR_SYS)
                r->auth_sys = true;
        if (n == 0) /* nothing listed: servers that take anything do that */
            r->auth_sys = true;
    }
    return in->ok || cut_off(err, "MNT");
}
