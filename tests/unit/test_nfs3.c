/* verbs/xdr.h, verbs/rpc.h, verbs/nfs3.h: messages laid out by hand from RFC 5531 and RFC 1813. */
#include "../../verbs/nfs3.h"
#include "../../verbs/rpc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static uint8_t memory[2048];

static struct xdr_out begin(void)
{
    memset(memory, 0xee, sizeof(memory));
    return xdr_out(memory, sizeof(memory));
}

static struct xdr_in reading(const struct xdr_out *out)
{
    assert_true(out->ok);
    return xdr_in(memory, xdr_written(out));
}

static void put_words(struct xdr_out *out, unsigned n, ...)
{
    va_list ap;
    va_start(ap, n);
    for (unsigned i = 0; i < n; i++)
        xdr_put_u32(out, va_arg(ap, unsigned));
    va_end(ap);
}

static void put_fattr(struct xdr_out *out, uint64_t size, uint64_t used)
{
    put_words(out, 5, NF3REG, 0644, 1, 1000, 1000);
    xdr_put_u64(out, size);
    xdr_put_u64(out, used);
    put_words(out, 12, 0, 0, 0, 1, 0, 77, 1, 2, 3, 4, 5, 6);
}

static void xdr_bounds(void **state)
{
    (void)state;
    static const uint8_t data[] = {0, 0, 0, 5, 'h', 'e', 'l', 'l', 'o', 0, 0, 0, 0xff, 0xff};
    uint32_t n;
    struct xdr_in in = xdr_in(data, 12);
    assert_memory_equal(xdr_opaque(&in, 5, &n), "hello", 5);
    assert_int_equal(n, 5);
    assert_int_equal(xdr_left(&in), 0);
    in = xdr_in(data, 12);
    assert_null(xdr_opaque(&in, 4, &n)); /* longer than the caller takes */
    assert_false(in.ok);
    assert_int_equal(n, 0);
    in = xdr_in(data, 11); /* the padding is missing */
    assert_null(xdr_opaque(&in, 100, &n));
    in = xdr_in(data, 14);
    xdr_fixed(&in, 12);
    assert_int_equal(xdr_u32(&in), 0); /* two bytes are no word, */
    assert_false(in.ok);
    assert_null(xdr_fixed(&in, 0)); /* and the error sticks */
    static const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4};
    in = xdr_in(huge, sizeof(huge));
    assert_null(xdr_opaque(&in, UINT32_MAX, &n));
    assert_false(in.ok);
    uint8_t small[6];
    struct xdr_out out = xdr_out(small, sizeof(small));
    xdr_put_u32(&out, 1);
    assert_true(out.ok);
    xdr_put_u32(&out, 2);
    assert_false(out.ok);
    assert_int_equal(xdr_written(&out), 4);
}

static void call_header(void **state)
{
    (void)state;
    struct rpc_auth auth = {.uid = 7, .gid = 8, .gids = {9, 10}, .gids_n = 2, .machine = "box"};
    struct xdr_out out = begin();
    rpc_put_call(&out, 0x01020304, NFS_PROGRAM, NFS_VERSION, NFS3_READ, &auth);
    static const uint8_t expected[] = {1,    2,    3, 4,  0, 0, 0, 0,  0,   0,   0,   2, 0, 1,
                                       0x86, 0xa3, 0, 0,  0, 3, 0, 0,  0,   6, /* call */
                                       0,    0,    0, 1,  0, 0, 0, 32,         /* AUTH_SYS */
                                       0,    0,    0, 0,  0, 0, 0, 3,  'b', 'o', 'x', 0, 0, 0,
                                       0,    7,    0, 0,  0, 8, 0, 0,  0,   2,   0,   0, 0, 9,
                                       0,    0,    0, 10, 0, 0, 0, 0,  0,   0,   0,   0};
    assert_int_equal(xdr_written(&out), sizeof(expected));
    assert_memory_equal(memory, expected, sizeof(expected));
}

