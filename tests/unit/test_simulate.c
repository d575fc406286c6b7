/* Matrices with a known truth: how often the 95 % intervals hold it, and how often "differs" is
 * said of what does not differ. NUMALOAD_SIMULATIONS=20000 runs more of them. */
#include "../../loadgen/matrix/bootstrap.h"
#include "../../loadgen/matrix/expect.h"
#include "../../loadgen/matrix/rng.h"
#include "../../loadgen/matrix/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CELLS = 4, RUNS_MAX = 256 };

/* Cells 0 and 1 with the first completion queue, 2 and 3 with the second; 1 and 3 are slower. */
static const double truth[CELLS] = {0, -0.06, 0, -0.06};

enum noise { NORMAL, SKEWED, OUTLIERS };

struct world {
    const char *name;
    int boots, blocks;        /* blocks in each boot */
    double boot, boot_cell;   /* deviations: of a boot, of each cell in a boot */
    double mount, block, run; /* of each half of a boot's blocks, of a block, of a run */
    enum noise noise;
    double missing; /* share of runs that are lost, while 5 remain a cell */
    bool no_blocks; /* plain records */
};

static const struct world worlds[] = {
    {.name = "1 boot x 5", .boots = 1, .blocks = 5, .block = 0.01, .run = 0.01},
    {.name = "1 boot x 15", .boots = 1, .blocks = 15, .block = 0.01, .run = 0.01},
    {.name = "3 boots x 2, alike", .boots = 3, .blocks = 2, .run = 0.01},
    {.name = "3 boots x 2, unlike", .boots = 3, .blocks = 2, .boot = 0.05, .run = 0.01},
    {.name = "3 boots x 2, cells too",
     .boots = 3,
     .blocks = 2,
     .boot = 0.05,
     .boot_cell = 0.02,
     .run = 0.01},
    {.name = "5 boots x 3, cells too",
     .boots = 5,
     .blocks = 3,
     .boot = 0.05,
     .boot_cell = 0.02,
     .block = 0.01,
     .run = 0.01},
    {.name = "8 boots x 1, cells too",
     .boots = 8,
     .blocks = 1,
     .boot = 0.05,
     .boot_cell = 0.02,
     .run = 0.01},
    {.name = "skewed, 1 boot x 5", .boots = 1, .blocks = 5, .run = 0.01, .noise = SKEWED},
    {.name = "skewed, 3 boots x 4",
     .boots = 3,
     .blocks = 4,
     .boot = 0.05,
     .boot_cell = 0.01,
     .run = 0.01,
     .noise = SKEWED},
    {.name = "outliers, 1 boot x 8", .boots = 1, .blocks = 8, .run = 0.01, .noise = OUTLIERS},
    {.name = "outliers, 3 boots x 4",
     .boots = 3,
     .blocks = 4,
     .boot = 0.05,
     .boot_cell = 0.01,
     .run = 0.01,
     .noise = OUTLIERS},
    {.name = "a fifth lost, 4 boots x 3",
     .boots = 4,
     .blocks = 3,
     .boot = 0.05,
     .boot_cell = 0.02,
     .run = 0.01,
     .missing = 0.2},
    {.name = "plain records, 5 to 8",
     .boots = 1,
     .blocks = 8,
     .run = 0.01,
     .missing = 0.3,
     .no_blocks = true},
};

enum { WORLDS = sizeof(worlds) / sizeof(*worlds) };

static double normal(struct rng *r)
{
    return sqrt(-2 * log(1 - rng_unit(r))) * cos(2 * M_PI * rng_unit(r));
}

/* Mean 0. Skewed: exponential, deviation 1. Outliers: one run in 20 loses another 5 deviations. */
static double noise(struct rng *r, enum noise kind)
{
    if (kind == SKEWED)
        return 1 + log(1 - rng_unit(r));
    return normal(r) - (kind == OUTLIERS ? (rng_unit(r) < 0.05 ? 5 : 0) - 0.25 : 0);
}

