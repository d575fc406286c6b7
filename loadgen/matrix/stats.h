/* What a matrix says about its cells: intervals, comparisons and how surely.
 *
 * Runs of one boot, and of one mount in it, resemble each other more than runs of another: the
 * kernel lays memory out at boot and chooses completion vectors at mount. So the unit that counts
 * as one independent observation is the highest level of which there are two or more: boots, else
 * mounts, else blocks (one run of every cell, close in time), else single runs. Its members are
 * averaged first. The intervals are those of the bootstrap over such units (each drawn with all it
 * holds), with the correction that few units need: the bootstrap's standard error times
 * sqrt(units / (units - 1)), and Student's t with units - 1 degrees of freedom. For means the
 * bootstrap has a closed form, which is used here; bootstrap.h draws it for other figures.
 *
 * Ratios are taken on logarithms, cell against base within each unit: what a boot or a block does
 * to both alike cancels. Only where no unit has both (plain records, two kernels) are the two sides
 * compared as independent samples (Welch). Nothing here fails: what cannot be known is not `known`.
 */
#ifndef NUMALOAD_STATS_H
#define NUMALOAD_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stats_level { STATS_RUN, STATS_BLOCK, STATS_MOUNT, STATS_BOOT };

/* One valid run that counts (no warm-up). Numbers only need to differ where the things do; a block
 * of 0 is none: the run belongs to no block. */
struct stats_run {
    double value; /* NAN: this run has no such figure; it is left out */
    size_t cell;
    long boot, mount, block;
};

/* An estimate with its 95 % interval. */
struct stats_interval {
    bool known; /* false: fewer than two units */
    double low, high;
    double spread; /* standard deviation of the units, on the scale that was averaged */
    enum stats_level level;
    size_t units; /* of the smaller side when unpaired */
    size_t boots; /* that the units stem from: with 1 the interval speaks of that boot only */
};

struct stats_cell {
    size_t n;
    double median, mean, least, most;
    double deviation;               /* standard deviation of the runs; NAN for one */
    struct stats_interval interval; /* of the mean */
};

/* The runs of one cell. False when it has none. */
bool stats_cell(const struct stats_run *runs, size_t n, size_t cell, struct stats_cell *out);

/* One cell against one base; a main effect is the average of several such pairs. */
struct stats_pair {
    size_t cell, base;
};

struct stats_comparison {
    bool known;                     /* false: one side has no run with a figure above 0 */
    bool paired;                    /* within units; else two independent samples */
    double ratio;                   /* cell / base: geometric mean over units */
    struct stats_interval interval; /* of the ratio; its spread is one of logarithms */
    double p;       /* of no difference, by swapping the sides of its units; NAN: too few */
    bool p_exact;   /* all arrangements were tried, not a sample of them */
    double p_least; /* smallest p that so few runs can reach */
};

/* seed: of the sampled permutations. */
bool stats_compare(const struct stats_run *runs, size_t n, const struct stats_pair *pairs,
                   size_t pairs_n, uint64_t seed, struct stats_comparison *out);

/* False where two units are all there are and the ends of their interval are more than a factor of
 * 4 apart, or one is not above 0: right, but with one degree of freedom (t is 12.7) it leaves
 * nearly everything possible, and whoever reads it takes away less than from the two units
 * themselves. */
bool stats_interval_tells(const struct stats_interval *i);

/* Half the width of the interval of a ratio, relative: 0.01 for 0.99-1.01. INFINITY when not
 * known. What "precision" is compared with. */
double stats_half_width(const struct stats_comparison *c);

/* Units (of c's level) after which the half width would be `precision`, by the spread so far; 0
 * when that cannot be told. */
size_t stats_units_needed(const struct stats_comparison *c, double precision);

/* Median of n values, which are sorted in place; NAN for none. */
double stats_median(double *values, size_t n);

#endif
