#include "../matrix/metric.h"
#include "../matrix/words.h"
#include "fmt.h"
#include "maker.h"
#include "study_report.h"
#include "text.h"
#include "view.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LEFT_OUT_MAX 40 /* lines; the others are counted */

static void note(struct maker *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(struct maker *m, const char *fmt, ...)
{
    va_list ap;
    if (m->failed)
        return;
    va_start(ap, fmt);
    vsnprintf(m->t->note, sizeof(m->t->note), fmt, ap);
    va_end(ap);
}

static void prose(struct maker *m, const char *title, const char *what, const char *says)
{
    begin(m, 2, title);
    cell(m, "%s", what);
    cell(m, "%s", says);
    if (!m->failed)
        m->t->prose = true;
}

static void end(struct maker *m, size_t heads)
{
    if (!m->failed && table_drop(m->list, heads))
        m->t = NULL;
}

/* The axes in one line: "cpus / cq". */
static struct study_name axes(const struct study *s)
{
    struct study_name n = {""};
    size_t len = 0;
    for (size_t a = 0; a < s->axes_n && len + 1 < sizeof(n.s); a++)
        len += (size_t)snprintf(n.s + len, sizeof(n.s) - len, "%s%s", a ? " / " : "", s->keys[a]);
    return n;
}

/* Digits behind the point of GB/s, the same for all cells so that they compare. */
static int rate_digits(const struct study *s)
{
    double most = 0;
    for (size_t i = 0; i < s->cells_n; i++)
        if (s->cells[i].rate.n)
            most = fmax(most, s->cells[i].rate.most);
    return most >= 0.995e9 ? 2 : most >= 0.00995e9 ? 4 : 6;
}

/* In percent; a deviation can be more than the mean. */
static struct fmt relative(double share)
{
    return share < 1 ? fmt_percent(100 * share) : fmt_figure(100 * share);
}

static void throughput(struct maker *m)
{
    const struct study *s = m->s;
    int d = rate_digits(s);
    const char *const heads[] = {"n", "median", "mean", "95 % of mean", "sd, %"};
    begin(m, 6, "Throughput by cell, GB/s (1e9 bytes)");
    cell(m, "  %s", s->axes_n ? axes(s).s : "cell");
    for (size_t i = 0; i < 5; i++)
        cell(m, "%s", heads[i]);
    for (size_t i = 0; i < s->cells_n; i++) {
        const struct stats_cell *c = &s->cells[i].rate;
        cell(m, "%s %s", table_key(i).s, study_name(s, i).s);
        cell(m, "%zu", c->n);
        if (!c->n) {
            for (int k = 0; k < 4; k++)
                cell(m, "%s", "-");
            continue;
        }
        cell(m, "%.*f", d, c->median / 1e9);
        cell(m, "%.*f", d, c->mean / 1e9);
        if (stats_interval_tells(&c->interval))
            cell(m, "%.*f-%.*f", d, c->interval.low / 1e9, d, c->interval.high / 1e9);
        else
            cell(m, "%s", c->interval.known ? "too few" : "-");
        cell(m, "%s",
             isnan(c->deviation) || !(c->mean > 0) ? "-" : relative(c->deviation / c->mean).s);
    }
    end(m, 1);
    if (s->boots == 1 && s->counted_n > s->cells_n)
        note(m, "One boot: the intervals speak of this boot only. Memory is laid out anew at each "
                "boot, and figures change with it; boots = 3 asks for more.");
    else if (s->boots == 2)
        note(m, "Two boots: intervals over boots are very wide; where the ends are more than a "
                "factor of 4 apart they are left out (too few). Three boots or more narrow them.");
}

static void compare_row(struct maker *m, const char *name, const struct stats_comparison *c)
{
    struct words w = words_comparison(c, m->s->precision, "faster", "slower"), p = words_p(c);
    cell(m, "%s", name);
    bool shown = *p.s && c->interval.known;
    cell(m, "%s%s%s", w.s, shown ? (p.s[0] == '<' ? "; p " : "; p = ") : "", shown ? p.s : "");
}

static void note_method(struct maker *m, const struct stats_comparison *c)
{
    char least[64] = "";
    if (c->p_least > 0.05)
        snprintf(least, sizeof(least), " (so few cannot show less than %.3f)", c->p_least);
    note(m,
         "95 %% intervals over %zu %s%s; words go by them and a precision of %.3g %%. p: of no "
         "difference%s. See numaload-statistics(7).",
         c->interval.units, words_level(c->interval.level),
         c->paired ? ", compared within each" : " a side", 100 * m->s->precision, least);
}

static void comparisons(struct maker *m)
{
    const struct study *s = m->s;
    char title[96];
    const struct stats_comparison *shown = NULL;
    snprintf(title, sizeof(title), "Against %.40s", study_name(s, s->baseline).s);
    prose(m, title, "cell", "throughput");
    for (size_t i = 0; i < s->cells_n; i++) {
        const struct stats_comparison *c = &s->cells[i].baseline;
        if (i == s->baseline ||
            strcmp(study_instrument(s, i), study_instrument(s, s->baseline)) != 0)
            continue;
        compare_row(m, study_name(s, i).s, c);
        shown = c->interval.known ? c : shown;
    }
    end(m, 1);
    if (shown && m->t)
        note_method(m, shown);
}

static void effects(struct maker *m)
{
    prose(m, "Main effects: each value of an axis, over all values of the others", "axis",
          "throughput");
    for (size_t i = 0; i < m->s->effects_n; i++) {
        const struct study_effect *e = &m->s->effects[i];
        char name[96];
        snprintf(name, sizeof(name), "%.20s: %.20s / %.20s", m->s->keys[e->axis],
                 view_placement_word(e->value).s, view_placement_word(e->against).s);
        if (strcmp(m->s->keys[e->axis], "instrument") != 0)
            compare_row(m, name, &e->comparison);
    }
    end(m, 1);
}

static void expectations(struct maker *m)
{
    prose(m, "Expectations", "name", "answer");
    for (size_t i = 0; i < m->s->expectations_n; i++) {
        const struct study_expectation *x = &m->s->expectations[i];
        const struct expect_answer *a = &x->answer;
        char interval[240] = "";
        if (a->interval.known && a->verdict == EXPECT_UNDECIDED &&
            !stats_interval_tells(&a->interval))
            snprintf(interval, sizeof(interval), " (%s)", words_too_few(&a->interval).s);
        else if (a->interval.known)
            snprintf(interval, sizeof(interval), " (%s-%s)", fmt_figure(a->interval.low).s,
                     fmt_figure(a->interval.high).s);
        cell(m, "%s", x->name);
        cell(m, "%s: %s%s%s%s [%s]", expect_word(a->verdict),
             isnan(a->figure) ? "no figure" : fmt_figure(a->figure).s, interval,
             *a->reason ? "; " : "", a->reason, x->statement);
    }
    end(m, 1);
}

static struct fmt chance(double p)
{
    struct fmt f = {"< 0.001"};
    if (p >= 0.001)
        snprintf(f.s, sizeof(f.s), "= %.3f", p);
    return f;
}

static void drift(struct maker *m)
{
    const struct study_drift *d = &m->s->drift;
    if (!d->runs)
        return;
    char time[40] = "an hour";
    if (d->hours * 60 < 2)
        snprintf(time, sizeof(time), "in %.0f s", d->hours * 3600);
    else if (d->hours < 1)
        snprintf(time, sizeof(time), "in %.0f min", d->hours * 60);
    prose(m, "Drift", "of", "throughput while a boot lasts");
    cell(m, "all cells");
    cell(m, "%s %% %s, p %s over %zu runs: %s", fmt_figure(100 * d->change).s, time, chance(d->p).s,
         d->runs, d->p <= 0.05 ? "it drifts" : "none to be seen");
    if (d->cell_known) {
        cell(m, "%s", study_name(m->s, d->cell).s);
        cell(m, "%s %% %s, p %s (Holm): it drifts with uptime", fmt_figure(100 * d->cell_change).s,
             time, chance(d->cell_p).s);
    }
    end(m, 1);
}

/* Heads of a table with a column a cell. */
static void cell_heads(struct maker *m, const char *what)
{
    const struct study *s = m->s;
    cell(m, "%s", what);
    for (size_t i = 0; i < s->cells_n; i++)
        cell(m, "%s", table_key(i).s);
    for (size_t a = 0; a < s->axes_n; a++) {
        cell(m, "%s", s->keys[a]);
        for (size_t i = 0; i < s->cells_n; i++)
            cell(m, "%.11s", view_placement_word(s->values[i * s->axes_n + a]).s);
    }
}

/* A row of medians; left out when no cell has the figure. */
static void median_row(struct maker *m, const char *name, const char *metric, double scale,
                       bool count)
{
    const struct study *s = m->s;
    size_t any = 0, of;
    double *medians = calloc(s->cells_n + 1, sizeof(*medians));
    for (size_t i = 0; medians && i < s->cells_n; i++) {
        medians[i] = study_median(s, i, metric, &of);
        any += of;
    }
    if (any)
        cell(m, "%s", name);
    for (size_t i = 0; medians && any && i < s->cells_n; i++)
        cell(m, "%s",
             isnan(medians[i]) ? "-"
             : count           ? fmt_cell(llround(medians[i]), 11).s
                               : fmt_figure(medians[i] * scale).s);
    free(medians);
    m->failed |= !medians;
}

static const char *cache_name(const struct study *s)
{
    for (size_t i = 0; i < s->counted_n; i++) {
        const char *cache = view_text(s->runs[s->counted_at[i]].window, "slab.cache", NULL);
        if (cache)
            return cache;
    }
    return "the slab cache";
}

static void counters(struct maker *m)
{
    char title[96];
    snprintf(title, sizeof(title), "Counters of %.24s in one window, median of the runs",
             fmt_word(cache_name(m->s), 24).s);
    begin(m, m->s->cells_n + 1, title);
    cell_heads(m, "counter");
    json_t *names = study_counters(m->s), *value;
    const char *name;
    json_object_foreach(names, name, value)
    {
        char metric[128];
        snprintf(metric, sizeof(metric), "slab.%.100s", name);
        median_row(m, name, metric, 1, true);
    }
    json_decref(names);
    end(m, 1 + m->s->axes_n);
}

static void derived(struct maker *m)
{
    begin(m, m->s->cells_n + 1, "What follows from them, median of the runs");
    cell_heads(m, "figure");
    for (const struct view_derived *d = view_derived; d->name; d++)
        median_row(m, d->name + strspn(d->name, " "), d->path + strlen("derived."), d->scale,
                   false);
    end(m, 1 + m->s->axes_n);
}

static void idle(struct maker *m)
{
    json_t *nodes = json_object(), *value;
    const char *node;
    begin(m, m->s->cells_n + 1, "Idle CPU time, %, median of the runs");
    cell_heads(m, "CPUs");
    for (size_t i = 0; i < m->s->counted_n; i++) {
        json_t *by_node = (json_t *)view_at(m->s->runs[m->s->counted_at[i]].window, "cpu.by_node");
        if (json_object_size(by_node) != json_object_size(nodes))
            json_object_update_missing(nodes, by_node);
    }
    median_row(m, "all", "idle_percent", 1, false);
    json_object_foreach(nodes, node, value)
    {
        char metric[64];
        snprintf(metric, sizeof(metric), "idle_percent.%.40s", node);
        median_row(m, text_node_name(node).s, metric, 1, false);
    }
    json_decref(nodes);
    end(m, 1 + m->s->axes_n);
}

/* One figure with an instrument against the same without, for all instrumented cells. */
static void ratio_row(struct maker *m, const char *name, const char *metric)
{
    const struct study *s = m->s;
    bool any = false;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1 && !any)
            return;
        if (pass == 1)
            cell(m, "%s", name);
        for (size_t i = 0; i < s->cells_n; i++) {
            size_t base = study_without_instrument(s, i);
            if (base == SIZE_MAX)
                continue;
            double ratio;
            bool known = study_ratio(s, i, base, metric, &ratio);
            any |= known;
            if (pass == 1)
                cell(m, "%s", known ? fmt_figure(ratio).s : "-");
        }
    }
}