static size_t matrix(struct rng *r, const struct world *w, struct stats_run *runs)
{
    size_t n = 0, kept[CELLS];
    for (int c = 0; c < CELLS; c++)
        kept[c] = (size_t)(w->boots * w->blocks);
    for (int boot = 0; boot < w->boots; boot++) {
        double of_boot = w->boot * normal(r), of_cell[CELLS];
        for (int c = 0; c < CELLS; c++)
            of_cell[c] = w->boot_cell * normal(r);
        for (int block = 0; block < w->blocks; block++) {
            double of_block = w->block * normal(r);
            for (int c = 0; c < CELLS; c++) {
                double y = truth[c] + of_boot + of_cell[c] + of_block + w->run * noise(r, w->noise);
                if (rng_unit(r) < w->missing && kept[c] > 5) {
                    kept[c]--;
                    continue;
                }
                runs[n++] = (struct stats_run){.value = 45e9 * exp(y),
                                               .cell = (size_t)c,
                                               .boot = boot + 1,
                                               .mount = boot + 1,
                                               .block = w->no_blocks ? 0 : 100 * boot + block + 1};
            }
        }
    }
    return n;
}

struct score {
    size_t tried, ratio, effect, mean, bootstrap, tried_bootstrap, false_differs, false_p;
};

static bool holds(const struct stats_interval *i, double value)
{
    return i->known && i->low <= value && value <= i->high;
}

static double value_of(const void *data, size_t run, const char *metric)
{
    (void)metric;
    return ((const struct stats_run *)data)[run].value;
}

static struct expect *parse(void)
{
    static const char *const keys[] = {"cell"};
    static const char *const values[] = {"0", "1", "2", "3"};
    const struct expect_cells cells = {keys, 1, values, CELLS};
    struct expect *e;
    struct err err;
    assert_true(expect_parse("ratio", "mean(bytes_per_s, cell=1) / mean(bytes_per_s, cell=0) >= 1",
                             NULL, 0, &cells, &e, &err));
    return e;
}

static void one(struct rng *r, const struct world *w, const struct expect *e, bool drawn,
                struct score *s)
{
    static const struct stats_pair slower = {1, 0}, same = {2, 0}, effect[] = {{1, 0}, {3, 2}};
    struct stats_run runs[RUNS_MAX];
    struct stats_comparison c;
    struct expect_answer a;
    struct stats_cell cell;
    size_t n = matrix(r, w, runs);
    s->tried++;
    stats_compare(runs, n, &slower, 1, 1, &c);
    s->ratio += holds(&c.interval, exp(truth[1]));
    stats_compare(runs, n, effect, 2, 1, &c);
    s->effect += holds(&c.interval, exp(truth[1]));
    stats_compare(runs, n, &same, 1, 1, &c);
    s->false_differs += !holds(&c.interval, 1);
    s->false_p += c.p <= 0.05;
    stats_cell(runs, n, 0, &cell);
    double variance =
        w->boot * w->boot + w->boot_cell * w->boot_cell + w->block * w->block + w->run * w->run;
    s->mean += holds(&cell.interval, 45e9 * exp(variance / 2));
    if (!drawn)
        return;
    expect_answer(e, runs, n, value_of, runs, 1, &a);
    s->tried_bootstrap++;
    s->bootstrap += holds(&a.interval, exp(truth[1]));
}

static double percent(size_t part, size_t of)
{
    return 100.0 * (double)part / (double)of;
}

static void intervals_hold_the_truth(void **state)
{
    (void)state;
    const char *more = getenv("NUMALOAD_SIMULATIONS");
    int matrices = more ? atoi(more) : 2000;
    struct expect *e = parse();
    printf("%-27s %8s %8s %8s %8s %8s %8s\n", "coverage, %", "ratio", "effect", "mean", "drawn",
           "differs", "p<=0.05");
    for (size_t i = 0; i < WORLDS; i++) {
        struct rng r = rng_seed(1000 + i);
        struct score s = {0};
        for (int k = 0; k < matrices; k++)
            one(&r, &worlds[i], e, more || k < 300, &s);
        double ratio = percent(s.ratio, s.tried), effect = percent(s.effect, s.tried);
        double drawn = percent(s.bootstrap, s.tried_bootstrap);
        double differs = percent(s.false_differs, s.tried), p = percent(s.false_p, s.tried);
        printf("%-27s %8.1f %8.1f %8.1f %8.1f %8.1f %8.1f\n", worlds[i].name, ratio, effect,
               percent(s.mean, s.tried), drawn, differs, p);
        /* 300 drawn intervals know a share of 95 % to 2.5 points (two deviations) */
        assert_true(ratio >= 93 && ratio <= 97 && effect >= 93 && effect <= 97);
        assert_true(drawn >= 90 && drawn <= 99);
        assert_true(differs <= 6 && p <= 6);
    }
    expect_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_hold_the_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
