#define _GNU_SOURCE
#include "study.h"

#include "../matrix/drift.h"
#include "../matrix/metric.h"
#include "study_cells.h"
#include "text.h"
#include "view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct study_name study_name(const struct study *s, size_t cell)
{
    struct study_name name = {""};
    size_t len = 0;
    for (size_t a = 0; a < s->axes_n && len + 1 < sizeof(name.s); a++) {
        struct view_word w = view_placement_word(s->values[cell * s->axes_n + a]);
        len += (size_t)snprintf(name.s + len, sizeof(name.s) - len, "%s%s",
                                a == 0          ? ""
                                : s->axes_n > 2 ? "/"
                                                : " / ",
                                w.s);
    }
    if (s->axes_n == 0)
        snprintf(name.s, sizeof(name.s), "all runs");
    return name;
}

double study_value(const void *study, size_t run, const char *metric)
{
    const struct study *s = study;
    return metric_value(s->runs[s->counted_at[run]].window, metric);
}

double study_median(const struct study *s, size_t cell, const char *metric, size_t *of)
{
    double *values = malloc((s->counted_n + 1) * sizeof(*values));
    size_t n = 0;
    for (size_t i = 0; values && i < s->counted_n; i++) {
        double v = s->counted[i].cell == cell ? study_value(s, i, metric) : NAN;
        if (isfinite(v))
            values[n++] = v;
    }
    double median = values ? stats_median(values, n) : NAN;
    free(values);
    if (of)
        *of = n;
    return median;
}

bool study_compare(const struct study *s, size_t cell, size_t base, const char *metric,
                   struct stats_comparison *out)
{
    struct stats_run *runs = malloc((s->counted_n + 1) * sizeof(*runs));
    const struct stats_pair pair = {cell, base};
    *out = (struct stats_comparison){0};
    for (size_t i = 0; runs && i < s->counted_n; i++) {
        runs[i] = s->counted[i];
        runs[i].value =
            runs[i].cell == cell || runs[i].cell == base ? study_value(s, i, metric) : NAN;
    }
    bool known = runs && stats_compare(runs, s->counted_n, &pair, 1, s->seed, out);
    free(runs);
    return known;
}

json_t *study_counters(const struct study *s)
{
    json_t *names = json_object();
    struct view_counter c;
    const json_t *last = NULL;
    for (size_t i = 0; i < s->counted_n; i++) {
        const json_t *w = s->runs[s->counted_at[i]].window;
        /* thousands of records share one set */
        if (json_object_size(view_at(w, "slab.counters")) == json_object_size(names) &&
            view_counter(w, 0, &c) && json_object_get(names, c.name) && last)
            continue;
        for (size_t k = 0; view_counter(w, k, &c); k++)
            json_object_set_new(names, c.name, json_true());
        last = w;
    }
    return names;
}

bool study_has_axis(const struct study *s, const char *path)
{
    const char *key = strncmp(path, "profile.", 8) == 0 ? path + 8 : path;
    for (size_t a = 0; a < s->axes_n; a++) {
        size_t len = strlen(s->keys[a]);
        /* the key of a record may carry a unit: block, block_bytes */
        if (strncmp(key, s->keys[a], len) == 0 && (key[len] == '\0' || key[len] == '_'))
            return true;
    }
    return false;
}

bool study_repeats(const struct study *s)
{
    for (size_t i = 0; i < s->cells_n; i++)
        if (s->cells[i].rate.n < 2)
            return false;
    return s->cells_n > 0;
}

static const char *text_of(const struct study *s, size_t cell, size_t axis)
{
    return s->values[cell * s->axes_n + axis];
}

/* Both cells agree on all axes but one. */
static bool differ_only_in(const struct study *s, size_t a, size_t b, size_t axis)
{
    for (size_t k = 0; k < s->axes_n; k++)
        if ((strcmp(text_of(s, a, k), text_of(s, b, k)) == 0) == (k == axis))
            return false;
    return true;
}

static size_t axis_named(const struct study *s, const char *key)
{
    size_t a = 0;
    while (a < s->axes_n && strcmp(s->keys[a], key) != 0)
        a++;
    return a;
}

