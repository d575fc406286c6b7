/* What instruments saw, and what they did to the load by looking. */
#include "fmt.h"
#include "perturbed.h"
#include "text_compare.h"
#include "view.h"

#include <stdint.h>
#include <string.h>

static bool has_lock(const struct text_run *r)
{
    return json_is_true(view_at(r->window, "lock.available"));
}

static void lock_row(FILE *out, const char *name, const struct text_run *runs, size_t n,
                     const char *path, double scale)
{
    fprintf(out, "%-23s", name);
    for (size_t i = 0; i < n; i++) {
        double v;
        fprintf(out, " %11s",
                view_number(runs[i].window, path, &v) ? fmt_figure(v * scale).s : "-");
    }
    fprintf(out, "\n");
}

static double contended_in_all(const struct text_run *r)
{
    double all = 0;
    const char *caller;
    json_t *count;
    json_object_foreach((json_t *)view_at(r->window, "lock.by_caller"), caller, count) all +=
        (double)json_integer_value(count);
    return all;
}

/* Counts, and in the next line the share of each caller. */
static void caller_rows(FILE *out, const char *caller, const struct text_run *runs, size_t n)
{
    struct fmt share[RUN_COLUMNS];
    fprintf(out, "%-23s", fmt_word(caller, 23).s);
    for (size_t i = 0; i < n; i++) {
        json_int_t count;
        double all = contended_in_all(&runs[i]);
        const json_t *by_caller = view_at(runs[i].window, "lock.by_caller");
        const json_t *value = json_object_get(by_caller, caller);
        count = json_integer_value(value);
        share[i] = json_is_integer(value) && all > 0 ? fmt_figure(100 * (double)count / all)
                                                     : (struct fmt){"-"};
        fprintf(out, " %11s", json_is_integer(value) ? fmt_cell(count, 11).s : "-");
    }
    fprintf(out, "\n%-23s", "  share, %");
    for (size_t i = 0; i < n; i++)
        fprintf(out, " %11s", share[i].s);
    fprintf(out, "\n");
}

static void lock_table(FILE *out, const struct text_run *runs, size_t n)
{
    text_heading(out, "Contended lock acquisitions");
    text_column_heads(out, "caller", runs, n);
    json_t *callers = json_object();
    for (size_t i = 0; i < n; i++)
        json_object_update_missing(callers, (json_t *)view_at(runs[i].window, "lock.by_caller"));
    const char *caller;
    json_t *value;
    json_object_foreach(callers, caller, value) caller_rows(out, caller, runs, n);
    json_decref(callers);
    lock_row(out, "contentions", runs, n, "lock.contentions", 1);
    lock_row(out, "waited in all, min", runs, n, "lock.total_wait_ns", 1 / 60e9);
    lock_row(out, "mean wait, us", runs, n, "lock.mean_wait_ns", 1e-3);
}

void text_locks(FILE *out, const struct text_run *runs, size_t n)
{
    struct text_run seen[RUN_COLUMNS];
    size_t columns = 0;
    for (size_t i = 0; i < n; i++) {
        if (has_lock(&runs[i]))
            seen[columns++] = runs[i];
        if (columns == RUN_COLUMNS || (columns && i + 1 == n)) {
            lock_table(out, seen, columns);
            columns = 0;
        }
    }
}

struct pair {
    struct text_run with, without;
};

static bool ratio_of(const struct pair *p, const char *name, double *ratio)
{
    return perturbed_ratio(p->with.window, p->without.window, name, ratio);
}

static void ratio_row(FILE *out, const char *name, const struct pair *pairs, size_t n,
                      const char *path)
{
    fprintf(out, "%-23s", fmt_word(name, 23).s);
    for (size_t i = 0; i < n; i++) {
        double r;
        fprintf(out, " %11s", ratio_of(&pairs[i], path, &r) ? fmt_figure(r).s : "-");
    }
    fprintf(out, "\n");
}

static void pair_table(FILE *out, const struct pair *pairs, size_t n)
{
    struct text_run with[RUN_COLUMNS];
    text_heading(out, "What the instruments did: figure with / figure without");
    for (size_t i = 0; i < n; i++) {
        with[i] = pairs[i].with;
        snprintf(with[i].key, sizeof(with[i].key), "%.5s/%.5s", pairs[i].with.key,
                 pairs[i].without.key);
    }
    text_column_heads(out, "ratio", with, n);
    ratio_row(out, "throughput", pairs, n, "throughput.bytes_per_s");
    json_t *names = json_object();
    struct view_counter c;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; view_counter(pairs[i].with.window, k, &c); k++)
            json_object_set_new(names, c.name, json_true());
    const char *name;
    json_t *value;
    json_object_foreach(names, name, value)
    {
        double r;
        bool any = false;
        for (size_t i = 0; i < n; i++)
            any |= ratio_of(&pairs[i], name, &r);
        if (any)
            ratio_row(out, name, pairs, n, name);
    }
    json_decref(names);
    ratio_row(out, "idle", pairs, n, "cpu.all.idle_percent");
    fprintf(out, "Figures taken under an instrument are not rates of the load.\n");
}

void text_perturbation(FILE *out, const json_t *const *records, const struct text_run *runs,
                       size_t n)
{
    struct pair pairs[RUN_COLUMNS];
    size_t columns = 0;
    for (size_t i = 0; i < n; i++) {
        size_t without = perturbed_partner(records, n, i);
        if (without != SIZE_MAX)
            pairs[columns++] = (struct pair){runs[i], runs[without]};
        if (columns == RUN_COLUMNS || (columns && i + 1 == n)) {
            pair_table(out, pairs, columns);
            columns = 0;
        }
    }
}
