/* verbs/nfs_client.h against a peer of the test's own, which answers as scripted. */
#include "../../verbs/nfs_call.h"
#include "../../verbs/nfs_client.h"
#include "../../verbs/rpcrdma_msg.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "peer_quiet.h"

enum { MESSAGES = 64, RKEY = 0x5eed, BLOCK = 8192, READ = 4096, SLOTS = 4 };

struct message {
    uint8_t data[1024];
    size_t bytes;
};

struct peer {
    struct transport t;
    struct message sent[MESSAGES], inbox[MESSAGES];
    unsigned sent_n, inbox_n, taken;
    const char *gone; /* the connection is over, for this reason */
};

/* How connections are made anew, when they are. */
static struct {
    bool used;
    unsigned refusals; /* left, before a connection stands */
    unsigned asked;
    uint64_t for_ns;
} again;

static struct peer peers[2];
static struct nfs_client *client;
static uint8_t buffers[SLOTS * BLOCK];
static const struct nfs_fh fh = {.bytes = 6, .data = "handle"};
static struct rpc_auth auth = {.uid = 1, .gid = 2, .machine = "test"};
static const struct nfs_io block = {.buf = buffers, .offset = 65536, .bytes = BLOCK, .fh = &fh};

static void *peer_next(struct transport *t)
{
    struct peer *p = (struct peer *)t;
    return p->sent_n < MESSAGES ? p->sent[p->sent_n].data : NULL;
}

static void peer_send(struct transport *t, size_t bytes)
{
    struct peer *p = (struct peer *)t;
    p->sent[p->sent_n++].bytes = bytes;
}

static int peer_poll(struct transport *t, struct transport_msg *msgs, unsigned max, struct err *err)
{
    struct peer *p = (struct peer *)t;
    unsigned n = 0;
    p->t.lost = p->gone;
    if (p->gone)
        return err_set(err, STATUS_FAILED, "%s", p->gone) - 1;
    for (; n < max && p->taken < p->inbox_n; n++, p->taken++)
        msgs[n] = (struct transport_msg){p->inbox[p->taken].data, p->inbox[p->taken].bytes, 0};
    return (int)n;
}

static const struct transport_ops peer_ops = {peer_next,    peer_send, peer_flush, peer_poll,
                                              peer_release, peer_arm,  peer_fds,   NULL};

static struct transport *peer_again(void *ctx, unsigned connection, struct err *err)
{
    struct peer *p = &peers[connection];
    assert_ptr_equal(ctx, &again);
    assert_non_null(p->gone);
    again.asked++;
    if (again.refusals) {
        again.refusals--;
        err_set(err, STATUS_FAILED, "refused");
        return NULL;
    }
    struct transport t = {
        .ops = &peer_ops, .send_bytes = 1024, .credits = 32, .rkey = RKEY, .granted = 16};
    *p = (struct peer){.t = t};
    return &p->t;
}

/* A client over n peers that grant so many credits. */
static void begin(unsigned n, uint32_t granted, uint64_t deadline_ns)
{
    struct transport *connections[2];
    struct err err = {0};
    for (unsigned i = 0; i < n; i++) {
        peers[i] = (struct peer){.t = {.ops = &peer_ops,
                                       .send_bytes = 1024,
                                       .credits = 32,
                                       .rkey = RKEY,
                                       .granted = granted}};
        connections[i] = &peers[i].t;
    }
    struct nfs_client_setup setup = {.connections = connections,
                                     .connections_n = n,
                                     .auth = &auth,
                                     .slots = SLOTS,
                                     .io_bytes = BLOCK,
                                     .read_bytes = READ,
                                     .write_bytes = READ,
                                     .deadline_ns = deadline_ns,
                                     .retry_ns = 1000000,
                                     .again = again.used ? peer_again : NULL,
                                     .again_ctx = &again,
                                     .again_for_ns = again.for_ns};
    client = nfs_client_new(&setup, &err);
    assert_non_null(client);
}

/* What the client asked for in message m of a peer. */
struct asked {
    uint32_t xid, credits, position, bytes;
    struct rpcrdma_segment chunk;
    uint64_t offset;
    bool write;
};

