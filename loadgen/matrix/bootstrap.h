/* The interval of any figure over a matrix, by drawing its units again: see stats.h for what a
 * unit is. Each is drawn with all it holds, so what its runs share stays shared. */
#ifndef NUMALOAD_BOOTSTRAP_H
#define NUMALOAD_BOOTSTRAP_H

#include "stats.h"

enum { BOOTSTRAP_DRAWS = 2000 };

/* A part of the figure that depends on the runs in which member[i] is set. */
struct bootstrap_part {
    const bool *member; /* of each run */
};

/* The figure when run i is taken weights[i] times (0: not at all). NAN: cannot be formed. */
typedef double bootstrap_figure(void *data, const unsigned *weights);

/* Units are the highest level of which two or more hold runs of every part; where no level has
 * them, runs are drawn within each cell. The logarithm of the figure is used when it stays above 0
 * in all draws. Same seed, same interval. Returns the figure over the units that were used. */
double bootstrap(const struct stats_run *runs, size_t n, const struct bootstrap_part *parts,
                 size_t parts_n, bootstrap_figure *figure, void *data, uint64_t seed,
                 struct stats_interval *out);

#endif
