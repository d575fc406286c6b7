/* One run for people. With several windows the details are those of the window with the median
 * throughput: figures of two windows are never mixed in one table. */
#include "fmt.h"
#include "report.h"
#include "text.h"
#include "view.h"

#include "../record/derived.h"

#include <string.h>

#define IRQ_ROWS 8
#define NODES_MAX 1024

static void say_outstanding(FILE *out, const json_t *record)
{
    json_int_t ios, threads = 0;
    double age_ns = 0;
    const json_t *o = json_object_get(record, "outstanding");
    if (!view_integer(o, "ios", &ios))
        return;
    view_integer(o, "threads", &threads);
    view_number(o, "oldest_age_ns", &age_ns);
    char text[256];
    snprintf(text, sizeof(text), "%s I/Os of %s threads never came back, the oldest after %s",
             fmt_count(ios).s, fmt_count(threads).s, fmt_ns(age_ns).s);
    fmt_wrapped(out, 4, "!! outstanding: ", text);
}

static void title(FILE *out, const json_t *record)
{
    const char *verdict = text_verdict(record);
    char name[48];
    snprintf(name, sizeof(name), "numaload: %.36s", view_name(record).s);
    fprintf(out, "%-51s %20s\n", name, fmt_word(view_text(record, "started_at", ""), 20).s);
    if (verdict)
        fprintf(out, "\n*** %s ***\n", verdict);
    say_outstanding(out, record);
    text_notes(out, record, "error", "!! ");
    text_notes(out, record, "invalid", "!! ");
    text_notes(out, record, "warning", "!  ");
    fprintf(out, "\n");
}

static void say_load(FILE *out, const json_t *record)
{
    const json_t *p = json_object_get(record, "profile");
    json_int_t threads = 0, depth = 0, block = 0;
    double window_ns = 0;
    view_integer(p, "threads", &threads);
    view_integer(p, "iodepth", &depth);
    view_integer(p, "block_bytes", &block);
    view_number(p, "window_ns", &window_ns);
    char text[512];
    const char *cache = json_is_true(json_object_get(p, "direct")) ? ", O_DIRECT" : ", buffered";
    if (json_object_get(json_object_get(record, "engine"), "transport"))
        cache = ""; /* its own client: no page cache of this machine on the way */
    bool once = json_is_true(json_object_get(p, "once")) ||
                json_integer_value(json_object_get(p, "amount_bytes")) > 0;
    const char *rw = view_text(p, "rw", "read");
    bool plain = strcmp(rw, "read") == 0;
    snprintf(text, sizeof(text), "%.16s%s%lld threads x iodepth %lld x %s, %.16s%s, %s%s",
             plain ? "" : rw, plain ? "" : ", ", (long long)threads, (long long)depth,
             fmt_bytes(block).s, view_text(record, "engine.name", view_text(p, "engine", "?")),
             cache, once ? "an amount" : "window ", once ? "" : fmt_ns(window_ns).s);
    fmt_wrapped(out, 11, "load       ", text);
    const json_t *files = json_object_get(record, "files");
    for (size_t i = 0; i < json_array_size(files) && i < 4; i++) {
        const json_t *f = json_array_get(files, i);
        json_int_t bytes = 0;
        view_integer(f, "bytes", &bytes);
        snprintf(text, sizeof(text), "%.300s, %s, %.32s", view_text(f, "path", "?"),
                 fmt_bytes(bytes).s, view_text(f, "filesystem", "?"));
        fmt_wrapped(out, 11, "file       ", text);
    }
    if (json_array_size(files) > 4)
        fprintf(out, "           and %zu files more\n", json_array_size(files) - 4);
}

static void say_setup(FILE *out, const json_t *record)
{
    double ready_ns, fault_in_ns, first_ns;
    char text[160];
    if (!view_number(record, "setup.launch_to_ready_ns", &ready_ns))
        return;
    int n = snprintf(text, sizeof(text), "%s", fmt_ns(ready_ns).s);
    if (view_number(record, "buffers.fault_in_ns", &fault_in_ns))
        n += snprintf(text + n, sizeof(text) - (size_t)n, ": buffers %s", fmt_ns(fault_in_ns).s);
    if (view_number(record, "setup.ready_to_first_io_ns", &first_ns))
        snprintf(text + n, sizeof(text) - (size_t)n, "; first I/O %s later", fmt_ns(first_ns).s);
    fmt_wrapped(out, 11, "start-up   ", text);
}

