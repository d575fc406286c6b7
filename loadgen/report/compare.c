#include "compare.h"

#include "../matrix/words.h"
#include "csv.h"
#include "fmt.h"
#include "maker.h"
#include "study_json.h"
#include "study_report.h"
#include "view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const json_t *first_record(const struct study *s)
{
    return s->n ? s->runs[0].record : NULL;
}

static void describe(const json_t *value, char *buf, size_t cap)
{
    if (json_is_string(value))
        snprintf(buf, cap, "%.80s", json_string_value(value));
    else
        snprintf(buf, cap, "%lld", (long long)json_integer_value(value));
}

json_t *compare_obstacles(const struct study *a, const struct study *b)
{
    static const char *const same[][2] = {
        {"host.cpu_model", "CPU"},        {"host.threads", "number of CPUs"},
        {"host.page_bytes", "page size"}, {"profile.block_bytes", "block size"},
        {"profile.threads", "threads"},   {"profile.iodepth", "I/O depth"},
        {"profile.engine", "engine"},
    };
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        const json_t *x = view_at(first_record(a), same[i][0]);
        const json_t *y = view_at(first_record(b), same[i][0]);
        char left[100], right[100];
        if (!x || !y || json_equal(x, y) || study_has_axis(a, same[i][0]))
            continue;
        describe(x, left, sizeof(left));
        describe(y, right, sizeof(right));
        study_doubt(list, "another %s: %s and %s", same[i][1], left, right);
    }
    return list;
}

/* Which cell of b has the same texts as cell i of a. */
static size_t partner(const struct study *a, const struct study *b, size_t i)
{
    for (size_t k = 0; a->axes_n == b->axes_n && k < b->cells_n; k++) {
        bool same = true;
        for (size_t x = 0; same && x < a->axes_n; x++) {
            size_t y = 0;
            while (y < b->axes_n && strcmp(a->keys[x], b->keys[y]) != 0)
                y++;
            same = y < b->axes_n &&
                   strcmp(a->values[i * a->axes_n + x], b->values[k * b->axes_n + y]) == 0;
        }
        if (same)
            return k;
    }
    return SIZE_MAX;
}

/* b against a in the pairs (a's cell i, b's partner): all of them, or the one of cell `only`. The
 * boots of the two are never the same ones, so nothing is paired. */
static bool against(const struct study *a, const struct study *b, size_t only,
                    struct stats_comparison *out)
{
    size_t n = a->counted_n + b->counted_n, pairs_n = 0;
    struct stats_run *runs = malloc((n + 1) * sizeof(*runs));
    struct stats_pair *pairs = malloc((a->cells_n + 1) * sizeof(*pairs));
    *out = (struct stats_comparison){0};
    if (runs && pairs) {
        memcpy(runs, a->counted, a->counted_n * sizeof(*runs));
        memcpy(runs + a->counted_n, b->counted, b->counted_n * sizeof(*runs));
        for (size_t i = a->counted_n; i < n; i++) {
            runs[i].cell += a->cells_n;
            runs[i].boot = -runs[i].boot;
            runs[i].mount = -runs[i].mount;
            runs[i].block = -runs[i].block;
        }
        for (size_t i = 0; i < a->cells_n; i++) {
            size_t k = partner(a, b, i);
            if (k != SIZE_MAX && (only == SIZE_MAX || only == i))
                pairs[pairs_n++] = (struct stats_pair){a->cells_n + k, i};
        }
        stats_compare(runs, n, pairs, pairs_n, a->seed, out);
    }
    bool ok = runs && pairs;
    free(runs);
    free(pairs);
    return ok;
}

static void side(struct maker *m, const char *name, const struct study *s)
{
    const json_t *r = first_record(s);
    cell(m, "%s", name);
    cell(m, "kernel %s; %zu of %zu runs count, %zu boot%s; first %s",
         view_text(r, "host.kernel_release", "unknown"), s->counted_n, s->n, s->boots,
         s->boots == 1 ? "" : "s", view_text(r, "started_at", "at an unknown time"));
}

static void sides(struct maker *m)
{
    begin(m, 2, "The two sides");
    cell(m, "side");
    cell(m, "what");
    side(m, "A", m->a);
    side(m, "B", m->b);
    if (!m->failed)
        m->t->prose = true;
}

