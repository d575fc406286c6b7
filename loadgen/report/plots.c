/* The plots of the page. Words that go to gnuplot are made here or stripped to letters and digits.
 */
#define _GNU_SOURCE
#include "fmt.h"
#include "plot.h"
#include "table.h"
#include "view.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNTER_RUNS 8 /* bars beside each other that can still be told apart */

struct plot_word plot_word(const char *text)
{
    struct plot_word w;
    size_t n = 0;
    for (; *text && n + 1 < sizeof(w.s); text++)
        if ((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
            (*text >= '0' && *text <= '9') || *text == '_')
            w.s[n++] = *text;
    w.s[n] = '\0';
    return w;
}

/* "A: node0/node1" below its column; only the key when there are many. */
static void run_tics(FILE *gp, const json_t *const *records, size_t n)
{
    size_t step = n > 24 ? n / 12 : 1;
    fprintf(gp, "set xrange [-0.7:%zu.7]\nset xtics (", n - 1);
    for (size_t i = 0; i < n; i += step) {
        fprintf(gp, "%s\"%s", i ? ", " : "", table_key(i).s);
        if (n <= 8)
            fprintf(gp, "\\n%s\\n%s", plot_word(view_workload(records[i]).s).s,
                    plot_word(view_cqs(records[i]).s).s);
        fprintf(gp, "\" %zu", i);
    }
    fprintf(gp, ")\n");
}

static bool throughput(FILE *gp, const struct plot_data *data)
{
    const json_t *const *records = data->records;
    size_t n = data->n;
    size_t k, points = 0;
    json_t *w;
    double rate, high = 0;
    fprintf(gp, "$valid << EOD\n");
    for (size_t i = 0; i < n; i++)
        json_array_foreach(json_object_get(records[i], "windows"), k, w)
        {
            bool valid = json_is_true(json_object_get(w, "valid"));
            if (!view_number(w, "throughput.bytes_per_s", &rate))
                continue;
            fprintf(gp, "%zu %.6g %d\n", i, rate / 1e9, valid);
            high = rate > high ? rate : high;
            points++;
        }
    fprintf(gp, "EOD\n$median << EOD\n");
    for (size_t i = 0; i < n; i++)
        if (view_number(view_median_window(records[i], NULL), "throughput.bytes_per_s", &rate))
            fprintf(gp, "%zu %.6g\n", i, rate / 1e9);
    fprintf(gp, "EOD\n");
    if (!points || high <= 0)
        return false;
    run_tics(gp, records, n);
    fprintf(gp, "set ylabel 'GB/s'\nset yrange [0:%.6g]\nset grid y\nset bmargin 5\n",
            1.1 * high / 1e9);
    fprintf(gp, "plot $median using 1:2:(0.6) with boxes fs solid 0.25 noborder lt 1 "
                "title 'median', $valid using 1:($3==1?$2:1/0) with points lt 1 ps 0.8 "
                "title 'window', $valid using 1:($3==0?$2:1/0) with points lt 2 pt 2 ps 1.2 "
                "title 'invalid window'\n");
    return true;
}

static bool idle(FILE *gp, const struct plot_data *data)
{
    const json_t *const *records = data->records;
    size_t n = data->n;
    json_t *nodes = json_object(), *value;
    const char *node;
    size_t columns = 0;
    for (size_t i = 0; i < n; i++)
        json_object_update_missing(
            nodes, (json_t *)view_at(view_median_window(records[i], NULL), "cpu.by_node"));
    fprintf(gp, "$d << EOD\n");
    for (size_t i = 0; i < n; i++) {
        const json_t *cpu = view_at(view_median_window(records[i], NULL), "cpu.by_node");
        fprintf(gp, "%s", table_key(i).s);
        json_object_foreach(nodes, node, value)
        {
            double v;
            if (view_number(json_object_get(cpu, node), "idle_percent", &v))
                fprintf(gp, " %.4g", v);
            else
                fprintf(gp, " NaN");
        }
        fprintf(gp, "\n");
    }
    fprintf(gp, "EOD\nset style data histograms\nset style histogram clustered gap 1\n"
                "set style fill solid 0.75 noborder\nset ylabel 'idle, %%'\nset yrange [0:100]\n"
                "set grid y\nplot");
    json_object_foreach(nodes, node, value)
    {
        fprintf(gp, "%s $d using %zu:xtic(1) title 'node%s'", columns ? "," : "", columns + 2,
                plot_word(node).s);
        columns++;
    }
    fprintf(gp, "\n");
    json_decref(nodes);
    return columns > 0;
}

/* Counters that moved in one of the runs, by name. */
static json_t *moved_counters(const json_t *const *windows, size_t n)
{
    json_t *names = json_object();
    struct view_counter c;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; view_counter(windows[i], k, &c); k++)
            if (c.known && c.total > 0)
                json_object_set_new(names, c.name, json_true());
    return names;
}

