/* loadgen/engine/ring.h: slots go out and come back in any order, again and again, and waiting
 * ends. With NOPs, which every io_uring has. */
#ifdef HAVE_URING
#include "../../loadgen/engine/ring.h"
#include "../../loadgen/run/worker.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SLOTS = 5 }; /* the kernel rounds up to 8 */

static struct ring ring;

static int begin(void **state)
{
    (void)state;
    int e = ring_open(&ring, SLOTS, true);
    if (e == -ENOSYS || e == -EPERM || e == -EOPNOTSUPP)
        return 0;
    assert_int_equal(e, 0);
    for (unsigned i = 0; i < SLOTS; i++) {
        io_uring_prep_nop(&ring.sqes[i]);
        ring.sqes[i].user_data = i;
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (ring.sqes)
        ring_close(&ring);
    memset(&ring, 0, sizeof(ring));
    return 0;
}

static void need_ring(void)
{
    if (!ring.sqes)
        skip();
}

static void slots_in_any_order(void **state)
{
    (void)state;
    need_ring();
    static const uint32_t rounds[][SLOTS] = {{0, 1, 2, 3, 4}, {4, 2, 0, 3, 1}, {3}, {1}};
    static const unsigned n[] = {5, 5, 1, 1};
    struct completion done[SLOTS];
    /* often enough to go round the queues, and past 2^16 of their index */
    for (unsigned i = 0; i < 100000; i++) {
        const uint32_t *slots = rounds[i % 4];
        bool back[SLOTS] = {false};
        for (unsigned k = 0; k < n[i % 4]; k++)
            ring_put(&ring, slots[k]);
        assert_int_equal(ring_enter(&ring, 1000000000), 0);
        unsigned got = ring_take(&ring, done, SLOTS);
        while (got < n[i % 4]) {
            assert_int_equal(ring_enter(&ring, 1000000000), 0);
            got += ring_take(&ring, done + got, SLOTS - got);
        }
        assert_int_equal(got, n[i % 4]);
        for (unsigned k = 0; k < got; k++) {
            assert_int_equal(done[k].result, 0);
            assert_false(back[done[k].slot]);
            back[done[k].slot] = true;
        }
        for (unsigned k = 0; k < n[i % 4]; k++)
            assert_true(back[slots[k]]);
    }
}

static void takes_no_more_than_asked(void **state)
{
    (void)state;
    need_ring();
    struct completion done[SLOTS];
    for (unsigned i = 0; i < SLOTS; i++)
        ring_put(&ring, i);
    assert_int_equal(ring_enter(&ring, 1000000000), 0);
    assert_int_equal(ring_take(&ring, done, 2), 2);
    assert_true(ring_has(&ring));
    /* nothing to submit and something to take: no system call, at once */
    assert_int_equal(ring_enter(&ring, 1000000000), 0);
    assert_int_equal(ring_take(&ring, done, SLOTS), 3);
    assert_false(ring_has(&ring));
}

static void waiting_ends(void **state)
{
    (void)state;
    need_ring();
    struct completion done[SLOTS];
    int (*const waits[])(struct ring *, uint64_t) = {ring_enter, ring_spin};
    for (unsigned i = 0; i < 2; i++) {
        uint64_t from = now_ns();
        assert_int_equal(waits[i](&ring, 20000000), 0);
        assert_true(now_ns() - from >= 20000000);
        assert_int_equal(ring_take(&ring, done, SLOTS), 0);
        assert_int_equal(waits[i](&ring, 0), 0);
        ring_put(&ring, i);
        assert_int_equal(waits[i](&ring, UINT64_C(60000000000)), 0);
        assert_int_equal(ring_take(&ring, done, SLOTS), 1);
        assert_int_equal(done[0].slot, i);
    }
}

static void too_many_entries(void **state)
{
    (void)state;
    need_ring();
    struct ring other = {0};
    assert_int_equal(ring_open(&other, 32769, false), -EINVAL); /* IORING_MAX_ENTRIES */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slots_in_any_order, begin, end),
        cmocka_unit_test_setup_teardown(takes_no_more_than_asked, begin, end),
        cmocka_unit_test_setup_teardown(waiting_ends, begin, end),
        cmocka_unit_test_setup_teardown(too_many_entries, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    return 0;
}
#endif
