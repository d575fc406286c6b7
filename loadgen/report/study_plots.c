/* The plots of a matrix. Words that go to gnuplot are made here or stripped to letters and digits.
 */
#include "plot.h"
#include "study.h"
#include "table.h"
#include "view.h"

#include <math.h>
#include <string.h>

#define BAR_CELLS 8 /* bars beside each other that can still be told apart */

/* "A\nnode0\nnode1" below its column. */
static void cell_tics(FILE *gp, const struct study *s)
{
    size_t step = s->cells_n > 24 ? s->cells_n / 12 : 1;
    fprintf(gp, "set xrange [-0.7:%zu.7]\nset xtics (", s->cells_n - 1);
    for (size_t i = 0; i < s->cells_n; i += step) {
        fprintf(gp, "%s\"%s", i ? ", " : "", table_key(i).s);
        for (size_t a = 0; a < s->axes_n && a < 3 && s->cells_n <= 8; a++)
            fprintf(gp, "\\n%s", plot_word(view_placement_word(s->values[i * s->axes_n + a]).s).s);
        fprintf(gp, "\" %zu", i);
    }
    fprintf(gp, ")\nset bmargin %zu\n", 3 + (s->cells_n <= 8 ? s->axes_n : 0));
}

/* Every run as a point, the mean and its interval beside them. Points are set apart by their order
 * so that none hides another. */
static bool throughput(FILE *gp, const struct plot_data *data)
{
    const struct study *s = data->study;
    double low = INFINITY, high = 0;
    size_t points = 0;
    fprintf(gp, "$runs << EOD\n");
    for (size_t i = 0; i < s->n; i++) {
        const struct study_run *r = &s->runs[i];
        if (r->cell == SIZE_MAX || !(r->place.value > 0))
            continue;
        fprintf(gp, "%.4f %.6g %d\n", (double)r->cell - 0.2 + 0.05 * (double)(i % 7),
                r->place.value / 1e9, !r->left_out);
        low = fmin(low, r->place.value);
        high = fmax(high, r->place.value);
        points++;
    }
    fprintf(gp, "EOD\n$means << EOD\n");
    for (size_t i = 0; i < s->cells_n; i++) {
        const struct stats_cell *c = &s->cells[i].rate;
        if (!c->n || !(c->mean > 0))
            continue;
        const struct stats_interval *v = &c->interval;
        bool shown = stats_interval_tells(v) && v->high < 4 * high;
        fprintf(gp, "%.4f %.6g %.6g %.6g\n", (double)i + 0.25, c->mean / 1e9,
                (shown ? v->low : c->mean) / 1e9, (shown ? v->high : c->mean) / 1e9);
        low = shown ? fmin(low, v->low) : low;
        high = shown ? fmax(high, v->high) : high;
    }
    fprintf(gp, "EOD\n");
    if (!points || !(high > 0))
        return false;
    double margin = 0.1 * (high - low) + 0.01 * high;
    cell_tics(gp, s);
    fprintf(gp, "set ylabel 'GB/s'\nset yrange [%.6g:%.6g]\nset grid y\n",
            fmax(0, low - margin) / 1e9, (high + margin) / 1e9);
    fprintf(gp, "plot $runs using 1:($3==1?$2:1/0) with points lt 1 ps 0.8 title 'run', "
                "$runs using 1:($3==0?$2:1/0) with points lt 2 pt 2 ps 1.0 title 'left out', "
                "$means using 1:2:3:4 with yerrorbars lt 3 lw 2 title 'mean, 95 %%'\n");
    return true;
}

static size_t bar_cells(const struct study *s)
{
    return s->cells_n < BAR_CELLS ? s->cells_n : BAR_CELLS;
}

/* Clustered bars: a group a row, a bar a cell that has any. */
struct bars {
    FILE *gp;
    size_t cells, drawn;
    bool has[BAR_CELLS];
};

static struct bars bars_begin(FILE *gp, const struct study *s)
{
    fprintf(gp, "$d << EOD\n");
    return (struct bars){.gp = gp, .cells = bar_cells(s)};
}

/* heights[i]: of cell i; not finite: it has no bar. */
static void bars_row(struct bars *b, const char *group, const double *heights)
{
    fprintf(b->gp, "%s", group);
    for (size_t i = 0; i < b->cells; i++) {
        bool draw = isfinite(heights[i]);
        b->has[i] |= draw;
        b->drawn += draw;
        if (draw)
            fprintf(b->gp, " %.6g", heights[i]);
        else
            fprintf(b->gp, " NaN");
    }
    fprintf(b->gp, "\n");
}

