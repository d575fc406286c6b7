#include "live_paint.h"

#include "../../placement/text.h"
#include "live.h"
#include "live_screen.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Columns of one counter: name, blank, eleven digits with their commas, gap. */
#define COUNTER_COLUMNS 38

struct page {
    char **lines;
    size_t n, max;
};

static void add(struct page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct page *p, const char *fmt, ...)
{
    char buf[1024];
    if (p->n == p->max)
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf, sizeof(buf), fmt, ap);
    va_end(ap);
    char *line = strdup(buf);
    if (line)
        p->lines[p->n++] = line;
}

/* "12,345,678", rounded. */
static const char *thousands(double value, char buf[32])
{
    char digits[32];
    int n = snprintf(digits, sizeof(digits), "%.0f", value), out = 0;
    for (int i = 0; i < n && out < 30; i++) {
        if (i && (n - i) % 3 == 0)
            buf[out++] = ',';
        buf[out++] = digits[i];
    }
    buf[out] = '\0';
    return buf;
}

static const char *latency(uint64_t ns, char *buf, size_t cap)
{
    if (!ns)
        snprintf(buf, cap, "-");
    else if (ns < 1000000)
        snprintf(buf, cap, "%.1f us", (double)ns / 1e3);
    else if (ns < UINT64_C(10000000000))
        snprintf(buf, cap, "%.2f ms", (double)ns / 1e6);
    else
        snprintf(buf, cap, "%.1f s", (double)ns / 1e9);
    return buf;
}

static void add_load(struct page *page, const struct live_rates *r)
{
    char a[32], b[32];
    add(page, "%-12s %8.3f GB/s  %12s I/O/s", "throughput", r->bytes_per_s / 1e9,
        thousands(r->ios_per_s, a));
    add(page, "%-12s p50 %-12s p99 %s", "latency", latency(r->p50_ns, a, sizeof(a)),
        latency(r->p99_ns, b, sizeof(b)));
}

static void add_nodes(struct page *page, const struct live_meter *m)
{
    const struct topo *t = m->sources.topo;
    for (unsigned n = 0; n < t->nodes_n; n++) {
        char name[16], irqs[32] = "-";
        snprintf(name, sizeof(name), "node%d", t->nodes[n].id);
        if (m->sources.interrupts_known)
            thousands(m->node_interrupts_per_s[n], irqs);
        add(page, "  %-10s %8.3f GB/s  %12s irq/s", name, m->node_bytes_per_s[n] / 1e9, irqs);
    }
}

static void add_threads(struct page *page, const struct live_rates *r)
{
    static const char *const names[] = {
        [WORKER_SETUP] = "setting up", [WORKER_READY] = "ready",   [WORKER_RUNNING] = "running",
        [WORKER_DONE] = "done",        [WORKER_FAILED] = "failed",
    };
    char *states = NULL, age[32];
    for (int s = 0; s <= WORKER_FAILED; s++)
        if (r->states[s])
            text_append(&states, "%s%u %s", states ? ", " : "", r->states[s], names[s]);
    add(page, "%-12s %s", "threads", states ? states : "-");
    free(states);
    add(page, "  slowest %u: %.3f GB/s, fastest %u: %.3f GB/s", r->slowest,
        r->slowest_bytes_per_s / 1e9, r->fastest, r->fastest_bytes_per_s / 1e9);
    add(page, "%-12s %" PRIu64 " I/Os, the oldest for %s", "outstanding", r->outstanding,
        latency(r->oldest_ns, age, sizeof(age)));
}

/* Those that moved, in as many columns as fit. */
static void add_counters(struct page *page, const struct live_meter *m, const char *slab,
                         unsigned columns)
{
    unsigned across = columns > COUNTER_COLUMNS ? columns / COUNTER_COLUMNS : 1, at = 0;
    char *line = NULL;
    if (!m->sources.counters_n) {
        add(page, "%s: no statistics here (CONFIG_SLUB_STATS, root)", slab);
        return;
    }
    add(page, "%s, a second", slab);
    for (size_t i = 0; i < m->sources.counters_n; i++) {
        char value[32];
        if (m->counter_per_s[i] <= 0)
            continue;
        text_append(&line, "  %-20.20s %12s  ", m->sources.names[i],
                    thousands(m->counter_per_s[i], value));
        if (++at % across == 0 && line) {
            add(page, "%s", line);
            free(line);
            line = NULL;
        }
    }
    if (line)
        add(page, "%s", line);
    else if (!at)
        add(page, "  none moved");
    free(line);
}

size_t live_paint_lines(const struct live_meter *m, const struct profile *p, const char *status,
                        const char *message, unsigned columns, unsigned rows, char **lines)
{
    /* A message is worth the last row, however small the screen. */
    struct page page = {.lines = lines, .max = *message && rows > 1 ? rows - 1 : rows};
    char block[32];
    add(&page, "numaload: %s, %" PRIu64 " threads x %" PRIu64 " x %s, cpus %s, cq %s", p->engine,
        p->threads, p->iodepth, format_size(p->block_bytes, block, sizeof(block)), p->cpus, p->cq);
    add(&page, "%s", status);
    if (rows >= 20)
        add(&page, "%s", "");
    add_load(&page, &m->rates);
    add_nodes(&page, m);
    add_threads(&page, &m->rates);
    if (rows >= 20)
        add(&page, "%s", "");
    add_counters(&page, m, p->slab ? p->slab : "slab", columns);
    page.max = rows;
    if (*message)
        add(&page, "%s", message);
    return page.n;
}

void live_paint(const struct live_meter *m, const struct profile *p)
{
    unsigned columns, rows;
    char status[256], message[256];
    live_screen_size(&columns, &rows);
    char **lines = calloc(rows, sizeof(*lines));
    if (!lines)
        return;
    live_texts(status, sizeof(status), message, sizeof(message));
    size_t n = live_paint_lines(m, p, status, message, columns, rows, lines);
    live_screen_draw(lines, n);
    for (size_t i = 0; i < n; i++)
        free(lines[i]);
    free(lines);
}
