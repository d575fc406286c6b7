#include "bootstrap.h"

#include "rng.h"
#include "student.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE SIZE_MAX

/* Which unit each run belongs to; units of one stratum are drawn for each other. */
struct drawing {
    size_t *unit; /* of each run; NONE: it belongs to no unit and is not used */
    size_t units_n;
    size_t *stratum; /* of each unit */
    size_t strata_n;
    size_t *size;    /* units of each stratum */
    size_t *cell;    /* of each stratum, when runs are drawn within cells */
    size_t *members; /* the units of the stratum that is being drawn */
    unsigned *drawn, *weights;
    double *figures;
    enum stats_level level;
};

static bool same_unit(const struct stats_run *a, const struct stats_run *b, enum stats_level level)
{
    if (a->boot != b->boot)
        return false;
    return level == STATS_BOOT || (level == STATS_MOUNT && a->mount == b->mount) ||
           (level == STATS_BLOCK && a->block == b->block);
}

static bool in_any(const struct bootstrap_part *parts, size_t parts_n, size_t run)
{
    for (size_t k = 0; k < parts_n; k++)
        if (parts[k].member[run])
            return true;
    return false;
}

/* An index of the runs, sorted so that those of a unit stand together. */
struct place {
    struct stats_run run;
    size_t at;
};

static int by_mount(const void *a, const void *b)
{
    const struct stats_run *x = &((const struct place *)a)->run;
    const struct stats_run *y = &((const struct place *)b)->run;
    if (x->boot != y->boot)
        return x->boot < y->boot ? -1 : 1;
    return (x->mount > y->mount) - (x->mount < y->mount);
}

static int by_block(const void *a, const void *b)
{
    const struct stats_run *x = &((const struct place *)a)->run;
    const struct stats_run *y = &((const struct place *)b)->run;
    if (x->boot != y->boot)
        return x->boot < y->boot ? -1 : 1;
    return (x->block > y->block) - (x->block < y->block);
}

/* Every part has a run among places[0 .. n). */
static bool complete(const struct place *places, size_t n, const struct bootstrap_part *parts,
                     size_t parts_n)
{
    for (size_t k = 0; k < parts_n; k++) {
        bool has = false;
        for (size_t i = 0; i < n && !has; i++)
            has = parts[k].member[places[i].at];
        if (!has)
            return false;
    }
    return true;
}

/* Units of one level that hold runs of every part: one stratum. Returns how many there are. */
static size_t gather(struct drawing *d, struct place *places, size_t n,
                     const struct bootstrap_part *parts, size_t parts_n, enum stats_level level)
{
    d->units_n = 0;
    d->level = level;
    qsort(places, n, sizeof(*places), level == STATS_BLOCK ? by_block : by_mount);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && same_unit(&places[i].run, &places[end].run, level);)
            end++;
        bool whole = !(level == STATS_BLOCK && places[i].run.block == 0) &&
                     complete(places + i, end - i, parts, parts_n);
        for (size_t k = i; k < end; k++)
            d->unit[places[k].at] = whole ? d->units_n : NONE;
        if (whole)
            d->stratum[d->units_n++] = 0;
    }
    d->strata_n = 1;
    d->size[0] = d->units_n;
    return d->units_n;
}

/* Single runs, drawn for other runs of the same cell. */
static void singles(struct drawing *d, const struct place *places, size_t n)
{
    d->units_n = d->strata_n = 0;
    d->level = STATS_RUN;
    for (size_t i = 0; i < n; i++) {
        size_t s = 0;
        while (s < d->strata_n && d->cell[s] != places[i].run.cell)
            s++;
        if (s == d->strata_n) {
            d->cell[d->strata_n] = places[i].run.cell;
            d->size[d->strata_n++] = 0;
        }
        d->size[s]++;
        d->unit[places[i].at] = d->units_n;
        d->stratum[d->units_n++] = s;
    }
}

/* The figure with the units of one stratum drawn anew, the others as they are. */
static double draw(struct drawing *d, size_t n, size_t stratum, struct rng *rng,
                   bootstrap_figure *figure, void *data)
{
    for (size_t u = 0; u < d->units_n; u++)
        d->drawn[u] = d->stratum[u] != stratum;
    for (size_t k = 0; k < d->size[stratum]; k++)
        d->drawn[d->members[rng_below(rng, d->size[stratum])]]++;
    for (size_t i = 0; i < n; i++)
        d->weights[i] = d->unit[i] == NONE ? 0 : d->drawn[d->unit[i]];
    return figure(data, d->weights);
}

/* Variance of the figures, or of their logarithms; NAN when there are too few. */
static double variance(const double *figures, size_t n, bool logs)
{
    double sum = 0, squares = 0;
    size_t used = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(figures[i])) {
            sum += logs ? log(figures[i]) : figures[i];
            used++;
        }
    if (used < n / 2 || used < 2)
        return NAN;
    double mean = sum / (double)used;
    for (size_t i = 0; i < n; i++)
        if (isfinite(figures[i])) {
            double apart = (logs ? log(figures[i]) : figures[i]) - mean;
            squares += apart * apart;
        }
    return squares / (double)(used - 1);
}