static void say_host(FILE *out, const json_t *record)
{
    const json_t *h = json_object_get(record, "host");
    json_int_t sockets, cores, threads;
    double uptime_s;
    char text[512];
    int n = snprintf(text, sizeof(text), "%.64s, kernel %.64s",
                     view_text(h, "cpu_model", "unknown CPU"),
                     view_text(h, "kernel_release", "unknown"));
    if (view_integer(h, "sockets", &sockets) && view_integer(h, "cores", &cores) &&
        view_integer(h, "threads", &threads))
        n += snprintf(text + n, sizeof(text) - (size_t)n, ", %lld socket%s, %lld cores, %lld CPUs",
                      (long long)sockets, sockets == 1 ? "" : "s", (long long)cores,
                      (long long)threads);
    if (view_number(h, "uptime_s", &uptime_s))
        snprintf(text + n, sizeof(text) - (size_t)n, ", up %.1f %s",
                 uptime_s < 7200 ? uptime_s / 60 : uptime_s / 3600, uptime_s < 7200 ? "min" : "h");
    fmt_wrapped(out, 11, "machine    ", text);
}

static void say_placement(FILE *out, const json_t *window)
{
    const json_t *levers = json_object_get(window, "placement");
    for (size_t i = 0; i < json_array_size(levers); i++) {
        const json_t *l = json_array_get(levers, i);
        const json_t *reached = json_object_get(l, "reached");
        char text[1200], head[72];
        int n = snprintf(text, sizeof(text), "asked %.200s", view_text(l, "asked", "nothing"));
        const char *applied = view_text(l, "applied", NULL), *seen = view_text(l, "observed", NULL);
        const char *reason = view_text(l, "reason", NULL);
        if ((!seen || !*seen) && !json_is_boolean(reached) && !applied)
            continue; /* not asked for, and nothing to see */
        if (applied)
            n += snprintf(text + n, sizeof(text) - (size_t)n, "; applied %.250s", applied);
        n += snprintf(text + n, sizeof(text) - (size_t)n, "; observed %.250s",
                      seen ? seen : "unavailable");
        if (json_is_boolean(reached))
            n += snprintf(text + n, sizeof(text) - (size_t)n, ": %s",
                          json_is_true(reached) ? "reached" : "NOT REACHED");
        if (reason)
            snprintf(text + n, sizeof(text) - (size_t)n, " (%.300s)", reason);
        snprintf(head, sizeof(head), "%-10s ", fmt_word(view_text(l, "lever", "?"), 20).s);
        fmt_wrapped(out, 11, head, text);
    }
}

static void say_windows(FILE *out, const json_t *record, const json_t *median)
{
    const json_t *windows = json_object_get(record, "windows");
    if (json_array_size(windows) < 2)
        return;
    text_heading(out, "Windows");
    for (size_t i = 0; i < json_array_size(windows); i++) {
        const json_t *w = json_array_get(windows, i);
        double rate, p99;
        char line[128];
        bool known = view_number(w, "throughput.bytes_per_s", &rate);
        int n = snprintf(line, sizeof(line), "%3zu  %s", i + 1,
                         known ? fmt_rate(rate).s : "unavailable");
        if (view_number(w, "latency.p99_ns", &p99))
            n += snprintf(line + n, sizeof(line) - (size_t)n, ", p99 %s", fmt_ns(p99).s);
        fprintf(out, "%s%s%s%s\n", line,
                json_is_true(json_object_get(w, "cut_short")) ? " CUT SHORT" : "",
                json_is_true(json_object_get(w, "valid")) ? "" : " INVALID",
                w == median ? " <- median" : "");
    }
    fprintf(out, "What follows is the window marked as median.\n");
}

static void say_latency(FILE *out, const json_t *window)
{
    static const struct {
        const char *key, *name;
    } points[] = {{"min_ns", "min"},       {"mean_ns", "mean"}, {"p50_ns", "p50"},
                  {"p90_ns", "p90"},       {"p99_ns", "p99"},   {"p99_9_ns", "p99.9"},
                  {"p99_99_ns", "p99.99"}, {"max_ns", "max"}};
    const json_t *latency = json_object_get(window, "latency");
    char text[512] = "";
    size_t n = 0;
    for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++) {
        double ns;
        if (view_number(latency, points[i].key, &ns))
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %s", n ? ", " : "",
                                  points[i].name, fmt_ns(ns).s);
    }
    if (n == 0)
        snprintf(text, sizeof(text), "unavailable: %.300s",
                 view_text(latency, "reason", "not recorded"));
    fmt_wrapped(out, 11, "latency    ", text);
}