static struct asked asked(const struct peer *p, unsigned m)
{
    struct asked a;
    uint32_t n;
    struct xdr_in in = xdr_in(p->sent[m].data, p->sent[m].bytes);
    a.xid = xdr_u32(&in);
    assert_int_equal(xdr_u32(&in), RPCRDMA_VERSION);
    a.credits = xdr_u32(&in);
    assert_int_equal(xdr_u32(&in), RDMA_MSG);
    a.write = xdr_u32(&in) == 1;
    a.position = a.write ? xdr_u32(&in) : 0;
    if (!a.write)
        assert_true(xdr_u32(&in) == 1 && xdr_u32(&in) == 1);
    a.chunk.handle = xdr_u32(&in);
    a.chunk.length = xdr_u32(&in);
    a.chunk.offset = xdr_u64(&in);
    if (a.write)
        xdr_u32(&in);
    assert_true(xdr_u32(&in) == 0 && xdr_u32(&in) == 0);
    struct xdr_in rpc = xdr_in(in.at, xdr_left(&in));
    assert_int_equal(xdr_u32(&rpc), a.xid);
    xdr_fixed(&rpc, 2 * 4);
    assert_int_equal(xdr_u32(&rpc), NFS_PROGRAM);
    assert_int_equal(xdr_u32(&rpc), NFS_VERSION);
    assert_int_equal(xdr_u32(&rpc), a.write ? NFS3_WRITE : NFS3_READ);
    assert_int_equal(xdr_u32(&rpc), 1);
    xdr_opaque(&rpc, 400, &n);
    xdr_fixed(&rpc, 8);
    assert_memory_equal(xdr_opaque(&rpc, 64, &n), "handle", 6);
    a.offset = xdr_u64(&rpc);
    a.bytes = xdr_u32(&rpc);
    if (a.write) {
        assert_int_equal(xdr_u32(&rpc), NFS3_FILE_SYNC);
        assert_int_equal(xdr_u32(&rpc), a.bytes);
        assert_int_equal(xdr_consumed(&rpc), a.position);
    }
    assert_true(rpc.ok && xdr_left(&rpc) == 0);
    return a;
}

/* The parts of an answer; a test changes what it wants to be wrong. */
struct answer {
    uint32_t xid, version, credits, proc, error, chunks, segments, status, count, data_bytes;
    struct rpcrdma_segment segment;
    uint32_t cut; /* bytes left out at the end */
};

static struct answer good(const struct asked *a)
{
    return (struct answer){.xid = a->xid,
                           .version = 1,
                           .credits = 16,
                           .chunks = 1,
                           .segments = 1,
                           .count = a->bytes,
                           .data_bytes = a->bytes,
                           .segment = a->chunk};
}

static void answer(struct peer *p, const struct answer *a)
{
    struct message *m = &p->inbox[p->inbox_n++];
    struct xdr_out out = xdr_out(m->data, sizeof(m->data));
    const uint32_t head[] = {a->xid, a->version, a->credits, a->proc};
    for (unsigned i = 0; i < 4; i++)
        xdr_put_u32(&out, head[i]);
    if (a->proc == RDMA_ERROR) {
        const uint32_t error[] = {a->error, 2, 2};
        for (unsigned i = 0; i < (a->error == ERR_VERS ? 3u : 1u); i++)
            xdr_put_u32(&out, error[i]);
        m->bytes = xdr_written(&out);
        return;
    }
    xdr_put_u32(&out, 0);
    for (uint32_t i = 0; i < a->chunks; i++) {
        xdr_put_u32(&out, 1);
        xdr_put_u32(&out, a->segments);
        if (a->segments) {
            xdr_put_u32(&out, a->segment.handle);
            xdr_put_u32(&out, a->segment.length);
            xdr_put_u64(&out, a->segment.offset);
        }
    }
    const uint32_t rest[] = {0, 0, a->xid, 1, 0, 0, 0, 0, a->status, 0};
    for (unsigned i = 0; i < 10; i++)
        xdr_put_u32(&out, rest[i]);
    if (a->status == NFS3_OK) {
        xdr_put_u32(&out, a->count);
        xdr_put_u32(&out, 0);
        xdr_put_u32(&out, a->data_bytes);
    }
    assert_true(out.ok);
    m->bytes = xdr_written(&out) - a->cut;
}

static void finish(void)
{
    nfs_client_free(client);
    client = NULL;
}

