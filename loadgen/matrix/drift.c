#include "drift.h"

#include "rng.h"

#include <math.h>
#include <stdlib.h>

#define SAMPLES 2000

struct point {
    size_t cell;
    long boot;
    double y, x; /* less the mean of the group, once it is known */
};

static int by_group(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    if (p->cell != q->cell)
        return p->cell < q->cell ? -1 : 1;
    return (p->boot > q->boot) - (p->boot < q->boot);
}

static size_t group_end(const struct point *p, size_t n, size_t i)
{
    size_t end = i + 1;
    while (end < n && by_group(&p[i], &p[end]) == 0)
        end++;
    return end;
}

static void center(struct point *p, size_t n)
{
    double x = 0, y = 0;
    for (size_t i = 0; i < n; i++) {
        x += p[i].x / (double)n;
        y += p[i].y / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        p[i].x -= x;
        p[i].y -= y;
    }
}

static double product(const struct point *p, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += p[i].x * p[i].y;
    return sum;
}

static void shuffle(struct point *p, size_t n, struct rng *r)
{
    for (size_t i = n; i > 1; i--) {
        size_t other = (size_t)rng_below(r, i);
        double swap = p[i - 1].y;
        p[i - 1].y = p[other].y;
        p[other].y = swap;
    }
}

static double chance(struct point *p, size_t n, uint64_t seed)
{
    struct rng r = rng_seed(seed);
    double seen = fabs(product(p, n)) * (1 - 1e-9);
    size_t hits = 0;
    for (int k = 0; k < SAMPLES; k++) {
        for (size_t i = 0, end; i < n; i = end) {
            end = group_end(p, n, i);
            shuffle(p + i, end - i, &r);
        }
        hits += fabs(product(p, n)) >= seen;
    }
    return (double)(hits + 1) / (SAMPLES + 1);
}

static double span(const struct point *p, size_t n)
{
    double low = p[0].x, high = p[0].x;
    for (size_t i = 1; i < n; i++) {
        low = fmin(low, p[i].x);
        high = fmax(high, p[i].x);
    }
    return high - low;
}

struct drift drift_test(const struct stats_run *runs, const double *at, size_t n, size_t cell,
                        uint64_t seed)
{
    struct drift d = {.slope = NAN, .p = NAN};
    struct point *p = malloc((n + 1) * sizeof(*p));
    size_t m = 0, kept = 0;
    double squares = 0;
    for (size_t i = 0; p && i < n; i++)
        if ((cell == SIZE_MAX || runs[i].cell == cell) && isfinite(at[i]) && runs[i].value > 0)
            p[m++] = (struct point){runs[i].cell, runs[i].boot, log(runs[i].value), at[i]};
    if (p)
        qsort(p, m, sizeof(*p), by_group);
    for (size_t i = 0, end; i < m; i = end) {
        end = group_end(p, m, i);
        if (end - i < 2)
            continue;
        d.span = fmax(d.span, span(p + i, end - i));
        center(p + i, end - i);
        for (size_t k = i; k < end; k++)
            p[kept++] = p[k];
    }
    for (size_t i = 0; i < kept; i++)
        squares += p[i].x * p[i].x;
    if (kept >= 4 && squares > 0) {
        d.runs = kept;
        d.slope = product(p, kept) / squares;
        d.p = chance(p, kept, seed);
    }
    free(p);
    return d;
}