/* Whether the load was what was asked for: the depth that was reached, and what a submit cost. */
static void say_submission(FILE *out, const json_t *window)
{
    double depth, submit_ns, unreaped_ns;
    json_int_t submits = 0, requests = 0;
    const json_t *o = json_object_get(window, "submission");
    if (!view_number(o, "mean_outstanding_per_thread", &depth) ||
        !view_integer(o, "submits", &submits) || submits <= 0)
        return;
    char text[256];
    int n = snprintf(text, sizeof(text), "%s I/Os outstanding a thread on average",
                     fmt_figure(depth).s);
    if (view_number(o, "submit_ns", &submit_ns))
        n += snprintf(text + n, sizeof(text) - (size_t)n, "; a submit took %s",
                      fmt_ns(submit_ns / (double)submits).s);
    if (view_number(o, "unreaped_ns", &unreaped_ns) && unreaped_ns > 0 &&
        view_integer(o, "requests", &requests) && requests > 0)
        snprintf(text + n, sizeof(text) - (size_t)n, "; a completion waited at most %s to be taken",
                 fmt_ns(unreaped_ns / (double)requests).s);
    fmt_wrapped(out, 11, "depth      ", text);
}

/* Waiting for a CPU is time that neither the kernel's locks nor the network explain. */
static void say_sched(FILE *out, const json_t *window)
{
    double wait_ns, run_ns, span_ns = derived_span_ns(window, "sched");
    json_int_t threads = 0, switches = 0;
    const json_t *o = json_object_get(window, "sched");
    if (!view_number(o, "wait_ns", &wait_ns) || !view_number(o, "run_ns", &run_ns) ||
        !view_integer(o, "threads", &threads) || threads <= 0 || span_ns <= 0)
        return;
    double all = span_ns * (double)threads / 100;
    char text[512];
    int n = snprintf(text, sizeof(text), "threads ran %s %% and waited for a CPU %s %% of the time",
                     fmt_percent(run_ns / all).s, fmt_percent(wait_ns / all).s);
    if (view_integer(o, "involuntary_switches", &switches))
        snprintf(text + n, sizeof(text) - (size_t)n, ", %s involuntary switches",
                 fmt_count(switches).s);
    fmt_wrapped(out, 11, "scheduling ", text);
}

/* A run with an amount: the aggregate when the first and when the last thread had done its part. */
static void say_done(FILE *out, const json_t *window, const char *key, const char *head)
{
    char path[64], text[256];
    double ns, bytes, rate;
    snprintf(path, sizeof(path), "amount.%s", key);
    const json_t *o = view_at(window, path);
    if (!view_number(o, "ns", &ns) || !view_number(o, "bytes", &bytes) ||
        !view_number(o, "bytes_per_s", &rate))
        return;
    snprintf(text, sizeof(text), "after %s: %s moved, %s", fmt_ns(ns).s,
             fmt_bytes((json_int_t)bytes).s, fmt_rate(rate).s);
    fmt_wrapped(out, 11, head, text);
}

static void say_verify(FILE *out, const json_t *record)
{
    json_int_t checked, wrong;
    const json_t *o = json_object_get(record, "verify");
    char text[256];
    if (!view_integer(o, "blocks_checked", &checked) || !view_integer(o, "blocks_wrong", &wrong))
        return;
    snprintf(text, sizeof(text), "%s blocks checked in the whole run, %s wrong",
             fmt_count(checked).s, fmt_count(wrong).s);
    fmt_wrapped(out, 11, "verify     ", text);
}