static void reads(void **state)
{
    (void)state;
    struct nfs_done done[SLOTS];
    begin(1, 16, 1000000000);
    nfs_client_start(client, 2, &block);
    assert_int_equal(nfs_client_flush(client), 0);
    assert_int_equal(peers[0].sent_n, 2); /* a block of twice the READ size */
    for (unsigned i = 0; i < 2; i++) {
        struct asked a = asked(&peers[0], i);
        assert_false(a.write);
        assert_int_equal(a.credits, 32);
        assert_int_equal(a.offset, 65536 + i * READ);
        assert_int_equal(a.bytes, READ);
        assert_int_equal(a.chunk.handle, RKEY);
        assert_int_equal(a.chunk.length, READ);
        assert_true(a.chunk.offset == (uintptr_t)buffers + i * READ);
    }
    struct asked second = asked(&peers[0], 1), first = asked(&peers[0], 0);
    assert_int_not_equal(first.xid, second.xid);
    struct answer b = good(&second);
    answer(&peers[0], &b);
    assert_int_equal(nfs_client_reap(client, done, SLOTS, 0), 0); /* half of it */
    b = good(&first);
    answer(&peers[0], &b);
    assert_int_equal(nfs_client_reap(client, done, SLOTS, 1000000000), 1);
    assert_int_equal(done[0].slot, 2);
    assert_int_equal(done[0].result, BLOCK);
    assert_int_equal(peers[0].t.granted, 16);
    assert_int_equal(peers[0].t.outstanding, 0);
    assert_int_equal(nfs_client_counts(client)->calls, 2);
    assert_null(nfs_client_why(client));
    finish();
}

static void writes(void **state)
{
    (void)state;
    struct nfs_done done[SLOTS];
    struct nfs_io io = block;
    io.write = true;
    begin(1, 16, 1000000000);
    nfs_client_start(client, 0, &io);
    assert_int_equal(nfs_client_flush(client), 0);
    for (unsigned i = 0; i < 2; i++) {
        struct asked a = asked(&peers[0], i);
        assert_true(a.write);
        struct message *m = &peers[0].inbox[peers[0].inbox_n++];
        struct xdr_out out = xdr_out(m->data, sizeof(m->data));
        const uint32_t words[] = {a.xid, 1, 16, 0,       0, 0, 0,    a.xid,          1, 0,
                                  0,     0, 0,  NFS3_OK, 0, 0, READ, NFS3_FILE_SYNC, 1, 2};
        for (unsigned w = 0; w < sizeof(words) / sizeof(*words); w++)
            xdr_put_u32(&out, words[w]);
        m->bytes = xdr_written(&out);
    }
    assert_int_equal(nfs_client_reap(client, done, SLOTS, 1000000000), 1);
    assert_int_equal(done[0].result, BLOCK);
    finish();
}

/* Never more calls on a connection than granted, and the grant of each reply counts. */
static void credits(void **state)
{
    (void)state;
    struct nfs_done done[SLOTS];
    begin(2, 1, 1000000000);
    for (unsigned i = 0; i < SLOTS; i++)
        nfs_client_start(client, i, &block);
    assert_int_equal(nfs_client_flush(client), 0);
    assert_int_equal(peers[0].sent_n, 1); /* one call until a reply grants more */
    assert_int_equal(peers[1].sent_n, 1);
    struct asked a = asked(&peers[0], 0);
    struct answer b = good(&a);
    b.credits = 3;
    answer(&peers[0], &b);
    nfs_client_reap(client, done, SLOTS, 0);
    assert_int_equal(peers[0].sent_n, 4);
    assert_int_equal(peers[1].sent_n, 1);
    /* A grant of 0 leaves one, and only once the others are answered. */
    for (unsigned i = 1; i < 4; i++) {
        a = asked(&peers[0], i);
        b = good(&a);
        b.credits = 0;
        answer(&peers[0], &b);
    }
    nfs_client_reap(client, done, SLOTS, 0);
    assert_int_equal(peers[0].t.granted, 1);
    assert_int_equal(peers[0].t.granted_min, 0);
    assert_int_equal(peers[0].sent_n, 5);
    /* More than was asked for would overrun the receive buffers. */
    a = asked(&peers[0], 4);
    b = good(&a);
    b.credits = UINT32_MAX;
    answer(&peers[0], &b);
    nfs_client_reap(client, done, SLOTS, 0);
    assert_int_equal(peers[0].t.granted, 32);
    assert_true(nfs_client_counts(client)->credit_waits > 0);
    finish();
}

