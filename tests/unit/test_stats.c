/* Statistics against tables, and figures that can be worked out by hand. */
#include "../../loadgen/matrix/permute.h"
#include "../../loadgen/matrix/rng.h"
#include "../../loadgen/matrix/stats.h"
#include "../../loadgen/matrix/student.h"
#include "../../loadgen/matrix/words.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NEAR(a, b, by) assert_true(fabs((a) - (b)) <= (by))

static void student_agrees_with_the_tables(void **state)
{
    (void)state;
    static const double table[][3] = {{0.05, 1, 12.7062},  {0.05, 2, 4.30265},  {0.05, 4, 2.77645},
                                      {0.05, 9, 2.26216},  {0.05, 30, 2.04227}, {0.01, 5, 4.03214},
                                      {0.05, 1e7, 1.95996}};
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        NEAR(student_quantile(table[i][0], table[i][1]), table[i][2], 2e-5 * table[i][2]);
    NEAR(student_two_sided(0, 3), 1, 1e-12);
    /* one degree of freedom is Cauchy's distribution: a quarter beyond 1 on each side */
    NEAR(student_two_sided(1, 1), 0.5, 1e-12);
    assert_true(isinf(student_quantile(0.05, 0)));
}

static void medians(void **state)
{
    (void)state;
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};
    NEAR(stats_median(odd, 3), 2, 0);
    NEAR(stats_median(even, 4), 2.5, 0);
    assert_true(isnan(stats_median(odd, 0)));
}

static void signs_are_counted_exactly(void **state)
{
    (void)state;
    double d[20] = {1, 2, 3, 4, 5};
    struct permute_result r = permute_signs(d, 5, 1);
    assert_true(r.exact);
    NEAR(r.p, 2.0 / 32, 1e-12);
    NEAR(r.least, 2.0 / 32, 1e-12);
    d[0] = -1; /* sums as large: +15 (+1) and +13 (-1), and their opposites */
    NEAR(permute_signs(d, 5, 1).p, 4.0 / 32, 1e-12);
    for (int i = 0; i < 20; i++)
        d[i] = i % 2 ? -1 : 1;
    r = permute_signs(d, 20, 1);
    assert_false(r.exact);
    NEAR(r.p, 1, 1e-12);
    NEAR(permute_signs(d, 20, 7).p, permute_signs(d, 20, 7).p, 0);
}

static void labels_are_counted_exactly(void **state)
{
    (void)state;
    const double v[] = {1, 2, 3, 4, 5, 6}, one[] = {10, 1, 2, 3};
    struct permute_result r = permute_labels(v, 6, 3, 1);
    assert_true(r.exact);
    NEAR(r.p, 2.0 / 20, 1e-12);
    NEAR(permute_labels(one, 4, 1, 1).p, 0.25, 1e-12);
    double many[60];
    for (int i = 0; i < 60; i++)
        many[i] = i < 30 ? 0 : 1;
    r = permute_labels(many, 60, 30, 1);
    assert_false(r.exact);
    assert_true(r.p < 0.001);
}

#define RUN(y, c, bo, m, bl)                                                                       \
    {                                                                                              \
        .value = exp(y), .cell = c, .boot = bo, .mount = m, .block = bl                            \
    }

/* Blocks shift both cells alike: only the differences count. d = 0.1 0.2 0.3, t(2). */
static void blocks_cancel(void **state)
{
    (void)state;
    const struct stats_run runs[] = {RUN(1, 0, 1, 1, 1), RUN(1.1, 1, 1, 1, 1),
                                     RUN(7, 0, 1, 1, 2), RUN(7.2, 1, 1, 1, 2),
                                     RUN(3, 0, 1, 1, 3), RUN(3.3, 1, 1, 1, 3),
                                     RUN(9, 0, 1, 1, 4)}; /* a block without its pair */
    const struct stats_pair pair = {.cell = 1, .base = 0};
    struct stats_comparison c;
    assert_true(stats_compare(runs, 7, &pair, 1, 1, &c));
    assert_true(c.paired && c.interval.known);
    assert_int_equal(c.interval.level, STATS_BLOCK);
    assert_int_equal(c.interval.units, 3);
    assert_int_equal(c.interval.boots, 1);
    NEAR(log(c.ratio), 0.2, 1e-12);
    NEAR(log(c.interval.high), 0.2 + 4.30265 * 0.1 / sqrt(3), 1e-5);
    NEAR(log(c.interval.low), 0.2 - 4.30265 * 0.1 / sqrt(3), 1e-5);
    NEAR(c.p, 2.0 / 8, 1e-12);
    NEAR(stats_half_width(&c), expm1(4.30265 * 0.1 / sqrt(3)), 1e-5);
    /* t(n - 1) * 0.1 / sqrt(n) <= log(1.05): 2.0930 * 0.02236 at 20, 2.1009 * 0.02294 at 19 */
    assert_int_equal(stats_units_needed(&c, 0.05), 19);
}

