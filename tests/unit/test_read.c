/* The ring of READs against a device of our own: order, batches, places used again, failures. */
#include "check.h"

#ifdef HAVE_VERBS
#include "scripted_cm.h"

#include "../../verbs/read.c" /* struct reader is not in its header */

#define DEPTH 5

/* What was posted and has not completed; completes in order, as a queue pair does. */
static struct {
    uint64_t ids[64];
    unsigned n, posts, most;
    unsigned complete;         /* so many of them are due */
    unsigned every;            /* READs for one completion; 0: one */
    unsigned silent;           /* posted in a row without asking for one */
    bool asked[64];            /* for a completion */
    enum ibv_wc_status status; /* of the last one that is due */
    int refuse;                /* the errno of every post */
} device;

static int post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    (void)qp;
    (void)bad;
    if (device.refuse)
        return device.refuse;
    device.posts++;
    for (; wr; wr = wr->next) {
        assert_int_equal(wr->opcode, IBV_WR_RDMA_READ);
        bool asks = wr->send_flags & IBV_SEND_SIGNALED;
        device.silent = asks ? 0 : device.silent + 1;
        assert_true(device.silent < (device.every ? device.every : 1));
        assert_true(asks || wr->next); /* or a batch might never come back */
        device.asked[device.n] = asks;
        assert_int_equal(wr->wr.rdma.rkey, 77);
        assert_int_equal(wr->wr.rdma.remote_addr, 4096 + 8 * wr->wr_id);
        assert_int_equal(wr->sg_list->lkey, 5);
        device.ids[device.n++] = wr->wr_id;
    }
    if (device.n > device.most)
        device.most = device.n;
    return 0;
}

static int poll_cq(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
    int n = 0;
    (void)cq;
    for (; n < max && device.complete; device.complete--) {
        enum ibv_wc_status status = device.complete == 1 ? device.status : IBV_WC_SUCCESS;
        if (device.asked[0] || status != IBV_WC_SUCCESS)
            wc[n++] = (struct ibv_wc){.wr_id = device.ids[0], .status = status};
        memmove(device.ids, device.ids + 1, --device.n * sizeof(*device.ids));
        memmove(device.asked, device.asked + 1, device.n * sizeof(*device.asked));
    }
    return n;
}

static struct ibv_context context = {.ops = {.post_send = post, .poll_cq = poll_cq}};
static struct ibv_qp qp = {.context = &context};
static struct ibv_cq cq = {.context = &context};
static struct ibv_mr mr = {.lkey = 5};
static struct rdma_cm_id id = {.verbs = &context, .qp = &qp};

static struct reader *make_every(unsigned every)
{
    struct reader *r = calloc(1, sizeof(*r));
    struct reader_setup s = {.depth = DEPTH, .signal_every = every};
    memset(&device, 0, sizeof(device));
    memset(&script, 0, sizeof(script));
    device.every = every;
    r->cm.id = &id;
    strcpy(r->cm.to.text, "peer:1");
    script.lost = "peer:1 closed the connection";
    r->cq = &cq;
    r->mr = &mr;
    r->offer = (struct offer){.rkey = 77, .address = 4096};
    assert_true(make_ring(r, &s, NULL));
    fill_ring(r);
    return r;
}

static struct reader *make(void)
{
    return make_every(0);
}

static void drop_reader(struct reader *r)
{
    free(r->wrs);
    free(r->sges);
    free(r->tags);
    free(r);
}

/* Any mix of batches and completions gives each READ back once, in order, with its tag and size. */
static void comes_back_once(unsigned signal_every)
{
    struct reader *r = make_every(signal_every);
    struct read_done done[DEPTH];
    uint64_t added = 0, back = 0;
    unsigned seed = 1;
    while (back < 100000) {
        unsigned room = DEPTH - (unsigned)(added - back), batch = rand_r(&seed) % (room + 1);
        unsigned posts = device.posts;
        for (unsigned i = 0; i < batch; i++, added++)
            reader_add(r, (uint32_t)(added * 3), NULL, 8 * added, (uint32_t)(added % 1000 + 1));
        assert_int_equal(reader_ring(r), 0);
        assert_int_equal(device.posts, posts + (batch > 0)); /* one call a batch */
        device.complete = device.n ? rand_r(&seed) % (device.n + 1) : 0;
        int n = reader_poll(r, done, 1 + rand_r(&seed) % DEPTH, 0);
        assert_true(n >= 0);
        for (int i = 0; i < n; i++, back++) {
            assert_int_equal(done[i].tag, (uint32_t)(back * 3));
            assert_int_equal(done[i].result, back % 1000 + 1);
        }
    }
    assert_true(device.most <= DEPTH);
    assert_null(reader_why(r));
    drop_reader(r);
}

