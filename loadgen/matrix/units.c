#include "units.h"

#include <math.h>
#include <stdlib.h>

static int by_place(const void *a, const void *b)
{
    const struct stats_run *x = a, *y = b;
    if (x->boot != y->boot)
        return x->boot < y->boot ? -1 : 1;
    if (x->mount != y->mount)
        return x->mount < y->mount ? -1 : 1;
    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    return (x->cell > y->cell) - (x->cell < y->cell);
}

static int by_block(const void *a, const void *b)
{
    const struct stats_run *x = a, *y = b;
    if (x->boot != y->boot)
        return x->boot < y->boot ? -1 : 1;
    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    return (x->mount > y->mount) - (x->mount < y->mount);
}

static bool together(const struct stats_run *a, const struct stats_run *b, enum stats_level level)
{
    if (a->boot != b->boot || level == STATS_RUN)
        return false;
    return level == STATS_BOOT || (level == STATS_MOUNT && a->mount == b->mount) ||
           (level == STATS_BLOCK && a->block == b->block);
}

/* The end of the group that begins at i. */
static size_t group_end(const struct stats_run *runs, size_t n, size_t i, enum stats_level level)
{
    size_t end = i + 1;
    while (end < n && together(&runs[i], &runs[end], level))
        end++;
    return end;
}

size_t units_boots(const struct unit *units, size_t n)
{
    size_t boots = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < i && units[k].boot != units[i].boot)
            k++;
        boots += k == i;
    }
    return boots;
}

double units_mean(const struct unit *units, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += units[i].value;
    return sum / (double)n;
}

double units_deviation(const struct unit *units, size_t n)
{
    double mean = units_mean(units, n), sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (units[i].value - mean) * (units[i].value - mean);
    return n > 1 ? sqrt(sum / (double)(n - 1)) : NAN;
}

static double mean_log(const struct stats_run *runs, size_t n, size_t cell)
{
    double sum = 0;
    size_t seen = 0;
    for (size_t i = 0; i < n; i++)
        if (runs[i].cell == cell) {
            sum += log(runs[i].value);
            seen++;
        }
    return seen ? sum / (double)seen : NAN;
}

/* Averaged over the pairs of which the group has both sides; NAN when it has none. */
static double difference(const struct stats_run *runs, size_t n, const struct stats_pair *pairs,
                         size_t pairs_n)
{
    double sum = 0;
    size_t seen = 0;
    for (size_t i = 0; i < pairs_n; i++) {
        double d = mean_log(runs, n, pairs[i].cell) - mean_log(runs, n, pairs[i].base);
        if (!isnan(d)) {
            sum += d;
            seen++;
        }
    }
    return seen ? sum / (double)seen : NAN;
}

/* A group of a boot or mount: the mean over its blocks, which cancels what a block does to all of
 * its cells; without complete blocks the difference of the means. */
static double nested_difference(struct stats_run *runs, size_t n, const struct stats_pair *pairs,
                                size_t pairs_n)
{
    double sum = 0;
    size_t seen = 0;
    qsort(runs, n, sizeof(*runs), by_block);
    for (size_t i = 0, end; i < n; i = end) {
        end = group_end(runs, n, i, STATS_BLOCK);
        double d = runs[i].block ? difference(runs + i, end - i, pairs, pairs_n) : NAN;
        if (!isnan(d)) {
            sum += d;
            seen++;
        }
    }
    return seen ? sum / (double)seen : difference(runs, n, pairs, pairs_n);
}

static void differences(struct stats_run *runs, size_t n, const struct stats_pair *pairs,
                        size_t pairs_n, enum stats_level level, struct unit_list *out)
{
    out->n = 0;
    out->level = level;
    qsort(runs, n, sizeof(*runs), level == STATS_BLOCK ? by_block : by_place);
    for (size_t i = 0, end; i < n; i = end) {
        end = group_end(runs, n, i, level);
        if (level == STATS_BLOCK && runs[i].block == 0)
            continue;
        long boot = runs[i].boot;
        double d = level == STATS_BLOCK ? difference(runs + i, end - i, pairs, pairs_n)
                                        : nested_difference(runs + i, end - i, pairs, pairs_n);
        if (!isnan(d))
            out->all[out->n++] = (struct unit){d, boot};
    }
}

bool units_paired(struct stats_run *runs, size_t n, const struct stats_pair *pairs, size_t pairs_n,
                  struct unit_list *units)
{
    units->all = calloc(n + 1, sizeof(*units->all));
    if (!units->all)
        return false;
    for (enum stats_level level = STATS_BOOT; level > STATS_RUN; level--) {
        differences(runs, n, pairs, pairs_n, level, units);
        if (units->n > 1)
            break;
    }
    return true;
}

bool units_single(struct stats_run *runs, size_t n, size_t cell, enum stats_level level,
                  bool logarithm, struct unit_list *out)
{
    *out = (struct unit_list){.level = level};
    out->all = calloc(n + 1, sizeof(*out->all));
    if (!out->all)
        return false;
    qsort(runs, n, sizeof(*runs), level == STATS_BLOCK ? by_block : by_place);
    for (size_t i = 0, end; i < n; i = end) {
        double sum = 0;
        size_t seen = 0;
        end = group_end(runs, n, i, level);
        for (size_t k = i; k < end; k++)
            if (runs[k].cell == cell) {
                sum += logarithm ? log(runs[k].value) : runs[k].value;
                seen++;
            }
        if (seen)
            out->all[out->n++] = (struct unit){sum / (double)seen, runs[i].boot};
    }
    return true;
}

static size_t count(const struct stats_run *runs, size_t n, size_t cell, enum stats_level level)
{
    size_t units = 0;
    for (size_t i = 0, end; i < n; i = end) {
        bool seen = false;
        end = group_end(runs, n, i, level);
        for (size_t k = i; k < end; k++)
            seen |= runs[k].cell == cell;
        units += seen;
    }
    return units;
}

enum stats_level units_level(struct stats_run *runs, size_t n, const size_t *cells, size_t cells_n)
{
    qsort(runs, n, sizeof(*runs), by_place);
    for (enum stats_level level = STATS_BOOT; level > STATS_BLOCK; level--) {
        bool all = true;
        for (size_t i = 0; i < cells_n; i++)
            all &= count(runs, n, cells[i], level) > 1;
        if (all)
            return level;
    }
    return STATS_RUN;
}
