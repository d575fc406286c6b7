/* verbs/rpcrdma_conn.h over a queue pair of the test's own: which sends ask for a completion, when
 * their memory is used again, and what is said of each way in which a connection ends. */
#include "check.h"

#ifdef HAVE_VERBS
#include "scripted_cm.h"

#include "../../verbs/rpcrdma_conn.c" /* struct conn is not in its header */

enum { CREDITS = 5, INLINE = 200, QUEUE = 64 };

/* The device completes in order, and tells of sends only when they are signalled, or fail. */
static struct {
    struct ibv_wc due[QUEUE];
    unsigned due_n;
    struct {
        uint64_t id;
        bool signalled;
    } sends[QUEUE];
    unsigned sends_n; /* posted and not completed */
    unsigned unknown; /* posted, and not known to the client to be complete */
    unsigned silent;  /* unsignalled ones in a row */
    unsigned posts, receives, probes;
    int refuse;
} device;

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    (void)qp;
    (void)bad;
    if (device.refuse)
        return device.refuse;
    device.posts++;
    for (; wr; wr = wr->next) {
        bool signalled = wr->send_flags & IBV_SEND_SIGNALED;
        if (wr->opcode == IBV_WR_RDMA_WRITE) {
            assert_int_equal(wr->wr_id, PROBE_ID);
            assert_int_equal(wr->num_sge, 0);
            assert_true(signalled);
            device.probes++;
            continue;
        }
        assert_int_equal(wr->opcode, IBV_WR_SEND);
        assert_int_equal(!!(wr->send_flags & IBV_SEND_INLINE), wr->sg_list->length <= INLINE);
        assert_true(device.sends_n < QUEUE);
        device.sends[device.sends_n].id = wr->wr_id;
        device.sends[device.sends_n++].signalled = signalled;
        device.silent = signalled ? 0 : device.silent + 1;
        assert_true(++device.unknown <= 2 * CREDITS + 2); /* what the queue pair was made for */
    }
    return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    (void)qp;
    (void)bad;
    for (; wr; wr = wr->next)
        device.receives++;
    return device.refuse;
}

static int poll_cq(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
    int n = 0;
    (void)cq;
    for (; n < max && device.due_n; n++) {
        wc[n] = device.due[0];
        memmove(device.due, device.due + 1, --device.due_n * sizeof(*device.due));
    }
    return n;
}

static void complete_send(void)
{
    uint64_t id = device.sends[0].id;
    bool signalled = device.sends[0].signalled;
    memmove(device.sends, device.sends + 1, --device.sends_n * sizeof(*device.sends));
    if (!signalled)
        return;
    device.due[device.due_n++] = (struct ibv_wc){.wr_id = id, .status = IBV_WC_SUCCESS};
    device.unknown = device.sends_n; /* one tells of all before it */
}

static void fail_with(uint64_t id, enum ibv_wc_status status)
{
    device.due[device.due_n++] = (struct ibv_wc){.wr_id = id, .status = status};
}

static struct ibv_device hardware = {.name = "mlx5_7"};
static struct ibv_context context = {
    .device = &hardware,
    .ops = {.post_send = post_send, .post_recv = post_recv, .poll_cq = poll_cq}};
static struct ibv_qp qp = {.context = &context};
static struct ibv_cq cq = {.context = &context};
static struct rdma_cm_id id = {.verbs = &context, .qp = &qp, .port_num = 1};
static struct rdma_event_channel channel = {.fd = -1};

static struct conn *make(void)
{
    struct conn *c = calloc(1, sizeof(*c));
    assert_non_null(c);
    memset(&device, 0, sizeof(device));
    memset(&script, 0, sizeof(script));
    set_depths(c, CREDITS);
    c->t = (struct transport){.ops = &conn_ops, .send_bytes = SEND_MAX, .credits = CREDITS};
    c->cm = (struct cm){.channel = &channel, .id = &id, .to = {.text = "server:20049"}};
    c->cq = &cq;
    c->wqe_inline = INLINE;
    c->recv = calloc(CREDITS, RECV_BYTES);
    c->send = calloc(c->send_depth, SEND_MAX);
    c->send_wr = calloc(c->send_depth, sizeof(*c->send_wr));
    c->send_sge = calloc(c->send_depth, sizeof(*c->send_sge));
    c->recv_wr = calloc(CREDITS, sizeof(*c->recv_wr));
    c->recv_sge = calloc(CREDITS, sizeof(*c->recv_sge));
    return c;
}

static void drop(struct conn *c)
{
    c->cq = NULL; /* the test's */
    conn_close(&c->t);
    assert_true(script.closed);
}

/* With a call outstanding for each credit there is always room for the next one, no send is written
 * over before it is known to be gone, and few ask for a completion. */
