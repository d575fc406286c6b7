/* Results of every procedure; the first byte chooses it, READ most often. */
#include "fuzz_text.h"

#include "../../verbs/nfs3.h"

static bool read_result(struct xdr_in *in, struct err *err)
{
    struct nfs3_read r;
    bool ok = nfs3_get_read(in, &r, err);
    must(!ok || r.status == NFS3_OK || (r.count == 0 && r.data_bytes == 0 && !r.eof));
    must(!ok || xdr_consumed(in) >= 8);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    union {
        struct nfs3_lookup lookup;
        struct nfs3_getattr getattr;
        struct nfs3_fsinfo fsinfo;
        struct nfs3_write write;
        struct mount3_mnt mnt;
    } r;
    struct err err = {0};
    char *copy = fuzz_text(data, size), text[64];
    bool ok = false;
    struct xdr_in in = xdr_in(copy + (size > 0), size - (size > 0));
    switch (size ? data[0] : 0) {
    case 1:
        ok = nfs3_get_lookup(&in, &r.lookup, &err);
        must(!ok || r.lookup.fh.bytes <= sizeof(r.lookup.fh.data));
        break;
    case 2:
        ok = nfs3_get_create(&in, &r.lookup, &err);
        must(!ok || r.lookup.fh.bytes <= sizeof(r.lookup.fh.data));
        break;
    case 3:
        ok = nfs3_get_getattr(&in, &r.getattr, &err);
        break;
    case 4:
        ok = nfs3_get_fsinfo(&in, &r.fsinfo, &err);
        must(!ok || r.fsinfo.status || (r.fsinfo.rtmax_bytes && r.fsinfo.wtmax_bytes));
        break;
    case 5:
        ok = nfs3_get_write(&in, &r.write, &err);
        must(!ok || r.write.committed <= NFS3_FILE_SYNC);
        break;
    case 6:
        ok = nfs3_get_commit(&in, &r.write, &err);
        break;
    case 7:
        ok = mount3_get_mnt(&in, &r.mnt, &err);
        must(!ok || r.mnt.fh.bytes <= sizeof(r.mnt.fh.data));
        break;
    default:
        ok = read_result(&in, &err);
        break;
    }
    must(ok || err.text[0]);
    if (size >= 4)
        must(nfs3_status_text((uint32_t)data[0] << 8 | data[3], text, sizeof(text)) != NULL);
    free(copy);
    return 0;
}
