/* Seeded random numbers: xoshiro256** (Blackman and Vigna, 2018), seeded by splitmix64, for
 * statistics; splitmix64 itself for the order of runs. The same seed gives the same report and
 * order on every machine. */
#ifndef NUMALOAD_RNG_H
#define NUMALOAD_RNG_H

#include <stdint.h>

struct rng {
    uint64_t s[4];
};

/* One step of splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t splitmix_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline struct rng rng_seed(uint64_t seed)
{
    struct rng r;
    for (int i = 0; i < 4; i++)
        r.s[i] = splitmix_next(&seed);
    return r;
}

static inline uint64_t rng_rotate(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

static inline uint64_t rng_next(struct rng *r)
{
    uint64_t result = rng_rotate(r->s[1] * 5, 7) * 9, t = r->s[1] << 17;
    r->s[2] ^= r->s[0];
    r->s[3] ^= r->s[1];
    r->s[1] ^= r->s[2];
    r->s[0] ^= r->s[3];
    r->s[2] ^= t;
    r->s[3] = rng_rotate(r->s[3], 45);
    return result;
}

/* Evenly in 0 .. n-1 (n > 0), without the bias of a plain remainder. */
static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
    uint64_t limit = -n % n, x;
    while ((x = rng_next(r)) < limit)
        ;
    return x % n;
}

/* Evenly in [0, 1). */
static inline double rng_unit(struct rng *r)
{
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}

#endif