static void sends(void **state)
{
    (void)state;
    struct conn *c = make();
    struct transport *t = &c->t;
    struct err err = {0};
    unsigned seed = 1, outstanding = 0;
    uint64_t sent = 0, replies = 0;
    while (sent < 20000) {
        unsigned batch = rand_r(&seed) % (CREDITS - outstanding + 1), posts = device.posts;
        for (unsigned i = 0; i < batch; i++, sent++, outstanding++) {
            assert_non_null(t->ops->next(t));
            t->ops->send(t, 1 + rand_r(&seed) % (2 * INLINE));
        }
        assert_true(t->ops->flush(t, &err));
        assert_int_equal(device.posts, posts + (batch > 0)); /* one doorbell a batch */
        assert_true(device.silent <= CREDITS);
        /* A reply says that its call has arrived, so that the call's send is complete. */
        for (unsigned n = outstanding ? rand_r(&seed) % (outstanding + 1) : 0; n;
             n--, outstanding--) {
            complete_send();
            device.due[device.due_n++] =
                (struct ibv_wc){.wr_id = replies++ % CREDITS, .byte_len = 40};
        }
        struct transport_msg msgs[QUEUE];
        int n = t->ops->poll(t, msgs, QUEUE, &err);
        assert_true(n >= 0);
        for (int i = 0; i < n; i++)
            assert_int_equal(msgs[i].bytes, 40);
        assert_true(t->ops->release(t, msgs, (unsigned)n, &err));
        assert_int_equal(device.receives, replies); /* every buffer goes back, once */
    }
    drop(c);
}

/* A queue whose completions do not come is full in the end, and says so. */
static void full(void **state)
{
    (void)state;
    struct conn *c = make();
    struct err err = {0};
    struct transport_msg msg;
    unsigned n = 0;
    for (; c->t.ops->next(&c->t); n++)
        c->t.ops->send(&c->t, 8);
    assert_int_equal(n, 2 * CREDITS + 2);
    assert_true(c->t.ops->flush(&c->t, &err));
    while (!device.due_n)
        complete_send();
    assert_int_equal(c->t.ops->poll(&c->t, &msg, 1, &err), 0);
    assert_non_null(c->t.ops->next(&c->t));
    drop(c);
}

struct end {
    enum ibv_wc_status status;
    bool receive;
    const char *lost;
    const char *down;
    bool way; /* it is the way to the server that went: connecting again may help */
    const char *says;
};

static void ends(void **state)
{
    (void)state;
    static const struct end all[] = {
        {IBV_WC_RETRY_EXC_ERR, false, NULL, NULL, true,
         "server:20049 does not acknowledge any more"},
        {IBV_WC_RETRY_EXC_ERR, false, NULL, "port 1 went down", true,
         "port 1 went down with 3 calls outstanding"},
        {IBV_WC_WR_FLUSH_ERR, true, "server:20049 closed the connection", NULL, true,
         "server:20049 closed the connection"},
        {IBV_WC_WR_FLUSH_ERR, true, NULL, "port 1 went down", true,
         "server:20049 is over: port 1 went down"},
        {IBV_WC_WR_FLUSH_ERR, false, NULL, NULL, true, "the device stopped its queue pair"},
        {IBV_WC_RNR_RETRY_EXC_ERR, false, NULL, NULL, false,
         "has no receive buffer for a call, although it granted the credit"},
        {IBV_WC_REM_ACCESS_ERR, true, NULL, NULL, false, "receiving a reply: remote access error"},
        {IBV_WC_REM_OP_ERR, false, NULL, NULL, false, "sending a call: remote operation error"},
        {IBV_WC_LOC_LEN_ERR, true, NULL, NULL, false, "receiving a reply: local length error"},
    };
    for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct conn *c = make();
        struct err err = {0};
        struct transport_msg msg;
        c->t.outstanding = 3;
        script.lost = all[i].lost;
        script.down = all[i].down;
        fail_with(all[i].receive ? 0 : SEND_FLAG, all[i].status);
        assert_int_equal(c->t.ops->poll(&c->t, &msg, 1, &err), -1);
        assert_contains(err.text, all[i].says);
        assert_int_equal(c->t.lost, all[i].way);
        drop(c);
    }
}

/* The key of the buffers stays, so a server that takes it back breaks the rules. */
static void invalidated(void **state)
{
    (void)state;
    struct conn *c = make();
    struct err err = {0};
    struct transport_msg msg;
    device.due[device.due_n++] =
        (struct ibv_wc){.wr_id = 0, .byte_len = 40, .wc_flags = IBV_WC_WITH_INV};
    assert_int_equal(c->t.ops->poll(&c->t, &msg, 1, &err), -1);
    assert_contains(err.text, "server:20049 invalidated a memory key");
    assert_false(c->t.lost);
    drop(c);
}

