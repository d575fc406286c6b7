#include "stats.h"

#include "permute.h"
#include "student.h"
#include "units.h"

#include <math.h>
#include <stdlib.h>

#define OUTSIDE 0.05 /* of a 95 % interval */
#define UNITS_MAX 100000
#define TELLING_FACTOR 4 /* between the ends of an interval over two units */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double stats_median(double *values, size_t n)
{
    if (n == 0)
        return NAN;
    qsort(values, n, sizeof(*values), by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static struct stats_interval unknown(void)
{
    return (struct stats_interval){.low = NAN, .high = NAN, .spread = NAN};
}

static struct stats_interval t_interval(const struct unit_list *u)
{
    struct stats_interval i = unknown();
    i.level = u->level;
    i.units = u->n;
    i.boots = units_boots(u->all, u->n);
    if (u->n < 2)
        return i;
    double mean = units_mean(u->all, u->n);
    i.spread = units_deviation(u->all, u->n);
    double half = student_quantile(OUTSIDE, (double)u->n - 1) * i.spread / sqrt((double)u->n);
    i.known = true;
    i.low = mean - half;
    i.high = mean + half;
    return i;
}

/* Copies of the runs that have a figure (above 0 if asked) and belong to one of the cells. */
static struct stats_run *pick(const struct stats_run *runs, size_t n, const size_t *cells,
                              size_t cells_n, bool positive, size_t *picked)
{
    struct stats_run *list = malloc((n + 1) * sizeof(*list));
    *picked = 0;
    for (size_t i = 0; list && i < n; i++) {
        bool wanted = false;
        for (size_t k = 0; k < cells_n && !wanted; k++)
            wanted = runs[i].cell == cells[k];
        if (wanted && isfinite(runs[i].value) && (!positive || runs[i].value > 0))
            list[(*picked)++] = runs[i];
    }
    return list;
}

static void describe(const struct stats_run *runs, size_t n, double *values, struct stats_cell *out)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        values[i] = runs[i].value;
        sum += values[i];
    }
    out->n = n;
    out->mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - out->mean) * (values[i] - out->mean);
    out->deviation = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
    out->median = stats_median(values, n);
    out->least = values[0];
    out->most = values[n - 1];
}

bool stats_cell(const struct stats_run *runs, size_t n, size_t cell, struct stats_cell *out)
{
    size_t m;
    struct unit_list units = {0};
    struct stats_run *mine = pick(runs, n, &cell, 1, false, &m);
    double *values = malloc((n + 1) * sizeof(*values));
    *out = (struct stats_cell){.interval = unknown()};
    bool ok = mine && values && m > 0;
    if (ok) {
        describe(mine, m, values, out);
        if (units_single(mine, m, cell, units_level(mine, m, &cell, 1), false, &units)) {
            out->interval = t_interval(&units);
            /* rates and counts: none is below 0, and neither is their mean */
            if (out->least >= 0 && out->interval.low < 0)
                out->interval.low = 0;
            /* several runs of some units: the mean of the units is what the interval is about */
            out->mean = units_mean(units.all, units.n);
        }
    }
    free(units.all);
    free(values);
    free(mine);
    return ok;
}

static void take_logs(struct stats_interval *i)
{
    i->low = exp(i->low);
    i->high = exp(i->high);
}

static void compare_paired(const struct unit_list *units, uint64_t seed,
                           struct stats_comparison *out)
{
    double *d = malloc(units->n * sizeof(*d));
    out->known = out->paired = true;
    out->ratio = exp(units_mean(units->all, units->n));
    out->interval = t_interval(units);
    take_logs(&out->interval);
    for (size_t i = 0; d && i < units->n; i++)
        d[i] = units->all[i].value;
    if (d) {
        struct permute_result p = permute_signs(d, units->n, seed);
        out->p = p.p;
        out->p_exact = p.exact;
        out->p_least = p.least;
    }
    free(d);
}

/* Two sides of one pair as independent samples. */
struct welch {
    double difference, variance; /* variance of the difference */
    double df_part;              /* sum of (variance of a side)^2 / (its n - 1) */
    size_t least_n, boots;
    bool known;
};

static void welch_side(struct welch *w, const struct unit_list *u, double sign)
{
    double deviation = units_deviation(u->all, u->n);
    double variance = deviation * deviation / (double)u->n;
    size_t boots = units_boots(u->all, u->n);
    w->difference += sign * units_mean(u->all, u->n);
    w->variance += variance;
    w->df_part += variance * variance / ((double)u->n - 1);
    w->least_n = u->n < w->least_n ? u->n : w->least_n;
    w->boots = boots < w->boots ? boots : w->boots;
}