const char *study_instrument(const struct study *s, size_t cell)
{
    size_t a = axis_named(s, "instrument");
    return a < s->axes_n ? text_of(s, cell, a) : "none";
}

static bool instrumented(const struct study *s, size_t cell)
{
    return strcmp(study_instrument(s, cell), "none") != 0;
}

size_t study_without_instrument(const struct study *s, size_t cell)
{
    size_t a = axis_named(s, "instrument");
    for (size_t i = 0; instrumented(s, cell) && i < s->cells_n; i++)
        if (!instrumented(s, i) && differ_only_in(s, cell, i, a))
            return i;
    return SIZE_MAX;
}

bool study_ratio(const struct study *s, size_t cell, size_t base, const char *metric, double *ratio)
{
    double figure = study_median(s, cell, metric, NULL), of = study_median(s, base, metric, NULL);
    if (!(of > 0) || !isfinite(figure))
        return false;
    *ratio = figure / of;
    return true;
}

static bool add_effect(struct study *s, size_t axis, const char *value, const char *against)
{
    struct stats_pair *pairs = malloc((s->cells_n + 1) * sizeof(*pairs));
    struct study_effect *bigger = realloc(s->effects, (s->effects_n + 1) * sizeof(*s->effects));
    size_t n = 0;
    if (bigger)
        s->effects = bigger;
    if (!pairs || !bigger) {
        free(pairs);
        return false;
    }
    /* what an instrument did is told apart, and never part of another effect */
    bool of_instrument = strcmp(s->keys[axis], "instrument") == 0;
    for (size_t i = 0; i < s->cells_n; i++)
        for (size_t k = 0; k < s->cells_n; k++)
            if (strcmp(text_of(s, i, axis), value) == 0 &&
                strcmp(text_of(s, k, axis), against) == 0 && differ_only_in(s, i, k, axis) &&
                (of_instrument || !instrumented(s, i)) && n < s->cells_n)
                pairs[n++] = (struct stats_pair){i, k};
    if (n > 0) {
        struct study_effect *e = &s->effects[s->effects_n++];
        *e = (struct study_effect){.axis = axis, .value = value, .against = against};
        stats_compare(s->counted, s->counted_n, pairs, n, s->seed, &e->comparison);
    }
    free(pairs);
    return true;
}

/* Each value of each axis against that of the baseline. With one axis the comparisons of the cells
 * say the same. */
static bool make_effects(struct study *s)
{
    for (size_t a = 0; s->axes_n > 1 && a < s->axes_n; a++) {
        const char *against = text_of(s, s->baseline, a);
        for (size_t i = 0; i < s->cells_n; i++) {
            const char *value = text_of(s, i, a);
            bool before = strcmp(value, against) == 0;
            for (size_t k = 0; k < i && !before; k++)
                before = strcmp(text_of(s, k, a), value) == 0;
            if (!before && !add_effect(s, a, value, against))
                return false;
        }
    }
    return true;
}

static bool make_cells(struct study *s)
{
    s->cells = calloc(s->cells_n + 1, sizeof(*s->cells));
    for (size_t i = 0; s->cells && i < s->cells_n; i++) {
        const struct stats_pair pair = {i, s->baseline};
        for (size_t k = 0; k < s->counted_n; k++)
            s->cells[i].runs += s->counted[k].cell == i;
        stats_cell(s->counted, s->counted_n, i, &s->cells[i].rate);
        if (i != s->baseline &&
            strcmp(study_instrument(s, i), study_instrument(s, s->baseline)) == 0)
            stats_compare(s->counted, s->counted_n, &pair, 1, s->seed, &s->cells[i].baseline);
    }
    return s->cells;
}

static bool count(struct study *s)
{
    s->counted = calloc(s->n + 1, sizeof(*s->counted));
    s->counted_at = calloc(s->n + 1, sizeof(*s->counted_at));
    if (!s->counted || !s->counted_at)
        return false;
    long *boots = calloc(s->n + 1, sizeof(*boots)), *mounts = calloc(s->n + 1, sizeof(*mounts));
    for (size_t i = 0; boots && mounts && i < s->n; i++) {
        const struct stats_run *place = &s->runs[i].place;
        size_t k = 0;
        if (s->runs[i].left_out)
            continue;
        while (k < s->boots && boots[k] != place->boot)
            k++;
        if (k == s->boots)
            boots[s->boots++] = place->boot;
        for (k = 0; k < s->mounts && mounts[k] != place->mount;)
            k++;
        if (k == s->mounts)
            mounts[s->mounts++] = place->mount;
        s->counted[s->counted_n] = *place;
        s->counted_at[s->counted_n++] = i;
    }
    bool ok = boots && mounts;
    free(boots);
    free(mounts);
    return ok;
}