static void refused(void **state)
{
    (void)state;
    struct conn *c = make();
    struct err err = {0};
    device.refuse = EIO;
    assert_true(c->t.ops->flush(&c->t, &err)); /* nothing to send */
    c->t.ops->send(&c->t, 8);
    assert_false(c->t.ops->flush(&c->t, &err));
    assert_string_equal(err.text, "server:20049: ibv_post_send: Input/output error");
    assert_true(c->t.lost);
    script.lost = "the RDMA device mlx5_7 was removed";
    assert_false(c->t.ops->flush(&c->t, &err));
    assert_contains(err.text, "the RDMA device mlx5_7 was removed; server:20049: ibv_post_send");
    assert_false(c->t.ops->release(&c->t, &(struct transport_msg){.buffer = 1}, 1, &err));
    assert_contains(err.text, "ibv_post_recv");
    drop(c);
}

/* A device that is gone explains more than what its last request came back with. */
static void removed(void **state)
{
    (void)state;
    struct conn *c = make();
    struct err err = {0};
    struct transport_msg msg;
    script.lost = "the RDMA device mlx5_7 was removed";
    script.removed = true;
    c->t.outstanding = 3;
    fail_with(SEND_FLAG, IBV_WC_RETRY_EXC_ERR);
    assert_int_equal(c->t.ops->poll(&c->t, &msg, 1, &err), -1);
    assert_string_equal(err.text, "the RDMA device mlx5_7 was removed with 3 calls outstanding");
    assert_true(c->t.lost);
    drop(c);
}

/* A connection that is closed while nothing arrives is noticed without a completion. */
static void closed_in_silence(void **state)
{
    (void)state;
    struct conn *c = make();
    struct err err = {0};
    struct transport_msg msg;
    script.lost = "the RDMA device mlx5_7 was removed";
    assert_int_equal(c->t.ops->poll(&c->t, &msg, 1, &err), -1);
    assert_string_equal(err.text, script.lost);
    assert_true(c->t.lost);
    drop(c);
}

/* A port that is down makes no completion when it is the server that cannot send. */
static void port_down(void **state)
{
    (void)state;
    struct conn *c = make();
    struct err err = {0};
    struct transport_msg msg;
    unsigned looks = 0;
    script.down = "port 1 of mlx5_7 went down (down)";
    for (; looks < 2 * PORT_LOOKS; looks++, c->looked_ns = 0)
        assert_int_equal(c->t.ops->poll(&c->t, &msg, 1, &err), 0); /* nothing is waited for */
    c->t.outstanding = 3;
    for (looks = 0; c->t.ops->poll(&c->t, &msg, 1, &err) == 0; looks++, c->looked_ns = 0)
        assert_true(looks < PORT_LOOKS);
    assert_int_equal(looks, PORT_LOOKS - 1);
    assert_string_equal(err.text, "port 1 of mlx5_7 went down (down) with 3 calls outstanding");
    assert_true(c->t.lost);
    drop(c);
}

/* Silence makes no error either when the peer has acknowledged all calls before it went: it is
 * asked, one question at a time, and a question that fails ends the connection. */
static void probes(void **state)
{
    (void)state;
    struct conn *c = make();
    struct err err = {0};
    struct transport_msg msg;
    for (unsigned i = 0; i < 4; i++, c->looked_ns = 0, c->quiet_ns = 0)
        assert_int_equal(c->t.ops->poll(&c->t, &msg, 1, &err), 0);
    assert_int_equal(device.probes, 0); /* nothing is waited for */
    c->t.outstanding = 3;
    for (unsigned i = 0; i < 4; i++, c->looked_ns = 0)
        assert_int_equal(c->t.ops->poll(&c->t, &msg, 1, &err), 0);
    assert_int_equal(device.probes, 0); /* not for long */
    for (unsigned i = 0; i < 4; i++, c->looked_ns = 0) {
        c->quiet_ns = 0;
        assert_int_equal(c->t.ops->poll(&c->t, &msg, 1, &err), 0);
    }
    assert_int_equal(device.probes, 1);
    device.due[device.due_n++] = (struct ibv_wc){.wr_id = PROBE_ID, .status = IBV_WC_SUCCESS};
    c->quiet_ns = 0;
    assert_int_equal(c->t.ops->poll(&c->t, &msg, 1, &err), 0);
    assert_int_equal(device.probes, 2);
    fail_with(PROBE_ID, IBV_WC_RETRY_EXC_ERR);
    assert_int_equal(c->t.ops->poll(&c->t, &msg, 1, &err), -1);
    assert_contains(err.text, "server:20049 does not acknowledge any more");
    assert_true(c->t.lost);
    drop(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends),     cmocka_unit_test(full),
        cmocka_unit_test(ends),      cmocka_unit_test(invalidated),
        cmocka_unit_test(refused),   cmocka_unit_test(closed_in_silence),
        cmocka_unit_test(port_down), cmocka_unit_test(probes),
        cmocka_unit_test(removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    return 77;
}
#endif