static void reply_headers(void **state)
{
    (void)state;
    static const struct {
        unsigned words[8];
        unsigned n;
        const char *says; /* NULL: accepted */
    } cases[] = {
        {{5, 1, 0, 0, 0, 0}, 6, NULL},
        {{5, 1, 0, 0, 4, 99, 0}, 7, NULL}, /* a verifier of 4 bytes */
        {{6, 1, 0, 0, 0, 0}, 6, "xid 0x00000006, expected 0x00000005"},
        {{5, 0, 0, 0, 0, 0}, 6, "is no reply"},
        {{5, 1, 2, 0, 0, 0}, 6, "neither accepted nor denied"},
        {{5, 1, 1, 0, 2, 2}, 6, "does not speak RPC version 2"},
        {{5, 1, 1, 1, 1}, 5, "bad credentials"},
        {{5, 1, 1, 1, 5}, 5, "too weak security"},
        {{5, 1, 1, 1, 4000}, 5, "unknown reason"},
        {{5, 1, 0, 0, 0, 1}, 6, "does not have this program"},
        {{5, 1, 0, 0, 0, 2, 2, 4}, 8, "it serves 2 to 4"},
        {{5, 1, 0, 0, 0, 3}, 6, "procedure"},
        {{5, 1, 0, 0, 0, 4}, 6, "arguments"},
        {{5, 1, 0, 0, 0, 5}, 6, "SYSTEM_ERR"},
        {{5, 1, 0, 0, 0, 6}, 6, "unknown status 6"},
        {{5, 1, 0, 0, 0, 2, 2}, 7, "cut off"},
        {{5, 1, 0, 0, 404, 0}, 6, "cut off"}, /* a verifier beyond 400 bytes */
        {{5, 1, 0, 0, 0}, 5, "cut off"},
        {{5, 1}, 2, "cut off"},
        {{5, 1, 1, 1}, 4, "cut off"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct err err = {0};
        struct xdr_out out = begin();
        for (unsigned w = 0; w < cases[i].n; w++)
            xdr_put_u32(&out, cases[i].words[w]);
        struct xdr_in in = reading(&out);
        assert_int_equal(rpc_get_reply(&in, 5, &err), cases[i].says == NULL);
        if (cases[i].says && !strstr(err.text, cases[i].says))
            fail_msg("case %zu: \"%s\" does not say \"%s\"", i, err.text, cases[i].says);
    }
}

static void arguments(void **state)
{
    (void)state;
    struct nfs_fh fh = {.bytes = 5, .data = "ABCDE"};
    struct xdr_out out = begin();
    nfs3_put_write(&out, &fh, UINT64_C(0x100000002), 0x1000, NFS3_FILE_SYNC);
    static const uint8_t write[] = {
        0, 0, 0, 5, 'A', 'B', 'C',  'D', 'E', 0, 0,    0, /* handle */
        0, 0, 0, 1, 0,   0,   0,    2,   0,   0, 0x10, 0, /* offset, count */
        0, 0, 0, 2, 0,   0,   0x10, 0};                   /* stable, length */
    assert_int_equal(xdr_written(&out), sizeof(write));
    assert_memory_equal(memory, write, sizeof(write));
    out = begin();
    nfs3_put_read(&out, &fh, UINT64_C(0x100000002), 0x1000);
    assert_int_equal(xdr_written(&out), 24);
    assert_memory_equal(memory, write, 24);
    out = begin();
    nfs3_put_lookup(&out, &fh, "name");
    assert_memory_equal(memory + 12, "\0\0\0\4name", 8);
    out = begin();
    portmap_put_getport(&out, MOUNT_PROGRAM, MOUNT_VERSION);
    assert_memory_equal(memory, "\0\1\x86\xa5\0\0\0\3\0\0\0\6\0\0\0\0", 16);
}

static void read_results(void **state)
{
    (void)state;
    struct nfs3_read r;
    struct err err = {0};
    struct xdr_out out = begin();
    put_words(&out, 2, NFS3_OK, 1);
    put_fattr(&out, 1 << 20, 1 << 19);
    put_words(&out, 3, 4096, 1, 4096);
    struct xdr_in in = reading(&out);
    assert_true(nfs3_get_read(&in, &r, &err));
    assert_int_equal(r.count, 4096);
    assert_int_equal(r.data_bytes, 4096);
    assert_true(r.eof && r.attr.present);
    assert_int_equal(r.attr.size_bytes, 1 << 20);
    assert_int_equal(r.attr.used_bytes, 1 << 19);
    assert_int_equal(xdr_left(&in), 0);
    size_t whole = xdr_written(&out);
    for (size_t cut = 0; cut < whole; cut++) {
        in = xdr_in(memory, cut);
        assert_false(nfs3_get_read(&in, &r, &err));
        assert_non_null(strstr(err.text, "READ is cut off"));
    }
    out = begin();
    put_words(&out, 2, NFS3ERR_STALE, 0);
    in = reading(&out);
    assert_true(nfs3_get_read(&in, &r, &err));
    assert_int_equal(r.status, NFS3ERR_STALE);
    assert_int_equal(r.count, 0);
    out = begin();
    put_words(&out, 5, NFS3_OK, 2, 4096, 1, 4096); /* a boolean of 2 */
    in = reading(&out);
    assert_false(nfs3_get_read(&in, &r, &err));
}

static void other_results(void **state)
{
    (void)state;
    struct err err = {0};
    struct xdr_out out = begin();
    struct nfs3_lookup l;
    put_words(&out, 2, NFS3_OK, 8);
    xdr_put_fixed(&out, "handle!!", 8);
    put_words(&out, 2, 0, 0);
    struct xdr_in in = reading(&out);
    assert_true(nfs3_get_lookup(&in, &l, &err));
    assert_int_equal(l.fh.bytes, 8);
    assert_memory_equal(l.fh.data, "handle!!", 8);
    assert_false(l.attr.present);
    out = begin();
    put_words(&out, 2, NFS3_OK, 65); /* NFS3_FHSIZE is 64 */
    for (unsigned i = 0; i < 20; i++)
        xdr_put_u32(&out, 0);
    in = reading(&out);
    assert_false(nfs3_get_lookup(&in, &l, &err));

    struct nfs3_fsinfo f;
    out = begin();
    put_words(&out, 2, NFS3_OK, 0);
    put_words(&out, 7, 1048576, 1048576, 4096, 524288, 524288, 4096, 4096);
    put_words(&out, 5, 0, 1, 0, 1, 27);
    in = reading(&out);
    assert_true(nfs3_get_fsinfo(&in, &f, &err));
    assert_int_equal(f.rtmax_bytes, 1048576);
    assert_int_equal(f.wtmax_bytes, 524288);
    assert_int_equal(xdr_left(&in), 0);
    memset(memory + 8, 0, 4);
    in = reading(&out);
    assert_false(nfs3_get_fsinfo(&in, &f, &err));
    assert_non_null(strstr(err.text, "size of 0"));

    struct nfs3_write w;
    out = begin();
    put_words(&out, 2, NFS3_OK, 1);
    put_words(&out, 6, 0, 4096, 1, 2, 3, 4); /* attributes before */
    put_words(&out, 1, 1);
    put_fattr(&out, 8192, 8192);
    put_words(&out, 4, 4096, NFS3_FILE_SYNC, 0xaabbccdd, 0x11223344);
    in = reading(&out);
    assert_true(nfs3_get_write(&in, &w, &err));
    assert_int_equal(w.count, 4096);
    assert_int_equal(w.committed, NFS3_FILE_SYNC);
    assert_true(w.verifier == UINT64_C(0xaabbccdd11223344));
    assert_int_equal(xdr_left(&in), 0);

    struct mount3_mnt m;
    out = begin();
    put_words(&out, 2, NFS3_OK, 8);
    xdr_put_fixed(&out, "roothand", 8);
    put_words(&out, 3, 2, 390003, 1);
    in = reading(&out);
    assert_true(mount3_get_mnt(&in, &m, &err));
    assert_true(m.auth_sys);
    out = begin();
    put_words(&out, 2, NFS3_OK, 4);
    put_words(&out, 2, 0x41414141, 1000000); /* as many flavors as no server has */
    in = reading(&out);
    assert_false(mount3_get_mnt(&in, &m, &err));
    out = begin();
    put_words(&out, 1, NFS3ERR_ACCES);
    in = reading(&out);
    assert_true(mount3_get_mnt(&in, &m, &err));
    assert_int_equal(m.status, NFS3ERR_ACCES);
}

static void statuses(void **state)
{
    (void)state;
    char text[64];
    assert_int_equal(nfs3_errno(NFS3ERR_STALE), ESTALE);
    assert_int_equal(nfs3_errno(NFS3_OK), 0);
    assert_int_equal(nfs3_errno(123456), EIO);
    assert_non_null(strstr(nfs3_status_text(NFS3ERR_STALE, text, sizeof(text)), "NFS3ERR_STALE"));
    assert_string_equal(nfs3_status_text(123456, text, sizeof(text)), "unknown NFS status 123456");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xdr_bounds),    cmocka_unit_test(call_header),
        cmocka_unit_test(reply_headers), cmocka_unit_test(arguments),
        cmocka_unit_test(read_results),  cmocka_unit_test(other_results),
        cmocka_unit_test(statuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