/* With two boots or more each boot is one observation, however many blocks it holds. */
static void boots_are_the_units(void **state)
{
    (void)state;
    const struct stats_run runs[] = {
        RUN(0, 0, 1, 1, 1), RUN(0.1, 1, 1, 1, 1), RUN(5, 0, 1, 1, 2), RUN(5.3, 1, 1, 1, 2),
        RUN(2, 0, 2, 2, 3), RUN(2.4, 1, 2, 2, 3), RUN(2, 0, 3, 3, 4), RUN(2.3, 1, 3, 3, 4)};
    const struct stats_pair pair = {.cell = 1, .base = 0};
    struct stats_comparison c;
    assert_true(stats_compare(runs, 8, &pair, 1, 1, &c));
    assert_int_equal(c.interval.level, STATS_BOOT);
    assert_int_equal(c.interval.units, 3);
    assert_int_equal(c.interval.boots, 3);
    NEAR(log(c.ratio), 0.3, 1e-12); /* of 0.2, 0.4, 0.3 */
    NEAR(log(c.interval.high) - 0.3, 4.30265 * 0.1 / sqrt(3), 1e-5);
    NEAR(c.p, 2.0 / 8, 1e-12);
}

static void mounts_count_within_one_boot(void **state)
{
    (void)state;
    const struct stats_run runs[] = {
        RUN(0, 0, 1, 1, 1), RUN(0.1, 1, 1, 1, 1), RUN(5, 0, 1, 1, 2), RUN(5.1, 1, 1, 1, 2),
        RUN(2, 0, 1, 2, 3), RUN(2.3, 1, 1, 2, 3), RUN(2, 0, 1, 3, 4), RUN(2.2, 1, 1, 3, 4)};
    const struct stats_pair pair = {.cell = 1, .base = 0};
    struct stats_comparison c;
    assert_true(stats_compare(runs, 8, &pair, 1, 1, &c));
    assert_int_equal(c.interval.level, STATS_MOUNT);
    assert_int_equal(c.interval.units, 3);
    /* a mount for each run: the blocks are what repeats */
    struct stats_run each[8];
    for (int i = 0; i < 8; i++) {
        each[i] = runs[i];
        each[i].mount = i;
    }
    assert_true(stats_compare(each, 8, &pair, 1, 1, &c));
    assert_int_equal(c.interval.level, STATS_BLOCK);
    assert_int_equal(c.interval.units, 4);
}

/* Welch: 1 2 3 against 4 6 8: variances of the means 1/3 and 4/3, df = (5/3)^2 / (1/18 + 16/18). */
static void without_blocks_two_samples(void **state)
{
    (void)state;
    const struct stats_run runs[] = {RUN(1, 1, 1, 0, 0), RUN(2, 1, 1, 0, 0), RUN(3, 1, 1, 0, 0),
                                     RUN(4, 0, 1, 0, 0), RUN(6, 0, 1, 0, 0), RUN(8, 0, 1, 0, 0)};
    const struct stats_pair pair = {.cell = 1, .base = 0};
    struct stats_comparison c;
    assert_true(stats_compare(runs, 6, &pair, 1, 1, &c));
    assert_false(c.paired);
    assert_int_equal(c.interval.level, STATS_RUN);
    double half = student_quantile(0.05, 25.0 / 9 / (17.0 / 18)) * sqrt(5.0 / 3);
    NEAR(log(c.ratio), -4, 1e-12);
    NEAR(log(c.interval.low), -4 - half, 1e-9);
    NEAR(c.p, 2.0 / 20, 1e-12);
}

/* Kernels: each boot holds one side only. Three boots a side are three observations a side. */
static void boots_of_one_side_each(void **state)
{
    (void)state;
    struct stats_run runs[18];
    for (int i = 0; i < 18; i++)
        runs[i] = (struct stats_run){.value = exp(i < 9 ? i / 3 : 3 + i / 3),
                                     .cell = i < 9 ? 0 : 1,
                                     .boot = i / 3,
                                     .block = i % 3 + 1};
    const struct stats_pair pair = {.cell = 1, .base = 0};
    struct stats_comparison c;
    assert_true(stats_compare(runs, 18, &pair, 1, 1, &c));
    assert_false(c.paired);
    assert_int_equal(c.interval.level, STATS_BOOT);
    assert_int_equal(c.interval.units, 3);
    NEAR(log(c.ratio), 6, 1e-9); /* 6 7 8 against 0 1 2 */
    NEAR(c.p, 2.0 / 20, 1e-12);
}

