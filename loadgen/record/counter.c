#include "counter.h"

#define WRAP (UINT64_C(1) << 32)

/* Largest step that is taken for a wrap. Above half the range forward and backward are alike. */
static uint64_t plausible(uint64_t elapsed_ns)
{
    uint64_t seconds = elapsed_ns / 1000000000u + 1;
    return seconds > WRAP / 2 / COUNTER_MAX_PER_S ? WRAP / 2 : seconds * COUNTER_MAX_PER_S;
}

bool counter_step(uint32_t from, uint32_t to, uint64_t elapsed_ns, uint64_t *delta)
{
    *delta = (uint32_t)(to - from);
    return to >= from || *delta <= plausible(elapsed_ns);
}

bool counter_sum_step(uint64_t from, uint64_t to, uint64_t elapsed_ns, uint64_t *delta)
{
    *delta = to - from;
    if (to >= from)
        return true;
    *delta = WRAP - 1 - (from - to - 1) % WRAP;
    return *delta <= plausible(elapsed_ns);
}