/* Rate of a counter, or false for what a logarithmic scale cannot show. */
static bool per_gib(const json_t *window, const char *name, double *rate)
{
    struct view_counter c;
    double bytes;
    if (!view_counter_named(window, name, &c) || !c.known || c.total <= 0 ||
        !view_number(window, "throughput.bytes", &bytes) || bytes <= 0)
        return false;
    *rate = (double)c.total / (bytes / (1 << 30));
    return true;
}

static bool has_rates(const json_t *window)
{
    struct view_counter c;
    double rate;
    for (size_t k = 0; view_counter(window, k, &c); k++)
        if (per_gib(window, c.name, &rate))
            return true;
    return false;
}

/* The first runs that have counters: gnuplot refuses a column without any figure. */
static bool counters(FILE *gp, const struct plot_data *data)
{
    const json_t *const *records = data->records;
    size_t n = data->n;
    const json_t *windows[COUNTER_RUNS];
    struct table_key keys[COUNTER_RUNS];
    size_t columns = 0;
    for (size_t i = 0; i < n && columns < COUNTER_RUNS; i++) {
        const json_t *w = view_median_window(records[i], NULL);
        if (!has_rates(w))
            continue;
        keys[columns] = table_key(i);
        windows[columns++] = w;
    }
    json_t *names = moved_counters(windows, columns), *value;
    const char *name;
    fprintf(gp, "$d << EOD\n");
    json_object_foreach(names, name, value)
    {
        struct plot_word w = plot_word(name);
        fprintf(gp, "%s", *w.s ? w.s : "x");
        for (size_t i = 0; i < columns; i++) {
            double rate;
            if (per_gib(windows[i], name, &rate))
                fprintf(gp, " %.6g", rate);
            else
                fprintf(gp, " NaN");
        }
        fprintf(gp, "\n");
    }
    json_decref(names);
    fprintf(gp, "EOD\nset style data histograms\nset style histogram clustered gap 1\n"
                "set style fill solid 0.75 noborder\nset logscale y\nset format y '%%.0s%%c'\n"
                "set ylabel 'count per GiB read'\nset xtics rotate by -35\nset grid y\nplot");
    for (size_t i = 0; i < columns; i++)
        fprintf(gp, "%s $d using %zu:xtic(1) title '%s'", i ? "," : "", i + 2, keys[i].s);
    fprintf(gp, "\n");
    return columns > 0;
}

static bool timeline(FILE *gp, const struct plot_data *data)
{
    const json_t *const *records = data->records;
    size_t n = data->n;
    size_t k, points = 0;
    json_t *w;
    double rate, first = 0, last = 0;
    fprintf(gp, "$d << EOD\n");
    for (size_t i = 0; i < n; i++) {
        struct tm tm = {0};
        if (!strptime(view_text(records[i], "started_at", ""), "%Y-%m-%dT%H:%M:%SZ", &tm))
            continue;
        double at = (double)timegm(&tm), t0, t;
        const json_t *windows = json_object_get(records[i], "windows");
        view_number(json_array_get(windows, 0), "t0_ns", &t0);
        json_array_foreach(windows, k, w)
        {
            if (!view_number(w, "throughput.bytes_per_s", &rate) || !view_number(w, "t0_ns", &t))
                continue;
            double when = at + (t - t0) / 1e9;
            fprintf(gp, "%.3f %.6g\n", when, rate / 1e9);
            first = points == 0 || when < first ? when : first;
            last = points == 0 || when > last ? when : last;
            points++;
        }
    }
    fprintf(gp, "EOD\n");
    if (points < 3 || last - first < 1)
        return false;
    fprintf(gp,
            "set xdata time\nset timefmt '%%s'\nset format x '%s'\n"
            "set ylabel 'GB/s'\nset grid y\nset xtics autofreq\n"
            "plot $d using 1:2 with points lt 1 ps 0.8 title 'window'\n",
            last - first > 2 * 86400 ? "%m-%d" : "%H:%M:%S");
    return true;
}

const struct plot plots[] = {
    {"throughput",
     "Throughput. Each dot is a window, the box is the median of a run's valid windows.",
     throughput},
    {"idle", "Idle CPU time by node, in the window with the median throughput.", idle},
    {"counters",
     "Slab counters per GiB read, on a logarithmic scale; a missing bar is 0 or unavailable.",
     counters},
    {"timeline", "Windows in the order in which they were measured: drift shows here.", timeline},
    {0},
};
