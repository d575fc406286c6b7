/* Log-linear latency histogram: 64 steps an octave, so a bucket is at most 1/64 wide relative to
 * its lower edge and its middle is off by at most 1/128 = 0.78 %. Values below 64 ns are exact.
 *
 * Of a counter one thread is the writer, and any thread may read it at any time (relaxed atomics,
 * plain moves on x86). */
#ifndef NUMALOAD_HIST_H
#define NUMALOAD_HIST_H

#include <stdatomic.h>
#include <stdint.h>

#define HIST_STEPS_LOG2 6
#define HIST_STEPS (1u << HIST_STEPS_LOG2)
/* Longer latencies than 2^42 ns (73 min) are counted in the last bucket. */
#define HIST_MAX_LOG2 42
#define HIST_BUCKETS ((HIST_MAX_LOG2 - HIST_STEPS_LOG2 + 1) * HIST_STEPS)
#define HIST_ERROR_BOUND (1.0 / (2 * HIST_STEPS))

typedef _Atomic uint64_t counter;

/* For counters with a single writer: no locked instruction. */
static inline void counter_add(counter *c, uint64_t n)
{
    atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

static inline uint64_t counter_get(const counter *c)
{
    return atomic_load_explicit(c, memory_order_relaxed);
}

static inline void counter_set(counter *c, uint64_t n)
{
    atomic_store_explicit(c, n, memory_order_relaxed);
}

/* Bucket of a value; no branch besides the clamp, no division. */
static inline unsigned hist_bucket(uint64_t ns)
{
    const uint64_t max = (UINT64_C(1) << HIST_MAX_LOG2) - 1;
    uint64_t v = ns < max ? ns : max;
    unsigned shift = (63 ^ (unsigned)__builtin_clzll(v | HIST_STEPS)) - HIST_STEPS_LOG2;
    return (shift << HIST_STEPS_LOG2) + (unsigned)(v >> shift);
}

/* Middle of a bucket, ns. */
static inline uint64_t hist_value(unsigned bucket)
{
    if (bucket < 2 * HIST_STEPS)
        return bucket;
    unsigned shift = (bucket >> HIST_STEPS_LOG2) - 1;
    uint64_t low = (uint64_t)(bucket - (shift << HIST_STEPS_LOG2)) << shift;
    return low + ((UINT64_C(1) << shift) >> 1);
}

/* The value below or at which a share q (0 < q <= 1) of the count lies, nearest rank: the smallest
 * bucket whose cumulated count reaches ceil(q x count). 0 when the histogram is empty. */
uint64_t hist_percentile(const uint64_t buckets[HIST_BUCKETS], double q);

#endif