/* cpus (0, 1) x cq (0, 2): the effect of cpus is the mean over both levels of cq. */
static void main_effects(void **state)
{
    (void)state;
    struct stats_run runs[12];
    for (int block = 0, i = 0; block < 3; block++)
        for (int cell = 0; cell < 4; cell++)
            runs[i++] = (struct stats_run)RUN(block + (cell & 1) * (cell & 2 ? 0.1 : 0.3), cell, 1,
                                              1, block + 1);
    const struct stats_pair pairs[] = {{1, 0}, {3, 2}};
    struct stats_comparison c;
    assert_true(stats_compare(runs, 12, pairs, 2, 1, &c));
    NEAR(log(c.ratio), 0.2, 1e-12);
    assert_int_equal(c.interval.units, 3);
}

static void what_cannot_be_known_is_not(void **state)
{
    (void)state;
    struct stats_run runs[] = {RUN(1, 0, 1, 1, 1), RUN(2, 1, 1, 1, 1), RUN(3, 2, 1, 1, 1)};
    const struct stats_pair pair = {.cell = 1, .base = 0}, none = {.cell = 1, .base = 9};
    struct stats_comparison c;
    struct stats_cell s;
    assert_true(stats_compare(runs, 3, &pair, 1, 1, &c));
    NEAR(log(c.ratio), 1, 1e-12);
    assert_false(c.interval.known);
    assert_true(isinf(stats_half_width(&c)));
    assert_int_equal(stats_units_needed(&c, 0.01), 0);
    assert_false(stats_compare(runs, 3, &none, 1, 1, &c));
    runs[0].value = NAN;
    assert_false(stats_compare(runs, 3, &pair, 1, 1, &c));
    assert_false(stats_cell(runs, 3, 0, &s));
    runs[1].value = 0; /* no logarithm, but a value */
    assert_false(stats_compare(runs, 3, &pair, 1, 1, &c));
    assert_true(stats_cell(runs, 3, 1, &s));
    assert_false(s.interval.known);
    assert_true(isnan(s.deviation));
}

static void cells(void **state)
{
    (void)state;
    struct stats_run runs[5];
    for (int i = 0; i < 5; i++)
        runs[i] = (struct stats_run){.value = 10 + i, .cell = 0, .boot = 1, .block = i + 1};
    struct stats_cell s;
    assert_true(stats_cell(runs, 5, 0, &s));
    assert_int_equal(s.n, 5);
    NEAR(s.median, 12, 0);
    NEAR(s.mean, 12, 1e-12);
    NEAR(s.deviation, sqrt(2.5), 1e-12);
    NEAR(s.interval.high, 12 + 2.77645 * sqrt(2.5 / 5), 1e-4);
    NEAR(s.least, 10, 0);
    NEAR(s.most, 14, 0);
}

/* Rates are never negative, and neither is the interval of their mean. */
static void means_above_zero(void **state)
{
    (void)state;
    const struct stats_run runs[] = {{.value = 1, .boot = 1, .block = 1},
                                     {.value = 3, .boot = 1, .block = 2}};
    struct stats_cell s;
    assert_true(stats_cell(runs, 2, 0, &s));
    NEAR(s.interval.low, 0, 0); /* 2 - 12.706 */
    NEAR(s.interval.high, 2 + 12.7062, 1e-4);
}

static void says(const struct stats_comparison *c, const char *what)
{
    assert_string_equal(words_comparison(c, 0.02, "faster", "slower").s, what);
}