static void make_drift(struct study *s)
{
    double *hours = calloc(s->counted_n + 1, sizeof(*hours));
    struct drift all, least = {.p = 2};
    size_t tested = 0;
    for (size_t i = 0; hours && i < s->counted_n; i++)
        hours[i] = s->runs[s->counted_at[i]].hours;
    if (!hours)
        return;
    all = drift_test(s->counted, hours, s->counted_n, SIZE_MAX, s->seed);
    s->drift.runs = all.runs;
    s->drift.hours = fmin(1, all.span);
    s->drift.slope = all.slope;
    s->drift.change = expm1(all.slope * s->drift.hours);
    s->drift.p = all.p;
    for (size_t c = 0; c < s->cells_n && s->cells_n > 1; c++) {
        struct drift d = drift_test(s->counted, hours, s->counted_n, c, s->seed);
        tested += d.runs > 0;
        if (d.runs > 0 && d.p < least.p) {
            least = d;
            s->drift.cell = c;
        }
    }
    s->drift.cell_known = tested > 0 && least.p * (double)tested <= 0.05;
    s->drift.cell_change = expm1(least.slope * s->drift.hours);
    s->drift.cell_p = fmin(1, least.p * (double)tested);
    free(hours);
}

static bool make_expectations(struct study *s, const json_t *list, const char *file,
                              struct err *err)
{
    const struct expect_cells cells = {.keys = (const char *const *)s->keys,
                                       .keys_n = s->axes_n,
                                       .values = (const char *const *)s->values,
                                       .cells_n = s->cells_n};
    s->expectations = calloc(json_array_size(list) + 1, sizeof(*s->expectations));
    if (!s->expectations)
        return err_set(err, STATUS_FAILED, "report: out of memory");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        struct study_expectation *x = &s->expectations[s->expectations_n];
        json_int_t line = 0;
        struct expect *e;
        x->name = view_text(o, "name", "?");
        x->statement = view_text(o, "statement", "");
        view_integer(o, "line", &line);
        if (!expect_parse(x->name, x->statement, file, (unsigned)line, &cells, &e, err))
            return false;
        expect_answer(e, s->counted, s->counted_n, study_value, s, s->seed, &x->answer);
        expect_free(e);
        s->expectations_n++;
    }
    return true;
}

bool study_make(struct study *s, const json_t *const *records, size_t n, const json_t *plan,
                const json_t *expect, const char *file, struct err *err)
{
    json_int_t seed = 1;
    *s = (struct study){.plan = plan, .n = n, .seed = 1, .precision = STUDY_PRECISION};
    if (view_integer(plan, "seed", &seed))
        s->seed = (uint64_t)seed;
    double precision;
    if (view_number(plan, "precision", &precision) && precision > 0)
        s->precision = precision;
    if (!study_cells_make(s, records, err))
        return false;
    study_runs_judge(s);
    if (!count(s) || !make_cells(s) || !make_effects(s))
        return err_set(err, STATUS_FAILED, "report: out of memory");
    make_drift(s);
    return make_expectations(s, expect ? expect : json_object_get(plan, "expect"), file, err);
}

void study_free(struct study *s)
{
    for (size_t i = 0; s->runs && i < s->n; i++)
        free(s->runs[i].left_out);
    for (size_t i = 0; s->keys && i < s->axes_n; i++)
        free(s->keys[i]);
    for (size_t i = 0; s->values && i < s->axes_n * s->cells_n; i++)
        free(s->values[i]);
    free(s->runs);
    free(s->keys);
    free(s->values);
    free(s->counted);
    free(s->counted_at);
    free(s->cells);
    free(s->effects);
    free(s->expectations);
    *s = (struct study){0};
}