static void every_read_comes_back_once(void **state)
{
    (void)state;
    comes_back_once(1);
    comes_back_once(2);
    comes_back_once(3);
    comes_back_once(DEPTH + 1);
}

static void failed_with(enum ibv_wc_status status, const char *down, int error, const char *why)
{
    struct reader *r = make();
    script.down = down;
    struct read_done done[DEPTH];
    for (unsigned i = 0; i < DEPTH; i++)
        reader_add(r, i, NULL, 8 * i, 100 + i);
    assert_int_equal(reader_ring(r), 0);
    device.complete = 3;
    device.status = status;
    /* Those before it are good; the third failed; nothing comes after it but the failure. */
    assert_int_equal(reader_poll(r, done, DEPTH, 0), 3);
    assert_int_equal(done[0].result, 100);
    assert_int_equal(done[1].result, 101);
    assert_int_equal(done[2].tag, 2);
    assert_int_equal(done[2].result, -error);
    assert_contains(reader_why(r), why);
    device.complete = 2;
    device.status = IBV_WC_WR_FLUSH_ERR;
    assert_int_equal(reader_poll(r, done, DEPTH, 0), -error);
    assert_int_equal(reader_poll(r, done, DEPTH, 0), -error);
    assert_contains(reader_why(r), why); /* the first cause stays */
    drop_reader(r);
}

static void flushed_without_a_word(void **state)
{
    (void)state;
    struct reader *r = make();
    struct read_done done[DEPTH];
    script.lost = NULL;
    script.down = "port 1 of mlx5_7 went down (down)";
    reader_add(r, 0, NULL, 0, 100);
    assert_int_equal(reader_ring(r), 0);
    device.complete = 1;
    device.status = IBV_WC_WR_FLUSH_ERR;
    assert_int_equal(reader_poll(r, done, DEPTH, 0), 1);
    assert_contains(reader_why(r), "port 1 of mlx5_7 went down (down) with READs outstanding");
    drop_reader(r);
}

static void refused_with(const char *cause, bool removed, int error, const char *why)
{
    struct reader *r = make();
    struct read_done done;
    device.refuse = EIO;
    script.lost = cause;
    script.removed = removed;
    reader_add(r, 0, NULL, 0, 100);
    assert_int_equal(reader_ring(r), -error);
    assert_string_equal(reader_why(r), why);
    assert_int_equal(reader_poll(r, &done, 1, 0), -error);
    drop_reader(r);
}

/* The kernel answers EIO for a device that is gone: the cause is said, not only the number. */
static void refusals_are_explained(void **state)
{
    (void)state;
    refused_with("the RDMA device rxe0 was removed", true, ENODEV,
                 "the RDMA device rxe0 was removed; ibv_post_send: Input/output error");
    refused_with("peer:1 closed the connection", false, EIO,
                 "peer:1 closed the connection; ibv_post_send: Input/output error");
    refused_with(NULL, false, EIO, "ibv_post_send: Input/output error");
}

static void failures_are_said(void **state)
{
    (void)state;
    failed_with(IBV_WC_REM_ACCESS_ERR, NULL, EACCES,
                "peer:1 refuses key 0x4d (remote access error)");
    failed_with(IBV_WC_RETRY_EXC_ERR, "port 1 of mlx5_7 went down (down)", ENETDOWN,
                "port 1 of mlx5_7 went down (down) with READs outstanding");
    failed_with(IBV_WC_RETRY_EXC_ERR, NULL, ETIMEDOUT, "peer:1 does not answer (retries exceeded)");
    failed_with(IBV_WC_WR_FLUSH_ERR, NULL, ECONNRESET,
                "closed the connection with READs outstanding");
    failed_with(IBV_WC_LOC_PROT_ERR, NULL, EIO, "local protection error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_read_comes_back_once),
        cmocka_unit_test(failures_are_said),
        cmocka_unit_test(flushed_without_a_word),
        cmocka_unit_test(refusals_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    return 77;
}
#endif
