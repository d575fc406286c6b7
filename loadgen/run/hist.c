#include "hist.h"

#include <math.h>

uint64_t hist_percentile(const uint64_t buckets[HIST_BUCKETS], double q)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < HIST_BUCKETS; i++)
        count += buckets[i];
    if (count == 0)
        return 0;
    uint64_t rank = (uint64_t)ceil(q * (double)count);
    if (rank == 0)
        rank = 1;
    uint64_t seen = 0;
    for (unsigned i = 0; i < HIST_BUCKETS; i++) {
        seen += buckets[i];
        if (seen >= rank)
            return hist_value(i);
    }
    return hist_value(HIST_BUCKETS - 1);
}
