/* Runs gathered into the units that count as independent: see stats.h. Internal to the statistics.
 */
#ifndef NUMALOAD_UNITS_H
#define NUMALOAD_UNITS_H

#include "stats.h"

/* One unit: the mean of what it holds. */
struct unit {
    double value;
    long boot;
};

struct unit_list {
    struct unit *all;
    size_t n;
    enum stats_level level;
};

/* Number of different boots of the units. */
size_t units_boots(const struct unit *units, size_t n);

/* Mean and standard deviation (NAN for one) of units. */
double units_mean(const struct unit *units, size_t n);
double units_deviation(const struct unit *units, size_t n);

/* Differences log(cell) - log(base), one a unit, averaged over the pairs.
 * `runs` is sorted in place. units->all is the caller's to free; false when memory is out. */
bool units_paired(struct stats_run *runs, size_t n, const struct stats_pair *pairs, size_t pairs_n,
                  struct unit_list *units);

/* The runs of one cell as units of `level`, on logarithms if asked. False when memory is out. */
bool units_single(struct stats_run *runs, size_t n, size_t cell, enum stats_level level,
                  bool logarithm, struct unit_list *out);

/* The highest level of which each of the cells has two units or more, else STATS_RUN. */
enum stats_level units_level(struct stats_run *runs, size_t n, const size_t *cells, size_t cells_n);

#endif
