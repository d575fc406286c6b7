/* Does throughput change while a series runs? Runs are compared with others of the same cell and
 * boot only, so neither cells nor boots look like a drift. */
#ifndef NUMALOAD_DRIFT_H
#define NUMALOAD_DRIFT_H

#include "stats.h"

struct drift {
    size_t runs;  /* that have another of their cell and boot; 0: cannot be told */
    double slope; /* change of the logarithm per unit of `at` */
    double span;  /* of `at`: how long the runs of one cell and boot lasted at most */
    double p;     /* of no drift, by permuting the runs of each cell and boot */
};

/* at[i]: when run i was (hours), NAN: unknown. cell SIZE_MAX: all of them. */
struct drift drift_test(const struct stats_run *runs, const double *at, size_t n, size_t cell,
                        uint64_t seed);

#endif
