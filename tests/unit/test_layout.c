/* Who shares a cache line with whom. What a worker writes for every I/O or batch must be on lines
 * of its own, and what all workers read must not be beside it. */
#include "../../loadgen/run/worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LINE(type, field) (offsetof(type, field) / CACHE_LINE)

static void workers_share_no_line(void **state)
{
    (void)state;
    /* an array of them is allocated on a line */
    assert_int_equal(sizeof(struct worker) % CACHE_LINE, 0);
    assert_int_equal(_Alignof(struct worker) % CACHE_LINE, 0);
    /* written by the worker once a batch, read by the coordinator */
    assert_true(LINE(struct worker, outstanding) > LINE(struct worker, counter_bytes));
}

/* Two workers' cannot meet: they are in mappings of their own. */
static void counters_are_apart(void **state)
{
    (void)state;
    assert_int_equal(worker_phase_bytes(1) % CACHE_LINE, 0);
    assert_int_equal(worker_phase_bytes(4096) % CACHE_LINE, 0);
    assert_int_equal(HIST_BUCKETS * sizeof(counter) % CACHE_LINE, 0);
    /* a window more costs a thread little */
    assert_true(PROFILE_WINDOWS_MAX * worker_phase_bytes(2) < 1 << 18);
    assert_true(worker_phase_bytes(4096) >= sizeof(struct phase_counters) + 4096 * 8);
    assert_int_equal(offsetof(struct phase_counters, ios), 0);
}

static void phase_is_alone(void **state)
{
    (void)state;
    assert_int_equal(offsetof(struct crew, phase) % CACHE_LINE, 0);
    assert_true(LINE(struct crew, phase) > LINE(struct crew, giveup));
    /* the line that is read once a batch is not the one that an error, or an end, writes */
    assert_true(LINE(struct crew, failed) > LINE(struct crew, phase));
    assert_true(LINE(struct crew, done_n) > LINE(struct crew, phase));
    assert_true(LINE(struct crew, first_done_ns) > LINE(struct crew, phase));
}

/* Slots are walked at random: each is one line. */
static void slots_are_small(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct io), CACHE_LINE);
    assert_int_equal(_Alignof(struct io), CACHE_LINE);
    assert_int_equal(sizeof(struct completion), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_share_no_line),
        cmocka_unit_test(counters_are_apart),
        cmocka_unit_test(phase_is_alone),
        cmocka_unit_test(slots_are_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