/* Spread of logarithms and what is advised: t(n - 1) * spread / sqrt(n) <= log(1.02). */
static void words(void **state)
{
    (void)state;
    struct stats_comparison c = {.ratio = 1};
    says(&c, "no valid run to compare");
    c.known = true;
    says(&c, "ratio 1; a side with a single run has no interval");
    c.interval = (struct stats_interval){.known = true,
                                         .low = 0.993,
                                         .high = 1.008,
                                         .units = 5,
                                         .spread = 0.006,
                                         .level = STATS_BLOCK};
    says(&c, "no difference larger than 0.8 %");
    c.ratio = 0.939;
    c.interval.low = 0.928;
    c.interval.high = 0.951;
    says(&c, "slower by 6.1 % (4.9-7.2)");
    c.ratio = 3;
    c.interval.low = 2.5;
    c.interval.high = 3.6;
    says(&c, "faster: 3.0 times as much (2.5-3.6)");
    c.ratio = 1.01;
    c.interval.low = 0.96;
    c.interval.high = 1.06;
    c.interval.spread = 0.04; /* 2.1199 * 0.04 / sqrt(18) is 0.01999, and log(1.02) is 0.0198 */
    says(&c, "too noisy to tell (ratio 1.01, 0.96-1.06): needs about 19 repeats");
    c.interval.spread = 0.11; /* (1.96 * 0.11 / 0.0198)^2 is 119, a little more with t */
    says(&c, "too noisy to tell (ratio 1.01, 0.96-1.06): needs about 120 repeats");
    c.interval.spread = 0.5; /* 2,450: no advice that anybody could take */
    c.interval.level = STATS_BOOT;
    c.interval.units = 3;
    says(&c, "too noisy to tell (ratio 1.01, 0.96-1.06): 3 boots are too few or too unlike");
}

/* Two boots, t = 12.7. Ratios of 1.6 and 1.0 leave everything possible: exp(0.235 +- 12.7062 *
 * 0.235) is 0.064-25. Those of 1.11 and 1.10 show a difference, and are no reason to be silent. */
static void two_units(void **state)
{
    (void)state;
    const struct stats_run wide[] = {{.value = 10, .boot = 1},
                                     {.value = 10, .boot = 2},
                                     {.value = 16, .cell = 1, .boot = 1},
                                     {.value = 10, .cell = 1, .boot = 2}};
    const struct stats_pair pair = {1, 0};
    struct stats_comparison c;
    assert_true(stats_compare(wide, 4, &pair, 1, 1, &c));
    assert_true(c.interval.known);
    NEAR(c.interval.low, exp(log(1.6) / 2 * (1 - 12.7062)), 1e-4);
    NEAR(c.interval.high, exp(log(1.6) / 2 * (1 + 12.7062)), 1e-2);
    assert_false(stats_interval_tells(&c.interval));
    says(&c, "2 boots: too few for an interval (ratio 1.26)");

    const struct stats_run narrow[] = {{.value = 10, .boot = 1},
                                       {.value = 10, .boot = 2},
                                       {.value = 11.1, .cell = 1, .boot = 1},
                                       {.value = 11.0, .cell = 1, .boot = 2}};
    assert_true(stats_compare(narrow, 4, &pair, 1, 1, &c));
    assert_true(stats_interval_tells(&c.interval));
    /* 1.1050 +- 12.7062 * log(1.11 / 1.10) / 2 */
    says(&c, "faster by 10.5 % (4.3-17.0)");

    c.interval = (struct stats_interval){.known = true, .low = 0, .high = 1, .units = 2};
    assert_false(stats_interval_tells(&c.interval));
    c.interval.units = 3;
    assert_true(stats_interval_tells(&c.interval));
    c.interval = (struct stats_interval){.known = true, .units = 2};
    assert_true(stats_interval_tells(&c.interval)); /* both are 0 */
    c.interval.known = false;
    assert_false(stats_interval_tells(&c.interval));
}

static void seeds_repeat(void **state)
{
    (void)state;
    struct rng a = rng_seed(42), b = rng_seed(42), c = rng_seed(43);
    unsigned seen[6] = {0};
    assert_true(rng_next(&a) == rng_next(&b));
    assert_true(rng_next(&a) != rng_next(&c));
    for (int i = 0; i < 60000; i++)
        seen[rng_below(&a, 6)]++;
    for (int i = 0; i < 6; i++)
        assert_true(seen[i] > 9500 && seen[i] < 10500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(student_agrees_with_the_tables),
        cmocka_unit_test(medians),
        cmocka_unit_test(signs_are_counted_exactly),
        cmocka_unit_test(labels_are_counted_exactly),
        cmocka_unit_test(blocks_cancel),
        cmocka_unit_test(boots_are_the_units),
        cmocka_unit_test(mounts_count_within_one_boot),
        cmocka_unit_test(without_blocks_two_samples),
        cmocka_unit_test(boots_of_one_side_each),
        cmocka_unit_test(main_effects),
        cmocka_unit_test(what_cannot_be_known_is_not),
        cmocka_unit_test(cells),
        cmocka_unit_test(means_above_zero),
        cmocka_unit_test(words),
        cmocka_unit_test(two_units),
        cmocka_unit_test(seeds_repeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