static void perturbation(struct maker *m)
{
    const struct study *s = m->s;
    size_t columns = 1;
    for (size_t i = 0; i < s->cells_n; i++)
        columns += study_without_instrument(s, i) != SIZE_MAX;
    if (columns == 1)
        return;
    begin(m, columns, "What the instruments did: median with / median without");
    cell(m, "ratio");
    for (size_t i = 0; i < s->cells_n; i++)
        if (study_without_instrument(s, i) != SIZE_MAX)
            cell(m, "%s/%s", table_key(i).s, table_key(study_without_instrument(s, i)).s);
    for (size_t a = 0; a < s->axes_n; a++) {
        cell(m, "%s", s->keys[a]);
        for (size_t i = 0; i < s->cells_n; i++)
            if (study_without_instrument(s, i) != SIZE_MAX)
                cell(m, "%.11s", view_placement_word(s->values[i * s->axes_n + a]).s);
    }
    ratio_row(m, "throughput", "bytes_per_s");
    json_t *names = study_counters(s), *value;
    const char *name;
    json_object_foreach(names, name, value)
    {
        char metric[128];
        snprintf(metric, sizeof(metric), "slab.%.100s", name);
        ratio_row(m, name, metric);
    }
    json_decref(names);
    ratio_row(m, "idle", "idle_percent");
    note(m, "Figures taken under an instrument are not rates of the load; they are part of no "
            "comparison above.");
}

