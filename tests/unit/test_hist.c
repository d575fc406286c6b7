/* loadgen/run/hist.h: the bound that is promised, and percentiles by nearest rank. */
#include "../../loadgen/run/hist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void every_value_is_within_the_bound(void **state)
{
    (void)state;
    for (uint64_t v = 1; v < UINT64_C(1) << HIST_MAX_LOG2; v += v / 37 + 1) {
        uint64_t got = hist_value(hist_bucket(v));
        double error = got > v ? (double)(got - v) : (double)(v - got);
        assert_true(error <= HIST_ERROR_BOUND * (double)v);
        if (v < HIST_STEPS)
            assert_int_equal(got, v);
    }
    assert_true(HIST_ERROR_BOUND <= 0.01);
}

static void buckets_are_in_order_and_inside_the_array(void **state)
{
    (void)state;
    unsigned last = 0;
    for (uint64_t v = 0; v < UINT64_C(1) << 20; v++) {
        unsigned b = hist_bucket(v);
        assert_true(b == last || b == last + 1);
        last = b;
    }
    assert_true(hist_bucket(UINT64_MAX) == HIST_BUCKETS - 1);
    assert_true(hist_bucket((UINT64_C(1) << HIST_MAX_LOG2) - 1) == HIST_BUCKETS - 1);
}

static void percentiles_are_nearest_ranks(void **state)
{
    (void)state;
    uint64_t h[HIST_BUCKETS] = {0};
    assert_int_equal(hist_percentile(h, 0.5), 0);
    /* 1 .. 50, once each: exact buckets, so the rank is the value. */
    for (unsigned v = 1; v <= 50; v++)
        h[hist_bucket(v)]++;
    assert_int_equal(hist_percentile(h, 0.5), 25);
    assert_int_equal(hist_percentile(h, 0.9), 45);
    assert_int_equal(hist_percentile(h, 0.99), 50);
    assert_int_equal(hist_percentile(h, 1.0), 50);
    assert_int_equal(hist_percentile(h, 0.0001), 1);
    /* One outlier in ten thousand shows at p99.99 only when it is beyond the rank. */
    memset(h, 0, sizeof(h));
    h[hist_bucket(10)] = 9999;
    h[hist_bucket(60)] = 1;
    assert_int_equal(hist_percentile(h, 0.9999), 10);
    assert_int_equal(hist_percentile(h, 1.0), 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_is_within_the_bound),
        cmocka_unit_test(buckets_are_in_order_and_inside_the_array),
        cmocka_unit_test(percentiles_are_nearest_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
