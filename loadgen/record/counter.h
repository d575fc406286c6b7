/* Steps of kernel counters that are 32 bits wide on each CPU (slab statistics, interrupts). */
#ifndef NUMALOAD_COUNTER_H
#define NUMALOAD_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/* No event counted here can happen more often than this on one CPU: an allocation and a free that
 * never leave the cache take 10 ns and more. */
#define COUNTER_MAX_PER_S 50000000u

/* True with the step in *delta. A counter that went backwards has wrapped when the step modulo 2^32
 * is one that fits the time; else it was reset, and the step cannot be known: false. */
bool counter_step(uint32_t from, uint32_t to, uint64_t elapsed_ns, uint64_t *delta);

/* The same for a sum of such counters, kept in 64 bits: each wrap takes 2^32 from the sum. */
bool counter_sum_step(uint64_t from, uint64_t to, uint64_t elapsed_ns, uint64_t *delta);

#endif