static void say_throughput(FILE *out, const json_t *record, const json_t *window)
{
    double rate, ios, seconds;
    char text[512];
    text_heading(out, "Throughput");
    if (!view_number(window, "throughput.bytes_per_s", &rate)) {
        fprintf(out, "unavailable: not recorded\n");
        return;
    }
    int n = snprintf(text, sizeof(text), "%s", fmt_rate(rate).s);
    if (view_number(window, "throughput.ios_per_s", &ios))
        n += snprintf(text + n, sizeof(text) - (size_t)n, ", %s I/Os per s", fmt_figure(ios).s);
    if (view_number(window, "window_ns", &seconds))
        snprintf(text + n, sizeof(text) - (size_t)n, ", over %s", fmt_ns(seconds).s);
    fmt_wrapped(out, 11, "all        ", text);
    double slow, fast;
    json_int_t idle = 0, slow_id = 0, fast_id = 0;
    const json_t *t = json_object_get(window, "threads");
    if (view_number(t, "slowest.bytes_per_s", &slow) &&
        view_number(t, "fastest.bytes_per_s", &fast)) {
        view_integer(t, "slowest.thread", &slow_id);
        view_integer(t, "fastest.thread", &fast_id);
        snprintf(text, sizeof(text), "slowest %s (number %lld), fastest %s (number %lld)",
                 fmt_rate(slow).s, (long long)slow_id, fmt_rate(fast).s, (long long)fast_id);
        fmt_wrapped(out, 11, "threads    ", text);
    }
    if (view_integer(t, "without_io", &idle) && idle > 0)
        fprintf(out, "           %lld threads WITHOUT ANY I/O\n", (long long)idle);
    say_done(out, window, "first_done", "first done ");
    say_done(out, window, "last_done", "last done  ");
    say_verify(out, record);
    say_sched(out, window);
    say_submission(out, window);
    say_latency(out, window);
}

/* Nice time is user time of polite processes: one column for both. */
static void cpu_row(FILE *out, const char *name, const json_t *o)
{
    static const char *const keys[][2] = {{"idle_percent"},    {"user_percent", "nice_percent"},
                                          {"system_percent"},  {"irq_percent"},
                                          {"softirq_percent"}, {"iowait_percent"},
                                          {"steal_percent"}};
    fprintf(out, "%-12.12s", name);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        double v, nice = 0;
        if (keys[i][1])
            view_number(o, keys[i][1], &nice);
        fprintf(out, " %7s", view_number(o, keys[i][0], &v) ? fmt_percent(v + nice).s : "-");
    }
    fprintf(out, "\n");
}

static void say_cpu(FILE *out, const json_t *window)
{
    const json_t *cpu = json_object_get(window, "cpu");
    text_heading(out, "CPU time, %");
    if (!json_is_true(json_object_get(cpu, "available"))) {
        fmt_wrapped(out, 6, "unavailable: ", view_text(cpu, "reason", "not recorded"));
        return;
    }
    fprintf(out, "%-12s %7s %7s %7s %7s %7s %7s %7s\n", "", "idle", "user", "system", "irq",
            "softirq", "iowait", "steal");
    cpu_row(out, "all", json_object_get(cpu, "all"));
    const char *node;
    json_t *o;
    json_object_foreach((json_t *)json_object_get(cpu, "by_node"), node, o)
    {
        cpu_row(out, text_node_name(node).s, o);
    }
}

static void irq_row(FILE *out, const char *irq, const char *text, const json_t *row,
                    const char **nodes, size_t n)
{
    char clean[80];
    fprintf(out, "%-6s", fmt_word(irq, 6).s);
    json_int_t value;
    if (view_integer(row, "total", &value))
        fprintf(out, " %11s", fmt_cell(value, 11).s);
    else
        fprintf(out, " %11s", "reset");
    for (size_t k = 0; k < n; k++) {
        if (view_integer(json_object_get(row, "by_node"), nodes[k], &value))
            fprintf(out, " %11s", fmt_cell(value, 11).s);
        else
            fprintf(out, " %11s", "-");
    }
    fmt_ascii(clean, sizeof(clean), text);
    fprintf(out, "%s%.*s\n", *clean ? "  " : "", (int)(52 - 12 * n), clean);
}

static void say_irq(FILE *out, const json_t *window)
{
    const json_t *irq = json_object_get(window, "irq");
    text_heading(out, "Interrupts");
    if (!json_is_true(json_object_get(irq, "available"))) {
        fmt_wrapped(out, 6, "unavailable: ", view_text(irq, "reason", "not recorded"));
        return;
    }
    const char *nodes[NODES_MAX];
    size_t n = text_nodes(json_object_get(irq, "by_node"), nodes, NODES_MAX);
    if (n > 2) { /* by node one line each: they do not fit as columns */
        for (size_t k = 0; k < n; k++) {
            json_int_t value = 0;
            view_integer(json_object_get(irq, "by_node"), nodes[k], &value);
            fprintf(out, "%-11s %11s\n", text_node_name(nodes[k]).s, fmt_count(value).s);
        }
        n = 0;
    }
    fprintf(out, "%-6s %11s", "irq", "total");
    for (size_t k = 0; k < n; k++)
        fprintf(out, " %11s", text_node_name(nodes[k]).s);
    fprintf(out, "\n");
    irq_row(out, "all", "", irq, nodes, n);
    const json_t *rows = json_object_get(irq, "rows");
    for (size_t i = 0; i < json_array_size(rows) && i < IRQ_ROWS; i++) {
        const json_t *row = json_array_get(rows, i);
        irq_row(out, view_text(row, "irq", "?"), view_text(row, "text", ""), row, nodes, n);
    }
    if (json_array_size(rows) > IRQ_ROWS)
        fprintf(out, "and %zu rows more in the record\n", json_array_size(rows) - IRQ_ROWS);
}

