#include "permute.h"

#include "rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MAX 65536

/* Sums are formed in another order each time: ties must still count as ties. */
static bool reaches(double sum, double seen, double scale)
{
    return fabs(sum) >= fabs(seen) - 1e-9 * scale;
}

static double sampled(size_t hits)
{
    return (double)(hits + 1) / (PERMUTE_SAMPLES + 1);
}

struct permute_result permute_signs(const double *d, size_t n, uint64_t seed)
{
    double seen = 0, scale = 0;
    size_t hits = 0;
    for (size_t i = 0; i < n; i++) {
        seen += d[i];
        scale += fabs(d[i]);
    }
    if (n <= 16) {
        /* in Gray's order each pattern differs from the one before in one sign */
        uint32_t all = 1u << n, pattern = 0;
        double sum = seen;
        for (uint32_t k = 1; k <= all; k++) {
            hits += reaches(sum, seen, scale);
            int flip = __builtin_ctz(k);
            pattern ^= k < all ? 1u << flip : 0;
            sum += k < all ? (pattern >> flip & 1 ? -2 : 2) * d[flip] : 0;
        }
        return (struct permute_result){(double)hits / all, true, 2.0 / all};
    }
    struct rng r = rng_seed(seed);
    for (size_t k = 0; k < PERMUTE_SAMPLES; k++) {
        double sum = 0;
        uint64_t bits = 0;
        for (size_t i = 0; i < n; i++) {
            if (i % 64 == 0)
                bits = rng_next(&r);
            sum += bits & 1 ? -d[i] : d[i];
            bits >>= 1;
        }
        hits += reaches(sum, seen, scale);
    }
    return (struct permute_result){sampled(hits), false, 1.0 / (PERMUTE_SAMPLES + 1)};
}

static double choose(size_t n, size_t k)
{
    double c = 1;
    for (size_t i = 1; i <= k; i++)
        c *= (double)(n - k + i) / (double)i;
    return round(c);
}

/* The next of all ways to take k of n, in order; false after the last. */
static bool next_choice(size_t *taken, size_t k, size_t n)
{
    size_t i = k;
    while (i > 0 && taken[i - 1] == n - k + i - 1)
        i--;
    if (i == 0)
        return false;
    taken[i - 1]++;
    for (; i < k; i++)
        taken[i] = taken[i - 1] + 1;
    return true;
}

/* Difference of the means, when the cell's values add up to `sum`. */
static double means_apart(double sum, double total, size_t n, size_t cell_n)
{
    return sum / (double)cell_n - (total - sum) / (double)(n - cell_n);
}

static size_t try_all(const double *v, size_t n, size_t cell_n, double total, double seen,
                      double scale, size_t *taken)
{
    size_t hits = 0;
    for (size_t i = 0; i < cell_n; i++)
        taken[i] = i;
    do {
        double sum = 0;
        for (size_t i = 0; i < cell_n; i++)
            sum += v[taken[i]];
        hits += reaches(means_apart(sum, total, n, cell_n), seen, scale);
    } while (next_choice(taken, cell_n, n));
    return hits;
}

/* Shuffles as far as the cell's places (Fisher and Yates). */
static size_t try_some(double *v, size_t n, size_t cell_n, double total, double seen, double scale,
                       uint64_t seed)
{
    struct rng r = rng_seed(seed);
    size_t hits = 0;
    for (size_t k = 0; k < PERMUTE_SAMPLES; k++) {
        double sum = 0;
        for (size_t i = 0; i < cell_n; i++) {
            size_t other = i + (size_t)rng_below(&r, n - i);
            double swap = v[i];
            v[i] = v[other];
            v[other] = swap;
            sum += v[i];
        }
        hits += reaches(means_apart(sum, total, n, cell_n), seen, scale);
    }
    return hits;
}

struct permute_result permute_labels(const double *values, size_t n, size_t cell_n, uint64_t seed)
{
    struct permute_result result = {.p = NAN, .least = NAN};
    size_t *taken = calloc(n, sizeof(*taken));
    double *copy = malloc(n * sizeof(*copy)), total = 0, sum = 0, scale = 0;
    if (!taken || !copy)
        goto out;
    for (size_t i = 0; i < n; i++) {
        copy[i] = values[i];
        total += values[i];
        sum += i < cell_n ? values[i] : 0;
        scale += fabs(values[i]);
    }
    double seen = means_apart(sum, total, n, cell_n);
    double ways = n < 64 ? choose(n, cell_n) : INFINITY;
    result.exact = ways <= EXACT_MAX;
    if (result.exact) {
        size_t hits = try_all(copy, n, cell_n, total, seen, scale, taken);
        result.p = (double)hits / ways;
        result.least = (2 * cell_n == n ? 2.0 : 1.0) / ways;
    } else {
        result.p = sampled(try_some(copy, n, cell_n, total, seen, scale, seed));
        result.least = 1.0 / (PERMUTE_SAMPLES + 1);
    }
out:
    free(taken);
    free(copy);
    return result;
}
