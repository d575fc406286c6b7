/* verbs/rpcrdma_msg.h: headers laid out by hand from RFC 8166, private data from RFC 8797. */
#include "../../verbs/rpcrdma_msg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static uint8_t memory[256];

static size_t words(unsigned n, const unsigned *w)
{
    struct xdr_out out = xdr_out(memory, sizeof(memory));
    for (unsigned i = 0; i < n; i++)
        xdr_put_u32(&out, w[i]);
    assert_true(out.ok);
    return xdr_written(&out);
}

static void calls(void **state)
{
    (void)state;
    const struct rpcrdma_segment s = {0x11, 0x22, UINT64_C(0x3300000044)};
    struct xdr_out out = xdr_out(memory, sizeof(memory));
    rpcrdma_put_call(&out, 7, 32, CHUNK_WRITE, &s, 0);
    static const uint8_t with_write[] = {
        0, 0, 0, 7,    0, 0, 0, 1,    0, 0, 0, 32,   0, 0, 0, 0,                /* head */
        0, 0, 0, 0,                                                             /* reads */
        0, 0, 0, 1,    0, 0, 0, 1,                                              /* writes */
        0, 0, 0, 0x11, 0, 0, 0, 0x22, 0, 0, 0, 0x33, 0, 0, 0, 0x44, 0, 0, 0, 0, /* end of writes */
        0, 0, 0, 0};                                                            /* reply chunk */
    assert_int_equal(xdr_written(&out), sizeof(with_write));
    assert_memory_equal(memory, with_write, sizeof(with_write));
    out = xdr_out(memory, sizeof(memory));
    rpcrdma_put_call(&out, 7, 32, CHUNK_READ, &s, 100);
    static const uint8_t with_read[] = {
        0, 0, 0, 7,    0, 0, 0, 1,    0, 0, 0, 32,   0, 0, 0, 0,                /* head */
        0, 0, 0, 1,    0, 0, 0, 100,                                            /* reads */
        0, 0, 0, 0x11, 0, 0, 0, 0x22, 0, 0, 0, 0x33, 0, 0, 0, 0x44, 0, 0, 0, 0, /* end of reads */
        0, 0, 0, 0,                                                             /* writes */
        0, 0, 0, 0};                                                            /* reply chunk */
    assert_int_equal(xdr_written(&out), sizeof(with_read));
    assert_memory_equal(memory, with_read, sizeof(with_read));
    out = xdr_out(memory, sizeof(memory));
    rpcrdma_put_call(&out, 7, 32, CHUNK_NONE, NULL, 0);
    assert_int_equal(xdr_written(&out), 28);
}

static void good_replies(void **state)
{
    (void)state;
    struct rpcrdma_reply r;
    struct err err = {0};
    size_t n = words(9, (unsigned[]){7, 1, 16, RDMA_MSG, 0, 0, 0, 0xaaaa, 0xbbbb});
    assert_true(rpcrdma_get_reply(&r, memory, n, &err));
    assert_int_equal(r.xid, 7);
    assert_int_equal(r.credits, 16);
    assert_false(r.has_write);
    assert_int_equal(r.rpc_bytes, 8);
    assert_ptr_equal(r.rpc, memory + 28);
    n = words(14, (unsigned[]){7, 1, 16, RDMA_MSG, 0, 1, 1, 0x11, 4096, 0x33, 0x44, 0, 0, 0xaaaa});
    assert_true(rpcrdma_get_reply(&r, memory, n, &err));
    assert_true(r.has_write);
    assert_int_equal(r.segments_n, 1);
    assert_int_equal(r.segments[0].handle, 0x11);
    assert_int_equal(r.segments[0].length, 4096);
    assert_true(r.segments[0].offset == UINT64_C(0x3300000044));
    assert_int_equal(r.rpc_bytes, 4);
    for (size_t cut = 0; cut < 52; cut++) {
        assert_false(rpcrdma_get_reply(&r, memory, cut, &err));
        assert_true(strstr(err.text, "too short") || strstr(err.text, "cut off"));
    }
}