static void rates(struct maker *m)
{
    const char *const heads[] = {"cell", "A: n", "GB/s", "B: n", "GB/s", "B / A", "95 % interval"};
    int d = 2; /* the same for all, so that they compare */
    for (size_t i = 0; i < m->a->cells_n; i++)
        if (m->a->cells[i].rate.n && m->a->cells[i].rate.median < 0.995e9)
            d = 4;
    begin(m, 7, "Throughput by cell, medians");
    for (size_t i = 0; i < 7; i++)
        cell(m, "%s", heads[i]);
    for (size_t i = 0; i < m->a->cells_n; i++) {
        size_t k = partner(m->a, m->b, i);
        struct stats_comparison c;
        if (k == SIZE_MAX)
            continue;
        const struct stats_cell *x = &m->a->cells[i].rate, *y = &m->b->cells[k].rate;
        m->failed |= !against(m->a, m->b, i, &c);
        cell(m, "%s", study_name(m->a, i).s);
        cell(m, "%zu", x->n);
        cell(m, "%.*f", d, x->median / 1e9);
        cell(m, "%zu", y->n);
        cell(m, "%.*f", d, y->median / 1e9);
        if (c.known)
            cell(m, "%.4f", c.ratio);
        else
            cell(m, "-");
        if (stats_interval_tells(&c.interval))
            cell(m, "%.4f-%.4f", c.interval.low, c.interval.high);
        else
            cell(m, "%s", c.interval.known ? "too few" : "-");
    }
}

static void words_row(struct maker *m, const char *name, const struct stats_comparison *c)
{
    struct words p = words_p(c);
    bool shown = *p.s && c->interval.known;
    cell(m, "%s", name);
    cell(m, "%s%s%s", words_comparison(c, m->a->precision, "faster", "slower").s,
         !shown          ? ""
         : p.s[0] == '<' ? "; p "
                         : "; p = ",
         shown ? p.s : "");
}

static void in_words(struct maker *m)
{
    struct stats_comparison c;
    begin(m, 2, "B against A");
    cell(m, "cell");
    cell(m, "throughput");
    for (size_t i = 0; i < m->a->cells_n; i++)
        if (partner(m->a, m->b, i) != SIZE_MAX) {
            m->failed |= !against(m->a, m->b, i, &c);
            words_row(m, study_name(m->a, i).s, &c);
        }
    m->failed |= !against(m->a, m->b, SIZE_MAX, &c);
    words_row(m, "all cells", &c);
    if (m->failed)
        return;
    m->t->prose = true;
    if (c.interval.known)
        snprintf(m->t->note, sizeof(m->t->note),
                 "95 %% intervals over %zu %s a side at least, as independent samples. See "
                 "numaload-statistics(7).",
                 c.interval.units, words_level(c.interval.level));
}

static void heads(struct maker *m, const char *what)
{
    cell(m, "%s", what);
    for (size_t i = 0; i < m->a->cells_n; i++)
        if (partner(m->a, m->b, i) != SIZE_MAX)
            cell(m, "%s", study_name(m->a, i).s);
}

static size_t shared_cells(const struct study *a, const struct study *b)
{
    size_t n = 0;
    for (size_t i = 0; i < a->cells_n; i++)
        n += partner(a, b, i) != SIZE_MAX;
    return n;
}

static void figure_row(struct maker *m, const char *name, const char *metric, double scale)
{
    for (int which = 0; which < 2; which++) {
        cell(m, "%c  %s", "AB"[which], name);
        for (size_t i = 0; i < m->a->cells_n; i++) {
            size_t k = partner(m->a, m->b, i);
            if (k == SIZE_MAX)
                continue;
            double v =
                which ? study_median(m->b, k, metric, NULL) : study_median(m->a, i, metric, NULL);
            cell(m, "%s", isnan(v) ? "-" : fmt_figure(v * scale).s);
        }
    }
}

/* Counters per GiB, so that a faster side does not look like one that works more. */
static void counters(struct maker *m)
{
    json_t *names = study_counters(m->a), *value;
    const char *name;
    begin(m, shared_cells(m->a, m->b) + 1, "Counters per GiB read, B / A of the medians");
    heads(m, "counter");
    json_object_foreach(names, name, value)
    {
        char metric[128];
        snprintf(metric, sizeof(metric), "slab_per_gib.%.100s", name);
        cell(m, "%s", name);
        for (size_t i = 0; i < m->a->cells_n; i++) {
            size_t k = partner(m->a, m->b, i);
            if (k == SIZE_MAX)
                continue;
            double x = study_median(m->a, i, metric, NULL);
            double y = study_median(m->b, k, metric, NULL);
            cell(m, "%s", x > 0 && isfinite(y) ? fmt_figure(y / x).s : "-");
        }
    }
    json_decref(names);
    if (!m->failed)
        table_drop(m->list, 1);
}