/* Draws all strata, one after the other, and adds their shares up. */
static void draw_all(struct drawing *d, size_t n, double estimate, bootstrap_figure *figure,
                     void *data, uint64_t seed, struct stats_interval *out)
{
    struct rng rng = rng_seed(seed);
    bool logs = estimate > 0;
    double total = 0, df_part = 0;
    size_t draws = d->strata_n > 4 ? BOOTSTRAP_DRAWS / 4 : BOOTSTRAP_DRAWS;
    for (size_t s = 0; s < d->strata_n; s++) {
        size_t k = 0;
        for (size_t u = 0; u < d->units_n; u++)
            if (d->stratum[u] == s)
                d->members[k++] = u;
        for (size_t i = 0; i < draws; i++) {
            d->figures[s * draws + i] = draw(d, n, s, &rng, figure, data);
            logs &= !(d->figures[s * draws + i] <= 0);
        }
    }
    for (size_t s = 0; s < d->strata_n; s++) {
        double units = (double)d->size[s];
        double v = variance(d->figures + s * draws, draws, logs) * units / (units - 1);
        total += v;
        df_part += v * v / (units - 1);
    }
    double df = df_part > 0 ? total * total / df_part : (double)out->units - 1;
    double half = student_quantile(0.05, df) * sqrt(total);
    if (isnan(half))
        return;
    /* figures that are all the same differ in the last bit once they were added up */
    if (half < 1e-12 * (logs ? 1 : fabs(estimate)))
        half = 0;
    out->known = true;
    out->spread = sqrt(total * (double)out->units);
    out->low = logs ? estimate * exp(-half) : estimate - half;
    out->high = logs ? estimate * exp(half) : estimate + half;
}

static bool reserve(struct drawing *d, struct place **places, size_t n)
{
    d->unit = malloc((n + 1) * sizeof(*d->unit));
    d->stratum = calloc(n + 1, sizeof(*d->stratum));
    d->size = calloc(n + 1, sizeof(*d->size));
    d->cell = calloc(n + 1, sizeof(*d->cell));
    d->members = calloc(n + 1, sizeof(*d->members));
    d->drawn = calloc(n + 1, sizeof(*d->drawn));
    d->weights = calloc(n + 1, sizeof(*d->weights));
    *places = calloc(n + 1, sizeof(**places));
    for (size_t i = 0; d->unit && i < n; i++)
        d->unit[i] = NONE;
    return d->unit && d->stratum && d->size && d->cell && d->members && d->drawn && d->weights &&
           *places;
}

static size_t boots(const struct place *places, size_t n, const struct drawing *d)
{
    size_t seen = 0;
    for (size_t i = 0; i < n; i++) {
        bool before = d->unit[places[i].at] == NONE;
        for (size_t k = 0; k < i && !before; k++)
            before = d->unit[places[k].at] != NONE && places[k].run.boot == places[i].run.boot;
        seen += !before;
    }
    return seen;
}

double bootstrap(const struct stats_run *runs, size_t n, const struct bootstrap_part *parts,
                 size_t parts_n, bootstrap_figure *figure, void *data, uint64_t seed,
                 struct stats_interval *out)
{
    double estimate = NAN;
    struct drawing d = {0};
    struct place *places = NULL;
    size_t m = 0;
    *out = (struct stats_interval){.low = NAN, .high = NAN, .spread = NAN};
    if (!reserve(&d, &places, n))
        goto out;
    for (size_t i = 0; i < n; i++)
        if (in_any(parts, parts_n, i))
            places[m++] = (struct place){runs[i], i};
    enum stats_level level = STATS_BOOT;
    while (level > STATS_RUN && gather(&d, places, m, parts, parts_n, level) < 2)
        level--;
    if (level == STATS_RUN)
        singles(&d, places, m);
    out->level = d.level;
    out->boots = boots(places, m, &d);
    out->units = m ? SIZE_MAX : 0;
    for (size_t s = 0; s < d.strata_n; s++)
        out->units = d.size[s] < out->units ? d.size[s] : out->units;
    for (size_t i = 0; i < n; i++)
        d.weights[i] = d.unit[i] != NONE;
    estimate = figure(data, d.weights);
    d.figures = calloc((d.strata_n > 4 ? d.strata_n : 4) * BOOTSTRAP_DRAWS, sizeof(*d.figures));
    if (out->units > 1 && isfinite(estimate) && d.figures)
        draw_all(&d, n, estimate, figure, data, seed, out);
out:
    free(d.unit);
    free(d.stratum);
    free(d.size);
    free(d.cell);
    free(d.members);
    free(d.drawn);
    free(d.weights);
    free(d.figures);
    free(places);
    return estimate;
}
