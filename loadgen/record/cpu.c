/* The CPU sampler: where the time of all CPUs went, in all and by node, from /proc/stat. */
#include "bynode.h"
#include "jsontext.h"
#include "notes.h"
#include "proctext.h"
#include "sampler.h"

#include "../../placement/kept.h"
#include "../../placement/sysroot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAT "/proc/stat"

struct cpu_sampler {
    struct sampler base;
    struct bynode nodes;
    char reason[256]; /* "" when there is something to read */
    unsigned edges_max;
    size_t raw_bytes;
    struct kept_file file;
    char *raw;
    ssize_t raw_len;
    struct cpu_times *times; /* [edge][cpu] */
    unsigned *beyond;        /* [edge]: online CPUs that the topology does not know */
    int *error;              /* [edge] */
};

static const char *const field_keys[CPU_FIELDS] = {
    [CPU_USER] = "user_percent",       [CPU_NICE] = "nice_percent",
    [CPU_SYSTEM] = "system_percent",   [CPU_IDLE] = "idle_percent",
    [CPU_IOWAIT] = "iowait_percent",   [CPU_IRQ] = "irq_percent",
    [CPU_SOFTIRQ] = "softirq_percent", [CPU_STEAL] = "steal_percent",
};

static void cpu_close(struct sampler *base)
{
    struct cpu_sampler *s = (struct cpu_sampler *)base;
    if (!s)
        return;
    kept_close(&s->file);
    free(s->raw);
    free(s->times);
    free(s->beyond);
    free(s->error);
    bynode_free(&s->nodes);
    free(s);
}

static struct sampler *cpu_open(const struct sample_ctx *ctx, struct err *err)
{
    struct cpu_sampler *s = calloc(1, sizeof(*s));
    if (!s || !bynode_init(&s->nodes, ctx->topo))
        goto no_memory;
    /* Only the lines of the CPUs are wanted: ten numbers of at most 20 digits each. What follows
     * ("intr", one number an interrupt) may be left unread. */
    s->raw_bytes = 4096 + 256 * ((size_t)ctx->topo->cpus_n + 1);
    s->edges_max = ctx->edges_max;
    s->raw = malloc(s->raw_bytes);
    s->times = calloc((size_t)ctx->edges_max * (ctx->topo->cpus_n + 1u), sizeof(*s->times));
    s->beyond = calloc(ctx->edges_max, sizeof(*s->beyond));
    s->error = calloc(ctx->edges_max, sizeof(*s->error));
    if (!s->raw || !s->times || !s->beyond || !s->error)
        goto no_memory;
    ssize_t n = kept_read_piece(&s->file, STAT, s->raw, s->raw_bytes);
    if (n < 0 && n != -EOVERFLOW) {
        snprintf(s->reason, sizeof(s->reason), STAT ": %s", strerror((int)-n));
        note_add(ctx->notes, NOTE_WARNING, "cpu", "no CPU times: %s", s->reason);
    }
    return &s->base;
no_memory:
    cpu_close(s ? &s->base : NULL);
    err_set(err, STATUS_FAILED, "cpu sampler: out of memory");
    return NULL;
}

static void cpu_read(struct sampler *base, unsigned edge)
{
    struct cpu_sampler *s = (struct cpu_sampler *)base;
    if (!s->reason[0] && edge < s->edges_max)
        s->raw_len = kept_read_piece(&s->file, STAT, s->raw, s->raw_bytes);
}

static void cpu_settle(struct sampler *base, unsigned edge)
{
    struct cpu_sampler *s = (struct cpu_sampler *)base;
    if (s->reason[0] || edge >= s->edges_max)
        return;
    ssize_t n = s->raw_len == -EOVERFLOW ? (ssize_t)s->raw_bytes - 1 : s->raw_len;
    s->error[edge] = n < 0 ? (int)n : 0;
    if (n >= 0 && !procstat_parse(s->raw, (size_t)n, s->times + (size_t)edge * s->nodes.cpus_n,
                                  s->nodes.cpus_n, &s->beyond[edge]))
        s->error[edge] = -EBADMSG;
}

