#include "plan.h"

#include "expect.h"
#include "order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define RUNS_MAX 1000000u
#define REPEATS_UP_TO 20u

/* "1%" or "0.01". */
static bool parse_share(const char *text, double *share, struct err *err)
{
    char *end;
    errno = 0;
    *share = strtod(text, &end);
    if (end != text && strcmp(end, "%") == 0) {
        *share /= 100;
        end++;
    }
    if (end == text || *end || errno || !(*share > 0) || *share >= 1)
        return err_set(err, STATUS_USAGE,
                       "precision: '%s' is not a share between 0 and 1, such as 1%% or 0.01", text);
    return true;
}

static unsigned line_of(const struct profile *p, const char *name)
{
    for (size_t i = 0; i < p->lines_n; i++)
        if (strcmp(p->lines[i].section, "matrix") == 0 &&
            matrix_key(p->lines[i].name) == matrix_key(name))
            return p->lines[i].line;
    return 0;
}

/* A setting that proved wrong only beside others; where it stands in the profile, if it does. */
static bool blame(const struct profile *p, const char *name, struct err *err)
{
    unsigned line = line_of(p, name);
    return line ? err_prefix(err, "%s:%u", p->file, line) : false;
}

static bool check_counts(struct plan *plan, const struct profile *p, struct err *err)
{
    const struct matrix_settings *s = plan->settings;
    if (s->precision && !parse_share(s->precision, &plan->precision, err))
        return blame(p, "precision", err);
    plan->repeats_max = (unsigned)s->repeats;
    if (s->precision && s->repeats_max)
        plan->repeats_max = (unsigned)s->repeats_max;
    else if (s->precision && s->repeats < REPEATS_UP_TO)
        plan->repeats_max = REPEATS_UP_TO;
    if (s->repeats_max && !s->precision) {
        err_set(err, STATUS_USAGE,
                "repeats-max without precision: it is where a matrix ends that has not reached its "
                "precision; set 'precision', for example to 1%%, or only 'repeats'");
        return blame(p, "repeats-max", err);
    }
    if (plan->repeats_max < s->repeats) {
        err_set(err, STATUS_USAGE, "repeats-max is %u, less than the %llu repeats",
                plan->repeats_max, (unsigned long long)s->repeats);
        return blame(p, "repeats-max", err);
    }
    if (s->boots > s->repeats) {
        err_set(err, STATUS_USAGE, "%llu boots need as many repeats at least, not %llu",
                (unsigned long long)s->boots, (unsigned long long)s->repeats);
        return blame(p, "boots", err);
    }
    if ((uint64_t)plan->repeats_max * plan->cells.n > RUNS_MAX)
        return err_set(err, STATUS_USAGE, "%u repeats of %u cells are more than %u runs",
                       plan->repeats_max, plan->cells.n, RUNS_MAX);
    return true;
}

static bool find_baseline(struct plan *plan, const struct profile *p, struct err *err)
{
    const char *text = plan->settings->baseline;
    if (!text)
        return true; /* cell 0 has the first value of each axis, as far as it is not excluded */
    struct selection s = {malloc(plan->cells.axes_n * sizeof(*s.value))};
    if (!s.value)
        return err_set(err, STATUS_FAILED, "out of memory");
    for (unsigned a = 0; a < plan->cells.axes_n; a++)
        s.value[a] = -1;
    bool good = selection_parse(&s, &plan->cells, text, err);
    int cell = good ? cells_find(&plan->cells, &s) : -1;
    if (good && cell < 0)
        good = err_set(err, STATUS_USAGE, "'%s' is excluded", text);
    free(s.value);
    if (!good) {
        err_prefix(err, "baseline");
        return blame(p, "baseline", err);
    }
    plan->baseline = (unsigned)cell;
    return true;
}

/* Each cell as the values of its axes, for expect_parse. */
static bool cell_texts(const struct cells *c, const char ***keys, const char ***values)
{
    *keys = malloc(c->axes_n * sizeof(**keys));
    *values = malloc((size_t)c->n * c->axes_n * sizeof(**values));
    for (unsigned a = 0; *keys && a < c->axes_n; a++)
        (*keys)[a] = c->axes[a].key->name;
    for (size_t i = 0; *values && i < (size_t)c->n * c->axes_n; i++) {
        unsigned a = (unsigned)(i % c->axes_n);
        (*values)[i] = c->axes[a].values[c->cells[i / c->axes_n].value[a]];
    }
    return *keys && *values;
}