static void short_and_failed_reads(void **state)
{
    (void)state;
    struct nfs_done done[SLOTS];
    begin(1, 16, 1000000000);
    nfs_client_start(client, 0, &block); /* second READ short */
    nfs_client_start(client, 1, &block); /* first READ short: the second counts no more */
    nfs_client_start(client, 2, &block); /* stale */
    assert_int_equal(nfs_client_flush(client), 0);
    for (unsigned i = 0; i < 6; i++) {
        struct asked a = asked(&peers[0], i);
        struct answer b = good(&a);
        if (i == 1 || i == 2)
            b.count = b.data_bytes = b.segment.length = 1000;
        if (i >= 4) {
            b.status = NFS3ERR_STALE;
            b.segment.length = 0;
        }
        answer(&peers[0], &b);
    }
    assert_int_equal(nfs_client_reap(client, done, SLOTS, 1000000000), 3);
    assert_int_equal(done[0].result, READ + 1000);
    assert_int_equal(done[1].result, 1000);
    assert_int_equal(done[2].result, -ESTALE);
    assert_non_null(strstr(nfs_client_why(client), "NFS3ERR_STALE"));
    assert_int_equal(nfs_client_flush(client), 0); /* the connection goes on */
    finish();
}

static void jukebox(void **state)
{
    (void)state;
    struct nfs_done done[SLOTS];
    struct nfs_io io = block;
    io.bytes = READ;
    begin(1, 16, 60000000000);
    nfs_client_start(client, 0, &io);
    assert_int_equal(nfs_client_flush(client), 0);
    uint32_t xids[3];
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(peers[0].sent_n, i + 1);
        struct asked a = asked(&peers[0], i);
        struct answer b = good(&a);
        xids[i] = a.xid;
        assert_int_equal(a.offset, 65536);
        if (i < 2) {
            b.status = NFS3ERR_JUKEBOX;
            b.chunks = 0;
        }
        answer(&peers[0], &b);
        assert_int_equal(nfs_client_reap(client, done, SLOTS, i < 2 ? 200000000 : 1000000000),
                         i < 2 ? 0 : 1);
    }
    assert_true(xids[0] != xids[1] && xids[1] != xids[2]);
    assert_int_equal(done[0].result, READ);
    assert_int_equal(nfs_client_counts(client)->jukebox, 2);
    finish();
}

static void answers_wrong(struct answer *b, unsigned which)
{
    switch (which) {
    case 0:
        b->version = 2;
        break;
    case 1:
        b->proc = RDMA_ERROR;
        b->error = ERR_VERS;
        break;
    case 2:
        b->proc = RDMA_ERROR;
        b->error = ERR_CHUNK;
        break;
    case 3:
        b->segment.length = UINT32_MAX;
        break;
    case 4:
        b->segments = 1000000;
        break;
    case 5:
        b->segment.length = READ + 4;
        break;
    case 6:
        b->segment.length = READ / 2;
        break;
    case 7:
        b->data_bytes = READ / 2;
        break;
    case 8:
        b->count = b->data_bytes = READ + 1;
        break;
    case 9:
        b->xid ^= 0x80000000;
        break;
    case 10:
        b->cut = 28;
        break;
    case 11:
        b->cut = 4;
        break;
    case 12:
        b->segment.handle++;
        break;
    case 13:
        b->segment.offset += 4096;
        break;
    case 14:
        b->chunks = 0;
        break;
    case 15:
        b->chunks = 2;
        break;
    case 16:
        b->segments = 0;
        break;
    }
}

/* Each wrong answer ends the client with what was wrong, and it stays ended. */
static void wrong_answers(void **state)
{
    (void)state;
    static const char *const says[] = {"version 2, asked in version 1",
                                       "it speaks 2 to 2",
                                       "ERR_CHUNK",
                                       "longer than offered: 4294967295 bytes, 4096 asked for",
                                       "write chunk of 1000000 segments, 1 offered",
                                       "longer than offered: 4100 bytes",
                                       "READ counts 4096 bytes, but 2048 were placed by RDMA",
                                       "its data are 2048 bytes long",
                                       "READ returned more than asked: 4097 bytes",
                                       "which is not outstanding",
                                       "RPC reply: the header is cut off",
                                       "READ is cut off",
                                       "not the one that was offered",
                                       "not the one that was offered",
                                       "but 0 were placed by RDMA",
                                       "more write chunks than were offered",
                                       "but 0 were placed by RDMA"};
    for (unsigned i = 0; i < sizeof(says) / sizeof(*says); i++) {
        struct nfs_done done[SLOTS];
        begin(1, 16, 1000000000);
        nfs_client_start(client, 0, &block);
        assert_int_equal(nfs_client_flush(client), 0);
        struct asked a = asked(&peers[0], 0);
        struct answer b = good(&a);
        answers_wrong(&b, i);
        answer(&peers[0], &b);
        assert_int_equal(nfs_client_reap(client, done, SLOTS, 0), -EPROTO);
        if (!nfs_client_why(client) || !strstr(nfs_client_why(client), says[i]))
            fail_msg("case %u: \"%s\" does not say \"%s\"", i, nfs_client_why(client), says[i]);
        assert_int_equal(nfs_client_reap(client, done, SLOTS, 0), -EPROTO);
        assert_int_equal(nfs_client_flush(client), -EPROTO);
        finish();
    }
}

