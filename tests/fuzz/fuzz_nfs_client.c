/* Whole replies to outstanding READs and WRITEs, from a peer that sends the input: the client ends
 * or goes on, and never says that more bytes moved than were asked for. The input is messages, each
 * behind its length in 2 bytes; a xid below 16 stands for that of call number xid. */
#include "fuzz_text.h"

#include "../../verbs/nfs_client.h"
#include "../../verbs/xdr.h"

enum { SLOTS = 4, BLOCK = 8192, PART = 4096, CALLS = 64 };

struct peer {
    struct transport t;
    uint8_t call[1024];
    uint32_t xids[CALLS];
    unsigned calls;
    const uint8_t *at, *end;
    uint8_t message[1024];
};

static void *peer_next(struct transport *t)
{
    return ((struct peer *)t)->calls < CALLS ? ((struct peer *)t)->call : NULL;
}

static void peer_send(struct transport *t, size_t bytes)
{
    struct peer *p = (struct peer *)t;
    struct xdr_in in = xdr_in(p->call, bytes);
    must(bytes <= sizeof(p->call));
    p->xids[p->calls++] = xdr_u32(&in);
}

static bool peer_true(struct transport *t, struct err *err)
{
    (void)t;
    (void)err;
    return true;
}

static int peer_poll(struct transport *t, struct transport_msg *msgs, unsigned max, struct err *err)
{
    struct peer *p = (struct peer *)t;
    (void)err;
    if (max == 0 || p->end - p->at < 2)
        return 0;
    size_t bytes = ((size_t)p->at[0] << 8 | p->at[1]) % sizeof(p->message);
    p->at += 2;
    if (bytes > (size_t)(p->end - p->at))
        bytes = (size_t)(p->end - p->at);
    memcpy(p->message, p->at, bytes);
    p->at += bytes;
    struct xdr_in in = xdr_in(p->message, bytes);
    uint32_t xid = xdr_u32(&in);
    if (in.ok && xid < 16 && xid < p->calls) {
        uint8_t *real = p->message;
        for (unsigned copy = 0; copy < 2; copy++, real = p->message + 28) {
            struct xdr_out out = xdr_out(real, real + 4 <= p->message + bytes ? 4 : 0);
            xdr_put_u32(&out, p->xids[xid]);
        }
    }
    msgs[0] = (struct transport_msg){.data = p->message, .bytes = bytes};
    return 1;
}

static bool peer_release(struct transport *t, const struct transport_msg *msgs, unsigned n,
                         struct err *err)
{
    (void)msgs;
    (void)n;
    return peer_true(t, err);
}

static unsigned peer_fds(const struct transport *t, struct pollfd *fds)
{
    (void)t;
    (void)fds;
    return 0;
}

static const struct transport_ops peer_ops = {peer_next,    peer_send, peer_true, peer_poll,
                                              peer_release, peer_true, peer_fds,  NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char memory[SLOTS * BLOCK];
    static const struct nfs_fh fh = {.bytes = 4, .data = "file"};
    static const struct rpc_auth auth = {.machine = "fuzz"};
    struct err err = {0};
    struct peer p = {
        .t = {.ops = &peer_ops, .send_bytes = 1024, .credits = 8, .granted = 8, .rkey = 1},
        .at = data,
        .end = data + size};
    struct transport *connection = &p.t;
    struct nfs_client_setup setup = {.connections = &connection,
                                     .connections_n = 1,
                                     .auth = &auth,
                                     .slots = SLOTS,
                                     .io_bytes = BLOCK,
                                     .read_bytes = PART,
                                     .write_bytes = PART,
                                     .deadline_ns = UINT64_MAX / 4,
                                     .retry_ns = 1};
    struct nfs_client *c = nfs_client_new(&setup, &err);
    must(c != NULL);
    for (uint32_t i = 0; i < SLOTS; i++)
        nfs_client_start(c, i,
                         &(struct nfs_io){.buf = memory + i * BLOCK,
                                          .offset = i * BLOCK,
                                          .bytes = BLOCK,
                                          .fh = &fh,
                                          .write = i == SLOTS - 1});
    int n = nfs_client_flush(c);
    while (n >= 0 && p.end - p.at >= 2) {
        struct nfs_done done[SLOTS];
        n = nfs_client_reap(c, done, SLOTS, 0);
        for (int i = 0; i < n; i++)
            must(done[i].slot < SLOTS && done[i].result <= BLOCK);
        must(p.t.outstanding <= p.t.credits && p.t.granted >= 1 && p.t.granted <= p.t.credits);
    }
    must(n >= 0 || nfs_client_why(c) != NULL);
    nfs_client_free(c);
    return 0;
}