static double label_p(const struct unit_list *a, const struct unit_list *b, uint64_t seed,
                      struct stats_comparison *out)
{
    double *values = malloc((a->n + b->n) * sizeof(*values));
    if (!values)
        return NAN;
    for (size_t i = 0; i < a->n; i++)
        values[i] = a->all[i].value;
    for (size_t i = 0; i < b->n; i++)
        values[a->n + i] = b->all[i].value;
    struct permute_result p = permute_labels(values, a->n + b->n, a->n, seed);
    free(values);
    out->p_exact = p.exact;
    out->p_least = p.least;
    return p.p;
}

/* Adds up the pairs of which both sides were run; true when there was one. */
static bool compare_apart(struct stats_run *runs, size_t n, const struct stats_pair *pairs,
                          size_t pairs_n, enum stats_level level, uint64_t seed,
                          struct stats_comparison *out)
{
    struct welch w = {.least_n = SIZE_MAX, .boots = SIZE_MAX};
    size_t used = 0;
    for (size_t i = 0; i < pairs_n; i++) {
        struct unit_list a = {0}, b = {0};
        if (units_single(runs, n, pairs[i].cell, level, true, &a) &&
            units_single(runs, n, pairs[i].base, level, true, &b) && a.n > 0 && b.n > 0) {
            welch_side(&w, &a, 1);
            welch_side(&w, &b, -1);
            used++;
            if (pairs_n == 1)
                out->p = label_p(&a, &b, seed, out);
        }
        free(a.all);
        free(b.all);
    }
    if (used == 0)
        return false;
    double middle = w.difference / (double)used, error = sqrt(w.variance) / (double)used;
    out->known = true;
    out->ratio = exp(middle);
    out->interval.level = level;
    out->interval.units = w.least_n;
    out->interval.boots = w.boots;
    if (w.least_n < 2)
        return true;
    double df = w.variance > 0 ? w.variance * w.variance / w.df_part : (double)w.least_n - 1;
    double half = student_quantile(OUTSIDE, df) * error;
    out->interval.known = true;
    out->interval.spread = error * sqrt((double)w.least_n);
    out->interval.low = middle - half;
    out->interval.high = middle + half;
    take_logs(&out->interval);
    return true;
}

bool stats_compare(const struct stats_run *runs, size_t n, const struct stats_pair *pairs,
                   size_t pairs_n, uint64_t seed, struct stats_comparison *out)
{
    size_t m, *cells = malloc((2 * pairs_n + 1) * sizeof(*cells));
    struct stats_run *mine = NULL;
    struct unit_list units = {0};
    *out = (struct stats_comparison){.interval = unknown(), .p = NAN, .p_least = NAN};
    for (size_t i = 0; cells && i < pairs_n; i++) {
        cells[2 * i] = pairs[i].cell;
        cells[2 * i + 1] = pairs[i].base;
    }
    mine = cells ? pick(runs, n, cells, 2 * pairs_n, true, &m) : NULL;
    if (!mine || !units_paired(mine, m, pairs, pairs_n, &units))
        goto out;
    if (units.n > 1)
        compare_paired(&units, seed, out);
    else if (compare_apart(mine, m, pairs, pairs_n, units_level(mine, m, cells, 2 * pairs_n), seed,
                           out))
        out->paired = false;
out:
    free(units.all);
    free(mine);
    free(cells);
    return out->known;
}

bool stats_interval_tells(const struct stats_interval *i)
{
    return i->known && (i->units > 2 || i->low == i->high ||
                        (i->low > 0 && i->high <= TELLING_FACTOR * i->low));
}

double stats_half_width(const struct stats_comparison *c)
{
    if (!c->known || !c->interval.known)
        return INFINITY;
    return sqrt(c->interval.high / c->interval.low) - 1;
}

size_t stats_units_needed(const struct stats_comparison *c, double precision)
{
    double goal = log1p(precision);
    if (!c->interval.known || !(goal > 0))
        return 0;
    for (size_t n = 2; n < UNITS_MAX; n += 1 + n / 50)
        if (student_quantile(OUTSIDE, (double)n - 1) * c->interval.spread / sqrt((double)n) <= goal)
            return n;
    return 0;
}