static bool parses(const struct plan *plan, const struct profile *p, const struct profile_line *l,
                   struct err *err)
{
    struct expect *e = NULL;
    struct expect_cells cells = {.keys_n = plan->cells.axes_n, .cells_n = plan->cells.n};
    const char **keys, **values;
    bool good =
        cell_texts(&plan->cells, &keys, &values) || err_set(err, STATUS_FAILED, "out of memory");
    cells.keys = keys;
    cells.values = values;
    good = good && expect_parse(l->name, l->value, p->file, l->line, &cells, &e, err);
    expect_free(e);
    free(keys);
    free(values);
    return good;
}

static bool read_expect(struct plan *plan, const struct profile *p, struct err *err)
{
    plan->expect = json_array();
    for (size_t i = 0; i < p->lines_n; i++) {
        const struct profile_line *l = &p->lines[i];
        if (strcmp(l->section, "expect") != 0)
            continue;
        if (!parses(plan, p, l, err))
            return false;
        json_t *o = json_pack("{s:s, s:s, s:i}", "name", l->name, "statement", l->value, "line",
                              (int)l->line);
        if (!o || json_array_append_new(plan->expect, o))
            return err_set(err, STATUS_USAGE, "%s:%u: the statement is not UTF-8", p->file,
                           l->line);
    }
    return true;
}

bool plan_make(struct plan *plan, const struct profile *p, const struct matrix_settings *s,
               struct err *err)
{
    *plan = (struct plan){.settings = s};
    return cells_read(&plan->cells, p, err) && check_counts(plan, p, err) &&
           find_baseline(plan, p, err) && read_expect(plan, p, err);
}

void plan_free(struct plan *plan)
{
    cells_free(&plan->cells);
    free(plan->runs);
    json_decref(plan->expect);
    *plan = (struct plan){0};
}

bool plan_draw_seed(uint64_t *seed, struct err *err)
{
    if (getrandom(seed, sizeof(*seed), 0) != sizeof(*seed))
        return err_set(err, STATUS_FAILED, "no random numbers: %s", strerror(errno));
    *seed = (*seed >> 11) | 1; /* never 0, which asks for one to be drawn */
    return true;
}

static void order_block(const struct plan *plan, unsigned block, unsigned *order)
{
    unsigned n = plan->cells.n;
    const char *word = plan->settings->order;
    if (strcmp(word, "blocks") == 0) {
        order_random(plan->seed, block, order, n);
        return;
    }
    bool backwards = strcmp(word, "reversed-pairs") == 0 && block % 2;
    for (unsigned i = 0; i < n; i++)
        order[i] = backwards ? n - 1 - i : i;
}

bool plan_order(struct plan *plan, uint64_t seed, struct err *err)
{
    unsigned n = plan->cells.n, repeats = (unsigned)plan->settings->repeats;
    unsigned boots = (unsigned)plan->settings->boots;
    unsigned *order = malloc(n * sizeof(*order));
    free(plan->runs);
    plan->seed = seed;
    plan->runs_n = plan->repeats_max * n;
    plan->runs = calloc(plan->runs_n, sizeof(*plan->runs));
    if (!order || !plan->runs) {
        free(order);
        return err_set(err, STATUS_FAILED, "out of memory");
    }
    struct planned_run *r = plan->runs;
    for (unsigned block = 0; block < plan->repeats_max; block++) {
        order_block(plan, block, order);
        /* Shares differ by one repeat at most; what the precision adds belongs to the last. */
        unsigned boot = block < repeats ? (unsigned)((uint64_t)block * boots / repeats) : boots - 1;
        for (unsigned i = 0; i < n; i++, r++)
            *r = (struct planned_run){.run = block * n + i + 1,
                                      .cell = order[i],
                                      .repeat = block + 1,
                                      .block = block + 1,
                                      .order = i + 1,
                                      .boot = boot + 1,
                                      .optional = block >= repeats};
    }
    free(order);
    return true;
}