static void left_out(struct maker *m)
{
    const struct study *s = m->s;
    size_t shown = 0, all = 0;
    for (size_t i = 0; i < s->n; i++)
        all += s->runs[i].left_out != NULL;
    prose(m, "Left out of all figures", "run", "why");
    for (size_t i = 0; i < s->n && shown < LEFT_OUT_MAX; i++) {
        const struct study_run *r = &s->runs[i];
        json_int_t run;
        char name[64];
        if (!r->left_out)
            continue;
        bool numbered = view_integer(r->record, "matrix.run", &run) && run > 0;
        if (numbered)
            snprintf(name, sizeof(name), "%lld", (long long)run);
        else
            snprintf(name, sizeof(name), "%.24s", view_text(r->record, "started_at", "?"));
        cell(m, "%s", name);
        cell(m, "%s%s%s", r->cell == SIZE_MAX ? "" : study_name(s, r->cell).s,
             r->cell == SIZE_MAX ? "" : ": ", r->left_out);
        shown++;
    }
    end(m, 1);
    if (all > shown)
        note(m, "And %zu more; --format csv lists all of them.", all - shown);
}

static void facts(struct maker *m)
{
    const struct study *s = m->s;
    const json_t *record = s->n ? s->runs[0].record : NULL;
    json_int_t cpus, page;
    size_t nodes = json_array_size(view_at(record, "host.nodes"));
    prose(m, "Machine and method", "what", "is");
    cell(m, "CPUs");
    cell(m, "%s%s%s%s", view_text(record, "host.cpu_model", "unknown"),
         view_integer(record, "host.threads", &cpus) ? ", " : "",
         view_integer(record, "host.threads", &cpus) ? fmt_count(cpus).s : "",
         view_integer(record, "host.threads", &cpus) ? " CPUs" : "");
    if (nodes)
        cell(m, "nodes");
    if (nodes)
        cell(m, "%zu", nodes);
    cell(m, "kernel");
    cell(m, "%s %s", view_text(record, "host.kernel_release", "unknown"),
         view_text(record, "host.kernel_version", ""));
    if (view_integer(record, "host.page_bytes", &page)) {
        cell(m, "page");
        cell(m, "%s", fmt_bytes(page).s);
    }
    cell(m, "runs");
    cell(m, "%zu counted of %zu, %zu boot%s, %zu mount%s, first %s", s->counted_n, s->n, s->boots,
         s->boots == 1 ? "" : "s", s->mounts, s->mounts == 1 ? "" : "s",
         view_text(record, "started_at", "at an unknown time"));
    cell(m, "order");
    if (s->plan)
        cell(m, "%s, seed %llu", view_text(s->plan, "order", "?"), (unsigned long long)s->seed);
    else
        cell(m, "no plan: the runs are taken as independent; seed %llu",
             (unsigned long long)s->seed);
}

bool study_tables(struct table_list *list, const struct study *s)
{
    static void (*const make[])(struct maker *) = {
        throughput, comparisons, effects,      expectations, drift, counters,
        derived,    idle,        perturbation, left_out,     facts,
    };
    struct maker m = {.list = list, .s = s};
    *list = (struct table_list){0};
    for (size_t i = 0; i < sizeof(make) / sizeof(*make) && !m.failed; i++)
        make[i](&m);
    return !m.failed;
}