/* `axes`: commands for gnuplot. It fails on a column without a figure. */
static bool bars_end(const struct bars *b, const char *axes)
{
    FILE *gp = b->gp;
    const char *before = "plot";
    fprintf(gp,
            "EOD\nset style data histograms\nset style histogram clustered gap 1\n"
            "set style fill solid 0.75 noborder\n%s\nset grid y\n",
            axes);
    for (size_t i = 0; i < b->cells; i++) {
        if (!b->has[i])
            continue;
        /* a cell has its colour in all plots */
        fprintf(gp, "%s $d using %zu:xtic(1) lt %zu title '%s'", before, i + 2, i + 1,
                table_key(i).s);
        before = ",";
    }
    fprintf(gp, "\n");
    return b->drawn > 0;
}

static bool idle(FILE *gp, const struct plot_data *data)
{
    const struct study *s = data->study;
    json_t *nodes = json_object(), *value;
    const char *node;
    for (size_t i = 0; i < s->counted_n; i++) {
        json_t *by_node = (json_t *)view_at(s->runs[s->counted_at[i]].window, "cpu.by_node");
        if (json_object_size(by_node) != json_object_size(nodes))
            json_object_update_missing(nodes, by_node);
    }
    struct bars b = bars_begin(gp, s);
    json_object_foreach(nodes, node, value)
    {
        char metric[64], group[64];
        double idle_percent[BAR_CELLS];
        snprintf(group, sizeof(group), "node%.40s", plot_word(node).s);
        snprintf(metric, sizeof(metric), "idle_percent.%.40s", node);
        for (size_t i = 0; i < b.cells; i++)
            idle_percent[i] = study_median(s, i, metric, NULL);
        bars_row(&b, group, idle_percent);
    }
    json_decref(nodes);
    return bars_end(&b, "set ylabel 'idle, %'\nset yrange [0:100]");
}

static bool counters(FILE *gp, const struct plot_data *data)
{
    const struct study *s = data->study;
    json_t *names = study_counters(s), *value;
    const char *name;
    struct bars b = bars_begin(gp, s);
    json_object_foreach(names, name, value)
    {
        char metric[128];
        double rates[BAR_CELLS];
        bool moved = false;
        snprintf(metric, sizeof(metric), "slab_per_gib.%.100s", name);
        for (size_t i = 0; i < b.cells; i++) {
            rates[i] = study_median(s, i, metric, NULL);
            moved |= rates[i] > 0;
            if (!(rates[i] > 0))
                rates[i] = NAN; /* 0 has no place on a logarithmic axis */
        }
        struct plot_word w = plot_word(name);
        if (moved)
            bars_row(&b, *w.s ? w.s : "x", rates);
    }
    json_decref(names);
    return bars_end(&b, "set logscale y\nset format y '%.0s%c'\n"
                        "set ylabel 'count per GiB read'\nset xtics rotate by -35");
}

/* Each run against the mean of its cell, in the order of the series. */
static bool timeline(FILE *gp, const struct plot_data *data)
{
    const struct study *s = data->study;
    double last = 0;
    size_t points = 0;
    fprintf(gp, "$d << EOD\n");
    for (size_t i = 0; i < s->counted_n; i++) {
        const struct study_run *r = &s->runs[s->counted_at[i]];
        const struct stats_cell *c = &s->cells[r->cell].rate;
        if (!isfinite(r->hours) || !(c->mean > 0))
            continue;
        fprintf(gp, "%.8f %.6g %ld\n", r->hours, 100 * (r->place.value / c->mean - 1),
                r->place.boot);
        last = fmax(last, r->hours);
        points++;
    }
    fprintf(gp, "EOD\n");
    if (points < 3 || last <= 0)
        return false;
    double units = last >= 2 ? 1 : last >= 2 / 60.0 ? 60 : 3600; /* in an hour */
    fprintf(gp,
            "set xlabel '%s since the first run'\nset ylabel 'off the mean of its cell, %%'\n"
            "set grid y\nset xzeroaxis\n"
            "plot $d using ($1*%g):2:3 with points lc variable pt 7 ps 0.8 title 'run; a colour a "
            "boot'",
            units > 60  ? "seconds"
            : units > 1 ? "minutes"
                        : "hours",
            units);
    /* the slope is that within boots: one line through several of them would mean nothing */
    if (s->drift.runs && s->boots == 1 && fabs(s->drift.slope) * last < 5)
        fprintf(gp, ", 100*(exp(%.6g*(x-%.6g))-1) lt 2 title 'drift'", s->drift.slope / units,
                last / 2 * units);
    fprintf(gp, "\n");
    return true;
}

const struct plot study_plots[] = {
    {"throughput",
     "Throughput by cell: each dot is a run, the bar beside them the mean with its 95 % interval.",
     throughput},
    {"idle", "Idle CPU time by node, median of the runs of the first eight cells.", idle},
    {"counters",
     "Slab counters per GiB read, median of the runs of the first eight cells, on a logarithmic "
     "scale; a missing bar is 0 or unavailable.",
     counters},
    {"timeline",
     "Runs in the order in which they were measured, each against the mean of its cell: drift "
     "shows here.",
     timeline},
    {0},
};