static json_t *percent_object(const uint64_t *ticks, unsigned cpus)
{
    json_t *o = json_object();
    uint64_t total = 0;
    for (int f = 0; f < CPU_FIELDS; f++)
        total += ticks[f];
    json_object_set_new(o, "cpus", json_integer(cpus));
    for (int f = 0; f < CPU_FIELDS; f++)
        json_object_set_new(o, field_keys[f],
                            total ? json_real(100.0 * (double)ticks[f] / (double)total)
                                  : json_null());
    if (!total)
        json_object_set_new(o, "reason", json_string("no tick passed in the window"));
    return o;
}

/* Sums of a window by slot, and what was odd about them. */
struct cpu_sums {
    uint64_t (*ticks)[CPU_FIELDS]; /* [slot], and the whole machine behind the last */
    unsigned *cpus;
    unsigned came, went;
    unsigned clamped_idle, clamped_other;
};

static void add_cpu(struct cpu_sums *sums, unsigned slot, unsigned all, const struct cpu_times *a,
                    const struct cpu_times *b)
{
    sums->came += b->present && !a->present;
    sums->went += a->present && !b->present;
    if (!a->present || !b->present)
        return;
    sums->cpus[slot]++;
    sums->cpus[all]++;
    for (int f = 0; f < CPU_FIELDS; f++) {
        if (b->ticks[f] < a->ticks[f]) {
            /* The kernel computes idle and iowait from two clocks; they can step back. */
            bool known = f == CPU_IDLE || f == CPU_IOWAIT;
            sums->clamped_idle += known;
            sums->clamped_other += !known;
            continue;
        }
        sums->ticks[slot][f] += b->ticks[f] - a->ticks[f];
        sums->ticks[all][f] += b->ticks[f] - a->ticks[f];
    }
}

static void cpu_notes(const struct cpu_sums *sums, unsigned beyond, json_t *notes)
{
    if (sums->came || sums->went || beyond)
        note_add(notes, NOTE_INVALID, "cpu",
                 "CPUs changed during the window: %u came online, %u went offline",
                 sums->came + beyond, sums->went);
    if (sums->clamped_other)
        note_add(notes, NOTE_WARNING, "cpu",
                 "CPU times other than idle stepped back in " STAT " (%u fields counted as 0)",
                 sums->clamped_other);
}

static json_t *cpu_window(const struct sampler *base, unsigned from, unsigned to, json_t *notes)
{
    const struct cpu_sampler *s = (const struct cpu_sampler *)base;
    if (s->reason[0])
        return json_unavailable("%s", s->reason);
    int error = s->error[from] ? s->error[from] : s->error[to];
    if (error) {
        note_add(notes, NOTE_WARNING, "cpu", "no CPU times: " STAT ": %s", strerror(-error));
        return json_unavailable(STAT ": %s", strerror(-error));
    }
    unsigned all = s->nodes.n;
    struct cpu_sums sums = {.ticks = calloc(all + 1, sizeof(*sums.ticks)),
                            .cpus = calloc(all + 1, sizeof(*sums.cpus))};
    json_t *o = json_object(), *by_node = json_object();
    if (sums.ticks && sums.cpus) {
        const struct cpu_times *a = s->times + (size_t)from * s->nodes.cpus_n;
        const struct cpu_times *b = s->times + (size_t)to * s->nodes.cpus_n;
        for (unsigned cpu = 0; cpu < s->nodes.cpus_n; cpu++)
            add_cpu(&sums, bynode_slot(&s->nodes, cpu), all, a + cpu, b + cpu);
        cpu_notes(&sums, s->beyond[to] > s->beyond[from] ? s->beyond[to] - s->beyond[from] : 0,
                  notes);
        json_object_set_new(o, "available", json_true());
        json_object_set_new(o, "all", percent_object(sums.ticks[all], sums.cpus[all]));
        for (unsigned i = 0; i < all; i++) {
            char key[16];
            snprintf(key, sizeof(key), "%d", s->nodes.id[i]);
            if (sums.cpus[i])
                json_object_set_new(by_node, s->nodes.id[i] < 0 ? "unknown" : key,
                                    percent_object(sums.ticks[i], sums.cpus[i]));
        }
        json_object_set_new(o, "clamped_fields",
                            json_integer(sums.clamped_idle + sums.clamped_other));
    }
    json_object_set_new(o, "by_node", by_node);
    free(sums.ticks);
    free(sums.cpus);
    return o;
}

const struct sampler_ops cpu_sampler = {
    .name = "cpu",
    .open = cpu_open,
    .read = cpu_read,
    .settle = cpu_settle,
    .window = cpu_window,
    .close = cpu_close,
};