static void derived(struct maker *m)
{
    begin(m, shared_cells(m->a, m->b) + 1, "What follows from them, and idle time, %");
    heads(m, "figure");
    for (const struct view_derived *d = view_derived; d->name; d++) {
        const char *metric = d->path + strlen("derived.");
        bool any = false;
        for (size_t i = 0; i < m->a->cells_n && !any; i++)
            any = isfinite(study_median(m->a, i, metric, NULL));
        if (any)
            figure_row(m, d->name + strspn(d->name, " "), metric, d->scale);
    }
    figure_row(m, "idle, %", "idle_percent", 1);
}

static const char *answer_of(const struct study *s, const char *name)
{
    for (size_t i = 0; i < s->expectations_n; i++)
        if (strcmp(s->expectations[i].name, name) == 0)
            return expect_word(s->expectations[i].answer.verdict);
    return "not asked";
}

static void expectations(struct maker *m)
{
    if (m->a->expectations_n == 0)
        return;
    begin(m, 3, "Expectations");
    cell(m, "name");
    cell(m, "A");
    cell(m, "B");
    for (size_t i = 0; i < m->a->expectations_n; i++) {
        const char *name = m->a->expectations[i].name;
        cell(m, "%s", name);
        cell(m, "%s", answer_of(m->a, name));
        cell(m, "%s", answer_of(m->b, name));
    }
}

/* Names that only one side has. */
static bool same_counters(const struct study *a, const struct study *b, json_t *doubts)
{
    json_t *x = study_counters(a), *y = study_counters(b), *value;
    const char *name;
    char only[2][200] = {"", ""};
    size_t len[2] = {0};
    json_object_foreach(x, name, value) if (!json_object_get(y, name) && len[0] < 150) len[0] +=
        (size_t)snprintf(only[0] + len[0], 200 - len[0], " %.40s", name);
    json_object_foreach(y, name, value) if (!json_object_get(x, name) && len[1] < 150) len[1] +=
        (size_t)snprintf(only[1] + len[1], 200 - len[1], " %.40s", name);
    bool same = len[0] + len[1] == 0;
    if (!same)
        study_doubt(doubts, "the counters are not compared, the sets differ%s%s%s%s",
                    len[0] ? ": only A has" : "", only[0], len[1] ? "; only B has" : "", only[1]);
    json_decref(x);
    json_decref(y);
    return same;
}

/* What is wrong with one side by itself: two kernels in it, an unfinished series. */
static void doubts_of(const struct study *s, const char *side, json_t *doubts)
{
    json_t *own = study_doubts(s), *text;
    size_t i;
    json_array_foreach(own, i, text)
        study_doubt(doubts, "in %s: %s", side, json_string_value(text));
    json_decref(own);
}

bool compare_tables(struct table_list *list, json_t *doubts, const struct study *a,
                    const struct study *b, struct err *err)
{
    struct maker m = {.list = list, .a = a, .b = b};
    size_t shared = shared_cells(a, b);
    *list = (struct table_list){0};
    if (shared == 0)
        return err_set(
            err, STATUS_FAILED, "the two have no cell in common: A has %.100s, B has %.100s",
            a->cells_n ? study_name(a, 0).s : "none", b->cells_n ? study_name(b, 0).s : "none");
    if (shared < a->cells_n || shared < b->cells_n)
        study_doubt(doubts, "only %zu cells are in both: A has %zu, B has %zu", shared, a->cells_n,
                    b->cells_n);
    if (a->boots == 1 || b->boots == 1)
        study_doubt(doubts, "%s is one boot: what differs may be the boot and not the change",
                    a->boots == 1 && b->boots == 1 ? "each side" : "one side");
    doubts_of(a, "A", doubts);
    doubts_of(b, "B", doubts);
    sides(&m);
    rates(&m);
    in_words(&m);
    if (same_counters(a, b, doubts)) {
        counters(&m);
        derived(&m);
    }
    expectations(&m);
    return !m.failed || err_set(err, STATUS_FAILED, "compare: out of memory");
}

