/* verbs/nfs_connect.h over connections of the test's own, in place of rpcrdma_connect's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#ifdef HAVE_VERBS
#include "../../verbs/nfs_connect.h"
#include "../../verbs/rpcrdma_msg.h"
#include "../../verbs/xdr.h"
#include "peer_quiet.h"

#include <string.h>

enum behaviour { SILENT, ANSWERS, LOST, REFUSED, REJECTS_CALL };

static struct {
    struct transport t;
    enum behaviour does[4]; /* of each connection in turn; the last goes on */
    unsigned made, closed;
    uint8_t sent[1024], reply[64];
    bool waiting; /* a call that is to be answered */
} peer;

static enum behaviour now_does(void)
{
    return peer.does[peer.made < 4 ? peer.made - 1 : 3];
}

static void *peer_next(struct transport *t)
{
    (void)t;
    return peer.sent;
}

static void peer_send(struct transport *t, size_t bytes)
{
    (void)t;
    (void)bytes;
    peer.waiting = true;
}

static int peer_poll(struct transport *t, struct transport_msg *msgs, unsigned max, struct err *err)
{
    (void)max;
    if (now_does() == LOST) {
        t->lost = true;
        return err_set(err, STATUS_FAILED, "the server closed the connection") - 1;
    }
    if (!peer.waiting || now_does() == SILENT)
        return 0;
    peer.waiting = false;
    struct xdr_in call = xdr_in(peer.sent, 4);
    uint32_t xid = xdr_u32(&call);
    /* RPC_PROC_UNAVAIL is 3. */
    const uint32_t words[] = {
        xid, 1, 7, 0, 0, 0, 0, xid, 1, 0, 0, 0, now_does() == REJECTS_CALL ? 3 : 0};
    struct xdr_out out = xdr_out(peer.reply, sizeof(peer.reply));
    for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
        xdr_put_u32(&out, words[i]);
    msgs[0] = (struct transport_msg){.data = peer.reply, .bytes = xdr_written(&out)};
    return 1;
}

static void peer_close(struct transport *t)
{
    (void)t;
    peer.closed++;
}

static const struct transport_ops peer_ops = {peer_next,    peer_send, peer_flush, peer_poll,
                                              peer_release, peer_arm,  peer_fds,   peer_close};

struct transport *rpcrdma_connect(const struct rpcrdma_setup *setup, struct rpcrdma_facts *facts,
                                  struct err *err)
{
    (void)setup;
    (void)facts;
    assert_int_equal(peer.made, peer.closed); /* one at a time */
    peer.made++;
    peer.waiting = false;
    if (now_does() == REFUSED) {
        peer.closed++;
        err_set(err, STATUS_FAILED, "connection refused");
        return NULL;
    }
    peer.t = (struct transport){.ops = &peer_ops, .send_bytes = 1024, .credits = 32, .granted = 1};
    return &peer.t;
}

static struct transport *connect_to(enum behaviour first, enum behaviour rest, unsigned *unanswered,
                                    struct err *err)
{
    static const struct address server = {.text = "server:20049"};
    struct rpcrdma_setup setup = {.to = &server};
    struct rpcrdma_facts facts;
    memset(&peer, 0, sizeof(peer));
    peer.does[0] = first;
    peer.does[1] = peer.does[2] = peer.does[3] = rest;
    *unanswered = 0;
    *err = (struct err){0};
    return nfs_connect(&setup, &facts, 3000000000, unanswered, err);
}

static void answered(void **state)
{
    (void)state;
    unsigned unanswered;
    struct err err;
    assert_ptr_equal(connect_to(ANSWERS, ANSWERS, &unanswered, &err), &peer.t);
    assert_int_equal(peer.made, 1);
    assert_int_equal(peer.closed, 0);
    assert_int_equal(unanswered, 0);
    assert_int_equal(peer.t.granted, 7);
    assert_int_equal(peer.t.outstanding, 0);
}

/* A connection that stays silent is given up and another one is made, for the deadline. */
static void silent(void **state)
{
    (void)state;
    unsigned unanswered;
    struct err err;
    assert_ptr_equal(connect_to(SILENT, ANSWERS, &unanswered, &err), &peer.t);
    assert_int_equal(peer.made, 2);
    assert_int_equal(peer.closed, 1);
    assert_int_equal(unanswered, 1);
    assert_string_equal(err.text, ""); /* or the run would be taken for one that failed */
    assert_null(connect_to(SILENT, SILENT, &unanswered, &err));
    assert_int_equal(peer.closed, peer.made);
    assert_string_equal(err.text, "server:20049: the server does not answer");
}

/* Whatever says something is not asked again. */
static void refused(void **state)
{
    (void)state;
    static const struct {
        enum behaviour does;
        const char *says;
    } cases[] = {{LOST, "server:20049: the server closed the connection"},
                 {REFUSED, "connection refused"},
                 {REJECTS_CALL, "server:20049: "}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        unsigned unanswered;
        struct err err;
        assert_null(connect_to(cases[i].does, ANSWERS, &unanswered, &err));
        assert_int_equal(peer.made, 1);
        assert_int_equal(peer.closed, 1);
        assert_int_equal(unanswered, 0);
        assert_ptr_equal(strstr(err.text, cases[i].says), err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answered),
        cmocka_unit_test(silent),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    return 77;
}
#endif
