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

/* cell less base of one pair, averaged over the blocks that have both: what a block does to all of
 * its cells cancels. Without such a block the difference of the means. NAN: a side is missing. */
static double pair_difference(const struct stats_run *runs, size_t n, const struct stats_pair *pair)
{
    double sum = 0;
    size_t seen = 0;
    for (size_t i = 0, end; i < n; i = end) {
        end = group_end(runs, n, i, STATS_BLOCK);
        double d = runs[i].block ? mean_log(runs + i, end - i, pair->cell) -
                                       mean_log(runs + i, end - i, pair->base)
                                 : NAN;
        if (!isnan(d)) {
            sum += d;
            seen++;
        }
    }
    return seen ? sum / (double)seen
                : mean_log(runs, n, pair->cell) - mean_log(runs, n, pair->base);
}

/* Units of one level and, in d[unit * pairs_n + pair], their differences. */
static size_t gather(struct stats_run *runs, size_t n, const struct stats_pair *pairs,
                     size_t pairs_n, enum stats_level level, struct unit *units, double *d)
{
    size_t units_n = 0;
    qsort(runs, n, sizeof(*runs), level == STATS_BLOCK ? by_block : by_place);
    for (size_t i = 0, end; i < n; i = end) {
        end = group_end(runs, n, i, level);
        if (level == STATS_BLOCK && runs[i].block == 0)
            continue;
        long boot = runs[i].boot;
        bool any = false;
        qsort(runs + i, end - i, sizeof(*runs), by_block);
        for (size_t k = 0; k < pairs_n; k++) {
            d[units_n * pairs_n + k] = pair_difference(runs + i, end - i, &pairs[k]);
            any |= !isnan(d[units_n * pairs_n + k]);
        }
        if (any)
            units[units_n++].boot = boot;
    }
    return units_n;
}

static double column_mean(const double *d, size_t rows, size_t columns, size_t column)
{
    double sum = 0;
    size_t seen = 0;
    for (size_t i = 0; i < rows; i++)
        if (!isnan(d[i * columns + column])) {
            sum += d[i * columns + column];
            seen++;
        }
    return seen ? sum / (double)seen : NAN;
}

/* Each pair counts alike in the middle, whatever it lost; a unit is off the middle by the mean of
 * what its own pairs are off theirs. Pairs that differ among themselves would look like noise if a
 * unit that lacks one were averaged as it is. */
static void average(struct unit *units, const double *d, size_t units_n, size_t pairs_n)
{
    double middle = 0, shift = 0;
    size_t used = 0;
    for (size_t k = 0; k < pairs_n; k++) {
        double m = column_mean(d, units_n, pairs_n, k);
        middle += isnan(m) ? 0 : m;
        used += !isnan(m);
    }
    middle /= (double)used;
    for (size_t i = 0; i < units_n; i++) {
        double off = 0;
        size_t seen = 0;
        for (size_t k = 0; k < pairs_n; k++)
            if (!isnan(d[i * pairs_n + k])) {
                off += d[i * pairs_n + k] - column_mean(d, units_n, pairs_n, k);
                seen++;
            }
        units[i].value = middle + off / (double)seen;
        shift += off / (double)seen / (double)units_n;
    }
    for (size_t i = 0; i < units_n; i++)
        units[i].value -= shift;
}

bool units_paired(struct stats_run *runs, size_t n, const struct stats_pair *pairs, size_t pairs_n,
                  struct unit_list *units)
{
    double *d = calloc(n * pairs_n + 1, sizeof(*d));
    units->all = calloc(n + 1, sizeof(*units->all));
    for (enum stats_level level = STATS_BOOT; d && units->all && level > STATS_RUN; level--) {
        units->level = level;
        units->n = gather(runs, n, pairs, pairs_n, level, units->all, d);
        if (units->n > 1) {
            average(units->all, d, units->n, pairs_n);
            break;
        }
    }
    bool ok = d && units->all;
    free(d);
    return ok;
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