static void duplicates(void **state)
{
    (void)state;
    struct nfs_done done[SLOTS];
    for (unsigned other = 0; other < 2; other++) { /* answered twice, or on another connection */
        begin(2, 16, 1000000000);
        nfs_client_start(client, 0, &block);
        assert_int_equal(nfs_client_flush(client), 0);
        struct asked a = asked(&peers[0], 0);
        struct answer b = good(&a);
        if (!other)
            answer(&peers[0], &b);
        answer(&peers[other], &b);
        assert_int_equal(nfs_client_reap(client, done, SLOTS, 0), -EPROTO);
        assert_non_null(strstr(nfs_client_why(client), "not outstanding: answered twice"));
        finish();
    }
}

static void silence_and_loss(void **state)
{
    (void)state;
    struct nfs_done done[SLOTS];
    begin(1, 16, 150000000);
    nfs_client_start(client, 0, &block);
    assert_int_equal(nfs_client_reap(client, done, SLOTS, UINT64_C(10000000000)), -ETIMEDOUT);
    assert_non_null(strstr(nfs_client_why(client), "no answer for"));
    finish();
    begin(1, 16, 1000000000);
    nfs_client_start(client, 0, &block);
    assert_int_equal(nfs_client_flush(client), 0);
    peers[0].gone = "the server closed the connection";
    assert_int_equal(nfs_client_reap(client, done, SLOTS, 1000000000), -ENOTCONN);
    assert_string_equal(nfs_client_why(client), peers[0].gone);
    finish();
}

static void answer_all(struct peer *p)
{
    for (unsigned i = 0; i < p->sent_n; i++) {
        struct asked a = asked(p, i);
        struct answer b = good(&a);
        answer(p, &b);
    }
}

/* A lost connection is made anew, and what was outstanding on it is asked for again, once. */
static void reconnects(void **state)
{
    (void)state;
    struct nfs_done done[SLOTS];
    again.used = true;
    again.refusals = 2;
    again.asked = 0;
    again.for_ns = UINT64_C(60000000000);
    begin(1, 16, UINT64_C(60000000000));
    nfs_client_start(client, 1, &block);
    nfs_client_start(client, 3, &block);
    assert_int_equal(nfs_client_flush(client), 0);
    struct asked first[4];
    for (unsigned i = 0; i < 4; i++)
        first[i] = asked(&peers[0], i);
    struct answer b = good(&first[0]); /* half of slot 1 is there already */
    answer(&peers[0], &b);
    assert_int_equal(nfs_client_reap(client, done, SLOTS, 0), 0);
    peers[0].gone = "the server closed the connection";
    assert_int_equal(nfs_client_reap(client, done, SLOTS, 0), 0);
    assert_int_equal(again.asked, 1); /* at once: it closes the old connection */
    while (again.asked < 3)
        assert_int_equal(nfs_client_reap(client, done, SLOTS, 100000000), 0);
    assert_int_equal(nfs_client_flush(client), 0);
    assert_int_equal(peers[0].sent_n, 3);
    for (unsigned i = 0; i < 3; i++) {
        struct asked a = asked(&peers[0], i);
        assert_int_equal(a.offset, first[i + 1].offset);
        assert_true(a.chunk.offset == first[i + 1].chunk.offset);
        for (unsigned k = 0; k < 4; k++)
            assert_int_not_equal(a.xid, first[k].xid);
    }
    answer_all(&peers[0]);
    assert_int_equal(nfs_client_reap(client, done, SLOTS, 1000000000), 2);
    assert_int_equal(done[0].result, BLOCK);
    assert_int_equal(done[1].result, BLOCK);
    assert_int_equal(nfs_client_counts(client)->reconnects, 1);
    assert_int_equal(nfs_client_counts(client)->calls, 4);
    assert_null(nfs_client_why(client));
    finish();
    again.used = false;
}

