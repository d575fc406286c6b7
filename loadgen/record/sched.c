/* The scheduler sampler: how long our own threads waited for a CPU, and how often they lost theirs.
 * Threads that io_uring made are not counted: iowq.c watches them. */
#include "jsontext.h"
#include "proctext.h"
#include "sampler.h"

#include "../../placement/sysroot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TASKS "/proc/self/task"

struct thread_sample {
    long tid;
    bool waits_known; /* CONFIG_SCHED_INFO */
    uint64_t run_ns, wait_ns, voluntary, involuntary;
};

struct sched_edge {
    size_t n;
    struct thread_sample *threads; /* ascending tid */
};

struct sched_sampler {
    struct sampler base;
    char reason[256];
    unsigned edges_max;
    struct sched_edge *edges;
};

static void sched_close(struct sampler *base)
{
    struct sched_sampler *s = (struct sched_sampler *)base;
    if (!s)
        return;
    for (unsigned i = 0; s->edges && i < s->edges_max; i++)
        free(s->edges[i].threads);
    free(s->edges);
    free(s);
}

static struct sampler *sched_open(const struct sample_ctx *ctx, struct err *err)
{
    struct sched_sampler *s = calloc(1, sizeof(*s));
    if (s)
        s->edges = calloc(ctx->edges_max, sizeof(*s->edges));
    if (!s || !s->edges) {
        sched_close(s ? &s->base : NULL);
        err_set(err, STATUS_FAILED, "sched sampler: out of memory");
        return NULL;
    }
    s->edges_max = ctx->edges_max;
    char **names;
    ssize_t n = sysroot_list(TASKS, &names);
    if (n < 0)
        snprintf(s->reason, sizeof(s->reason), TASKS ": %s", strerror((int)-n));
    else
        sysroot_list_free(names);
    return &s->base;
}

/* "run_ns wait_ns timeslices" */
static bool parse_schedstat(const char *text, size_t len, struct thread_sample *t)
{
    const char *p = text, *end = text + len;
    if (!text_number(&p, end, UINT64_MAX, &t->run_ns))
        return false;
    text_skip_blanks(&p, end);
    return text_number(&p, end, UINT64_MAX, &t->wait_ns);
}

static bool sample(const char *tid, struct thread_sample *t)
{
    char path[96], text[4096];
    snprintf(path, sizeof(path), TASKS "/%.20s/status", tid);
    ssize_t n = sysroot_read_into(path, text, sizeof(text));
    if (n <= 0 || strncmp(text, "Name:\tiou-", 10) == 0)
        return false;
    *t = (struct thread_sample){.tid = strtol(tid, NULL, 10)};
    if (!text_value(text, (size_t)n, "voluntary_ctxt_switches", &t->voluntary) ||
        !text_value(text, (size_t)n, "nonvoluntary_ctxt_switches", &t->involuntary))
        return false;
    snprintf(path, sizeof(path), TASKS "/%.20s/schedstat", tid);
    n = sysroot_read_into(path, text, sizeof(text));
    t->waits_known = n > 0 && parse_schedstat(text, (size_t)n, t);
    return true;
}

static void sched_settle(struct sampler *base, unsigned edge)
{
    struct sched_sampler *s = (struct sched_sampler *)base;
    char **names;
    if (s->reason[0] || edge >= s->edges_max)
        return;
    struct sched_edge *e = &s->edges[edge];
    free(e->threads);
    *e = (struct sched_edge){0};
    ssize_t n = sysroot_list(TASKS, &names);
    if (n < 0)
        return;
    e->threads = calloc((size_t)n + 1, sizeof(*e->threads));
    for (ssize_t i = 0; i < n && e->threads; i++)
        e->n += sample(names[i], &e->threads[e->n]);
    sysroot_list_free(names);
}

/* Threads that are there at both edges, summed. */
struct sched_sums {
    unsigned threads;
    bool waits_known;
    struct thread_sample sum;
    uint64_t worst_wait_ns;
    long worst_tid;
};

static void add_thread(struct sched_sums *s, const struct thread_sample *a,
                       const struct thread_sample *b)
{
    s->threads++;
    s->waits_known &= a->waits_known && b->waits_known;
    s->sum.run_ns += b->run_ns - a->run_ns;
    s->sum.wait_ns += b->wait_ns - a->wait_ns;
    s->sum.voluntary += b->voluntary - a->voluntary;
    s->sum.involuntary += b->involuntary - a->involuntary;
    if (b->wait_ns - a->wait_ns >= s->worst_wait_ns) {
        s->worst_wait_ns = b->wait_ns - a->wait_ns;
        s->worst_tid = b->tid;
    }
}

static json_t *sched_window(const struct sampler *base, unsigned from, unsigned to, json_t *notes)
{
    (void)notes;
    const struct sched_sampler *s = (const struct sched_sampler *)base;
    if (s->reason[0])
        return json_unavailable("%s", s->reason);
    const struct sched_edge *a = &s->edges[from], *b = &s->edges[to];
    struct sched_sums sums = {.waits_known = true};
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        if (a->threads[i].tid == b->threads[k].tid)
            add_thread(&sums, &a->threads[i++], &b->threads[k++]);
        else if (a->threads[i].tid < b->threads[k].tid)
            i++;
        else
            k++;
    }
    json_t *o = json_pack("{s:b, s:i, s:I, s:I}", "available", 1, "threads", (int)sums.threads,
                          "voluntary_switches", (json_int_t)sums.sum.voluntary,
                          "involuntary_switches", (json_int_t)sums.sum.involuntary);
    if (sums.waits_known) {
        json_object_set_new(o, "run_ns", json_integer((json_int_t)sums.sum.run_ns));
        json_object_set_new(o, "wait_ns", json_integer((json_int_t)sums.sum.wait_ns));
        json_object_set_new(o, "worst_wait_ns", json_integer((json_int_t)sums.worst_wait_ns));
        json_object_set_new(o, "worst_tid", json_integer(sums.worst_tid));
    } else {
        json_set_missing(o, "run_ns", "the kernel keeps no schedstat of threads");
        json_set_missing(o, "wait_ns", "the kernel keeps no schedstat of threads");
        json_set_missing(o, "worst_wait_ns", "the kernel keeps no schedstat of threads");
    }
    return o;
}

const struct sampler_ops sched_sampler = {
    .name = "sched",
    .open = sched_open,
    .settle = sched_settle,
    .window = sched_window,
    .close = sched_close,
};