json_t *compare_json(const struct study *a, const struct study *b)
{
    json_t *cells = json_array();
    struct stats_comparison c;
    for (size_t i = 0; i < a->cells_n; i++) {
        size_t k = partner(a, b, i);
        if (k == SIZE_MAX)
            continue;
        against(a, b, i, &c);
        json_array_append_new(
            cells, json_pack("{s:o, s:I, s:I, s:o, s:o, s:o}", "cell", study_json_cell(a, i),
                             "a_runs", (json_int_t)a->cells[i].rate.n, "b_runs",
                             (json_int_t)b->cells[k].rate.n, "a_median_bytes_per_s",
                             study_json_number(a->cells[i].rate.n ? a->cells[i].rate.median : NAN),
                             "b_median_bytes_per_s",
                             study_json_number(b->cells[k].rate.n ? b->cells[k].rate.median : NAN),
                             "b_against_a", study_json_comparison(a, &c)));
    }
    against(a, b, SIZE_MAX, &c);
    return json_pack("{s:o, s:o}", "cells", cells, "all_cells_b_against_a",
                     study_json_comparison(a, &c));
}

static void csv_number(FILE *out, double v)
{
    fputc(',', out);
    if (isfinite(v))
        fprintf(out, "%.12g", v);
}

struct both {
    const struct study *a, *b;
    size_t cell, partner; /* of a, of b */
};

static void csv_head_of_line(FILE *out, const struct both *at, const char *figure)
{
    csv_text(out, study_name(at->a, at->cell).s);
    fputc(',', out);
    csv_text(out, figure);
}

static void csv_rate(FILE *out, const struct both *at)
{
    const struct stats_cell *x = &at->a->cells[at->cell].rate;
    const struct stats_cell *y = &at->b->cells[at->partner].rate;
    struct stats_comparison c;
    against(at->a, at->b, at->cell, &c);
    csv_head_of_line(out, at, "bytes_per_s");
    fprintf(out, ",%zu,%zu", x->n, y->n);
    csv_number(out, x->n ? x->median : NAN);
    csv_number(out, y->n ? y->median : NAN);
    csv_number(out, c.known ? c.ratio : NAN);
    csv_number(out, c.interval.known ? c.interval.low : NAN);
    csv_number(out, c.interval.known ? c.interval.high : NAN);
    csv_number(out, c.known ? c.p : NAN);
    fputc(',', out);
    csv_text(out, c.known ? words_comparison(&c, at->a->precision, "faster", "slower").s : "");
    fputs("\r\n", out);
}

/* Medians and their ratio; only throughput has an interval. */
static void csv_figure(FILE *out, const struct both *at, const char *metric)
{
    size_t a_runs, b_runs;
    double x = study_median(at->a, at->cell, metric, &a_runs);
    double y = study_median(at->b, at->partner, metric, &b_runs);
    if (a_runs + b_runs == 0)
        return;
    csv_head_of_line(out, at, metric);
    fprintf(out, ",%zu,%zu", a_runs, b_runs);
    csv_number(out, x);
    csv_number(out, y);
    csv_number(out, x > 0 ? y / x : NAN);
    fputs(",,,,\r\n", out);
}

void compare_csv(FILE *out, const struct study *a, const struct study *b)
{
    json_t *unsaid = json_array(), *counters = study_counters(a), *value;
    bool same = same_counters(a, b, unsaid);
    const char *name;
    fputs("cell,figure,a_runs,b_runs,a_median,b_median,b_over_a,b_over_a_low,b_over_a_high,p,"
          "words\r\n",
          out);
    for (size_t i = 0; i < a->cells_n; i++) {
        struct both at = {a, b, i, partner(a, b, i)};
        if (at.partner == SIZE_MAX)
            continue;
        csv_rate(out, &at);
        json_object_foreach(counters, name, value)
        {
            char metric[128];
            snprintf(metric, sizeof(metric), "slab_per_gib.%.100s", name);
            if (same)
                csv_figure(out, &at, metric);
        }
        for (const struct view_derived *d = view_derived; same && d->name; d++)
            csv_figure(out, &at, d->path + strlen("derived."));
        csv_figure(out, &at, "idle_percent");
    }
    json_decref(unsaid);
    json_decref(counters);
}