/* The other connections carry the load meanwhile. */
static void one_of_two_lost(void **state)
{
    (void)state;
    struct nfs_done done[SLOTS];
    again.used = true;
    again.refusals = 1000000;
    again.for_ns = UINT64_C(60000000000);
    begin(2, 16, UINT64_C(60000000000));
    nfs_client_start(client, 0, &block);
    assert_int_equal(nfs_client_flush(client), 0);
    assert_int_equal(peers[0].sent_n, 1);
    peers[0].gone = "the server closed the connection";
    assert_int_equal(nfs_client_reap(client, done, SLOTS, 0), 0);
    assert_int_equal(peers[1].sent_n, 2);
    answer_all(&peers[1]);
    assert_int_equal(nfs_client_reap(client, done, SLOTS, 1000000000), 1);
    assert_int_equal(done[0].result, BLOCK);
    assert_int_equal(nfs_client_counts(client)->reconnects, 0);
    finish();
    again.used = false;
}

/* It ends with why the connection went and why there is none again; and a peer that says what is
 * wrong is not asked again. */
static void reconnects_no_more(void **state)
{
    (void)state;
    struct nfs_done done[SLOTS];
    again.used = true;
    again.refusals = 1000000;
    again.for_ns = 250000000;
    begin(1, 16, UINT64_C(60000000000));
    nfs_client_start(client, 0, &block);
    assert_int_equal(nfs_client_flush(client), 0);
    peers[0].gone = "the server closed the connection";
    assert_int_equal(nfs_client_reap(client, done, SLOTS, UINT64_C(10000000000)), -ENOTCONN);
    const char *why = nfs_client_why(client);
    assert_ptr_equal(strstr(why, "the server closed the connection; no new connection in "), why);
    assert_non_null(strstr(why, " s: refused"));
    assert_int_equal(nfs_client_flush(client), -ENOTCONN);
    finish();

    again.asked = 0;
    begin(1, 16, 1000000000);
    nfs_client_start(client, 0, &block);
    assert_int_equal(nfs_client_flush(client), 0);
    struct asked a = asked(&peers[0], 0);
    struct answer b = good(&a);
    b.xid ^= 0x80000000;
    answer(&peers[0], &b);
    assert_int_equal(nfs_client_reap(client, done, SLOTS, 0), -EPROTO);
    assert_int_equal(again.asked, 0);
    finish();
    again.used = false;
}

/* Replies out of order for a long time: every xid finds its slot. */
static void many(void **state)
{
    (void)state;
    struct nfs_done done[SLOTS];
    unsigned finished = 0;
    begin(2, 16, 60000000000);
    for (unsigned i = 0; i < SLOTS; i++)
        nfs_client_start(client, i, &block);
    srand(1);
    while (finished < 20000) {
        assert_int_equal(nfs_client_flush(client), 0);
        for (unsigned p = 0; p < 2; p++) {
            for (unsigned left = peers[p].sent_n; left; left--) {
                unsigned m = (unsigned)rand() % left;
                struct asked a = asked(&peers[p], m);
                struct answer b = good(&a);
                answer(&peers[p], &b);
                peers[p].sent[m] = peers[p].sent[left - 1];
            }
            peers[p].sent_n = 0;
        }
        int n = nfs_client_reap(client, done, SLOTS, 0);
        assert_true(n >= 0);
        peers[0].inbox_n = peers[0].taken = peers[1].inbox_n = peers[1].taken = 0;
        for (int i = 0; i < n; i++, finished++) {
            assert_int_equal(done[i].result, BLOCK);
            nfs_client_start(client, done[i].slot, &block);
        }
    }
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),
        cmocka_unit_test(writes),
        cmocka_unit_test(credits),
        cmocka_unit_test(short_and_failed_reads),
        cmocka_unit_test(jukebox),
        cmocka_unit_test(wrong_answers),
        cmocka_unit_test(duplicates),
        cmocka_unit_test(silence_and_loss),
        cmocka_unit_test(many),
        cmocka_unit_test(reconnects),
        cmocka_unit_test(one_of_two_lost),
        cmocka_unit_test(reconnects_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