static void bad_replies(void **state)
{
    (void)state;
    static const struct {
        unsigned w[14], n;
        const char *says;
    } cases[] = {
        {{7, 2, 16, RDMA_MSG, 0, 0, 0}, 7, "version 2, asked in version 1"},
        {{7, 1, 16, RDMA_ERROR, ERR_VERS, 2, 3}, 7, "it speaks 2 to 3"},
        {{7, 1, 16, RDMA_ERROR, ERR_CHUNK}, 5, "ERR_CHUNK"},
        {{7, 1, 16, RDMA_ERROR, 77}, 5, "unknown code 77"},
        {{7, 1, 16, RDMA_ERROR}, 4, "cut off"},
        {{7, 1, 16, RDMA_ERROR, ERR_VERS, 2}, 6, "cut off"},
        {{7, 1, 16, RDMA_NOMSG, 0, 0, 0}, 7, "RDMA_NOMSG"},
        {{7, 1, 16, RDMA_MSGP, 0, 0, 0}, 7, "message type 2"},
        {{7, 1, 16, RDMA_DONE, 0, 0, 0}, 7, "message type 3"},
        {{7, 1, 16, 0xffffffff, 0, 0, 0}, 7, "message type 4294967295"},
        {{7, 1, 16, RDMA_MSG, 1, 0, 0x11, 0x22, 0, 0, 0, 0, 0}, 13, "only calls have"},
        {{7, 1, 16, RDMA_MSG, 2, 0, 0}, 7, "read list is cut off or no list"},
        {{7, 1, 16, RDMA_MSG, 0, 2, 0}, 7, "write list is cut off or no list"},
        {{7, 1, 16, RDMA_MSG, 0, 1, 1000000}, 7, "write chunk of 1000000 segments, 1 offered"},
        {{7, 1, 16, RDMA_MSG, 0, 1, 0xffffffff}, 7, "write chunk of 4294967295 segments"},
        {{7, 1, 16, RDMA_MSG, 0, 1, 1, 0x11, 4096, 0, 0, 1, 0}, 13, "more write chunks"},
        {{7, 1, 16, RDMA_MSG, 0, 0, 1}, 7, "a reply chunk, but none was offered"},
        {{7, 1, 16, RDMA_MSG, 0, 0, 9}, 7, "reply chunk is cut off or none"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct rpcrdma_reply r;
        struct err err = {0};
        assert_false(rpcrdma_get_reply(&r, memory, words(cases[i].n, cases[i].w), &err));
        if (!strstr(err.text, cases[i].says))
            fail_msg("case %zu: \"%s\" does not say \"%s\"", i, err.text, cases[i].says);
    }
}

static void private_data(void **state)
{
    (void)state;
    uint8_t data[RPCRDMA_PRIVATE_BYTES];
    struct rpcrdma_private p = {
        .send_bytes = 4096, .recv_bytes = 1024, .remote_invalidation = true};
    rpcrdma_put_private(data, &p);
    assert_memory_equal(data, "\xf6\xab\x0e\x18\1\1\3\0", 8);
    p = rpcrdma_get_private(data, sizeof(data));
    assert_true(p.present && p.remote_invalidation);
    assert_int_equal(p.send_bytes, 4096);
    assert_int_equal(p.recv_bytes, 1024);
    p = (struct rpcrdma_private){.send_bytes = UINT32_MAX, .recv_bytes = 10};
    rpcrdma_put_private(data, &p);
    assert_memory_equal(data, "\xf6\xab\x0e\x18\1\0\xff\0", 8);
    /* Anything else means the defaults: none, too short, another magic, another version. */
    assert_int_equal(rpcrdma_get_private(NULL, 56).recv_bytes, 1024);
    assert_false(rpcrdma_get_private(data, 7).present);
    data[4] = 2;
    assert_false(rpcrdma_get_private(data, 8).present);
    data[0] = 0;
    assert_int_equal(rpcrdma_get_private(data, 8).send_bytes, 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls),
        cmocka_unit_test(good_replies),
        cmocka_unit_test(bad_replies),
        cmocka_unit_test(private_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
