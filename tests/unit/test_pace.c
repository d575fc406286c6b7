/* loadgen/run/pace.h: when I/Os are due. */
#include "../../loadgen/run/pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

/* 100 I/Os a second of 4 threads: one every 40 ms, the threads 10 ms apart. */
static void open_loop_keeps_its_times(void **state)
{
    (void)state;
    const struct profile profile = {.iops = 100, .block_bytes = 4096};
    struct pace p;
    uint64_t due;
    pace_init(&p, &profile, 2, 4);
    pace_begin(&p, 1000 * MS);
    assert_false(pace_due(&p, 1019 * MS, &due));
    /* Looked at late: each keeps the time that it was due at. */
    for (uint64_t i = 0; i < 5; i++) {
        assert_true(pace_due(&p, 1190 * MS, &due));
        assert_int_equal(due, (1020 + 40 * i) * MS);
    }
    assert_false(pace_due(&p, 1190 * MS, &due));
    assert_int_equal(p.next_ns, 1220 * MS);
}

/* 1 MiB a second of 2 threads in blocks of 128 KiB: one every 250 ms a thread. What is late counts
 * from when it begins, and no more than 10 ms are made up for. */
static void a_limit_does_not_catch_up(void **state)
{
    (void)state;
    struct profile profile = {.limit_bytes = 1 << 20, .block_bytes = 128 << 10};
    struct pace p;
    uint64_t due;
    pace_init(&p, &profile, 0, 2);
    pace_begin(&p, 1000 * MS);
    assert_true(pace_due(&p, 1005 * MS, &due));
    assert_int_equal(due, 1005 * MS);
    assert_int_equal(p.next_ns, 1250 * MS);
    assert_true(pace_due(&p, 2000 * MS, &due));
    assert_int_equal(due, 2000 * MS);
    assert_int_equal(p.next_ns, 2240 * MS);
    /* The stricter of the two limits holds: 256 KiB a second a thread is one in 500 ms. */
    profile.limit_thread_bytes = 256 << 10;
    pace_init(&p, &profile, 0, 2);
    assert_true(p.interval_ns == 500e6);
    /* Without any rate there is no pace. */
    profile = (struct profile){.block_bytes = 4096};
    pace_init(&p, &profile, 0, 2);
    assert_true(p.interval_ns == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(open_loop_keeps_its_times),
                                       cmocka_unit_test(a_limit_does_not_catch_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
