#include "order.h"

#include "rng.h"

/* Below n without the bias of a plain remainder. */
static uint64_t below(uint64_t *state, uint64_t n)
{
    uint64_t reject = (UINT64_MAX - n + 1) % n, r;
    do
        r = splitmix_next(state);
    while (r < reject);
    return r % n;
}

void order_random(uint64_t seed, unsigned block, unsigned *cells, unsigned n)
{
    uint64_t state = seed, stream = 0;
    /* The block's sequence starts at a number drawn for it, not a few steps into another's. */
    for (unsigned i = 0; i <= block; i++)
        stream = splitmix_next(&state);
    for (unsigned i = 0; i < n; i++)
        cells[i] = i;
    for (unsigned i = n; i > 1; i--) {
        unsigned k = (unsigned)below(&stream, i), other = cells[k];
        cells[k] = cells[i - 1];
        cells[i - 1] = other;
    }
}
