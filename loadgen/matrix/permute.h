/* Permutation tests of "no difference at all": how often chance alone, which could have dealt the
 * same figures out in any other way, shows as large a difference as was seen. */
#ifndef NUMALOAD_PERMUTE_H
#define NUMALOAD_PERMUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PERMUTE_SAMPLES = 20000 };

struct permute_result {
    double p; /* two-sided */
    bool exact;
    double least; /* the smallest p that this many figures can reach */
};

/* Differences within units: which of the two was called the base could have been swapped in each.
 * All 2^n sign patterns up to n = 16, else PERMUTE_SAMPLES of them. n > 0. */
struct permute_result permute_signs(const double *differences, size_t n, uint64_t seed);

/* Two independent samples, values[0 .. n) with the first `cell_n` of the cell. All arrangements
 * while there are at most 65,536, else PERMUTE_SAMPLES. Both sides must have one at least. */
struct permute_result permute_labels(const double *values, size_t n, size_t cell_n, uint64_t seed);

#endif