static void say_iowq(FILE *out, const json_t *window)
{
    const json_t *q = json_object_get(window, "iowq");
    json_int_t workers = 0, cpu_ms = 0;
    if (!view_integer(q, "workers_seen", &workers) || workers == 0)
        return;
    view_integer(q, "cpu_ms", &cpu_ms);
    char text[512];
    int n = snprintf(text, sizeof(text), "%lld io-wq workers did I/O on CPUs %.100s",
                     (long long)workers, view_text(q, "cpus", "?"));
    const char *node;
    json_t *count;
    json_object_foreach((json_t *)json_object_get(q, "by_node"), node, count)
    {
        if ((size_t)n + 64 < sizeof(text))
            n += snprintf(text + n, sizeof(text) - (size_t)n, ", node%.16s %s sightings", node,
                          fmt_count(json_integer_value(count)).s);
    }
    snprintf(text + n, sizeof(text) - (size_t)n, ", %s ms of CPU time", fmt_count(cpu_ms).s);
    text_heading(out, "io_uring workers");
    fmt_wrapped(out, 0, "", text);
}

static void say_nfs(FILE *out, const json_t *window)
{
    const json_t *nfs = json_object_get(window, "nfs");
    json_int_t reads = 0, sent = 0, rsize = 0;
    double rtt, exec;
    if (!json_is_true(json_object_get(nfs, "available")))
        return;
    view_integer(nfs, "read.operations", &reads);
    view_integer(nfs, "read.transmissions", &sent);
    view_integer(nfs, "rsize_bytes", &rsize);
    char text[512];
    size_t mounts = json_array_size(json_object_get(nfs, "mounts"));
    int n = mounts ? snprintf(text, sizeof(text), "%zu mounts, ", mounts) : 0;
    n += snprintf(
        text + n, sizeof(text) - (size_t)n,
        "version %.8s, %.8s, rsize %s, %zu connection%s; %s READs", view_text(nfs, "vers", "?"),
        view_text(nfs, "protocol", "?"), rsize ? fmt_bytes(rsize).s : "?",
        json_array_size(json_object_get(nfs, "connections")),
        json_array_size(json_object_get(nfs, "connections")) == 1 ? "" : "s", fmt_count(reads).s);
    n += snprintf(text + n, sizeof(text) - (size_t)n, ", %s sent again", fmt_count(sent - reads).s);
    if (view_number(nfs, "read.mean_rtt_ms", &rtt) &&
        view_number(nfs, "read.mean_execute_ms", &exec))
        snprintf(text + n, sizeof(text) - (size_t)n, "; on average %s on the wire, %s in all",
                 fmt_ns(rtt * 1e6).s, fmt_ns(exec * 1e6).s);
    text_heading(out, "NFS client");
    fmt_wrapped(out, 0, "", text);
}

static void say_cost(FILE *out, const json_t *window)
{
    double cpu_ns, window_ns;
    if (!view_number(window, "sampling.cpu_ns", &cpu_ns) ||
        !view_number(window, "window_ns", &window_ns) || window_ns <= 0)
        return;
    fprintf(out, "\nThe sampler itself used %s of CPU time (%s %% of one CPU).\n", fmt_ns(cpu_ns).s,
            fmt_figure(100 * cpu_ns / window_ns).s);
}

bool report_run_text(FILE *out, const json_t *record, struct err *err)
{
    const json_t *window = view_median_window(record, NULL);
    title(out, record);
    say_load(out, record);
    say_setup(out, record);
    say_host(out, record);
    if (!window) {
        fprintf(out, "\nNo window was measured.\n");
        text_notes(out, record, "info", "   ");
        return text_finish(out, err);
    }
    say_placement(out, window);
    say_windows(out, record, window);
    say_throughput(out, record, window);
    text_completions(out, window);
    say_cpu(out, window);
    text_counters(out, window);
    text_checks(out, record, window);
    say_nfs(out, window);
    say_irq(out, window);
    say_iowq(out, window);
    say_cost(out, window);
    text_notes(out, record, "info", "   ");
    return text_finish(out, err);
}
