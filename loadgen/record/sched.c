/* The scheduler sampler: how long our own threads waited for a CPU, and how often they lost theirs.
 * Threads that io_uring made are not counted: iowq.c watches them. */
#include "jsontext.h"
#include "proctext.h"
#include "sampler.h"
#include "tasks.h"

#include "../../placement/kept.h"
#include "../../placement/sysroot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct thread {
    long tid;
    bool ours; /* not one of io_uring's */
    struct kept_file schedstat, status;
};

struct thread_sample {
    long tid;
    bool waits_known; /* CONFIG_SCHED_INFO */
    uint64_t run_ns, wait_ns;
    uint64_t voluntary, involuntary; /* where switches_known says so */
};

struct sched_edge {
    size_t n;
    struct thread_sample *threads;   /* ascending tid */
    bool switches_known;             /* of each thread */
    bool strangers;                  /* io_uring's threads are or were there */
    uint64_t voluntary, involuntary; /* of the whole process, ended threads too */
};

struct sched_sampler {
    struct sampler base;
    char reason[256];
    unsigned edges_max;
    struct sched_edge *edges;
    struct task_list list;
    struct thread *threads; /* ascending tid */
    size_t n;
    bool strangers;
};

static void thread_close(struct thread *t)
{
    kept_close(&t->schedstat);
    kept_close(&t->status);
}

static void sched_close(struct sampler *base)
{
    struct sched_sampler *s = (struct sched_sampler *)base;
    if (!s)
        return;
    for (unsigned i = 0; s->edges && i < s->edges_max; i++)
        free(s->edges[i].threads);
    for (size_t i = 0; i < s->n; i++)
        thread_close(&s->threads[i]);
    task_list_close(&s->list);
    free(s->threads);
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
    int error = task_list_open(&s->list);
    if (error)
        snprintf(s->reason, sizeof(s->reason), TASKS ": %s", strerror(-error));
    return &s->base;
}

/* ---- one thread ---- */

static ssize_t read_file(struct kept_file *f, long tid, const char *name, char *text, size_t cap)
{
    char path[96];
    snprintf(path, sizeof(path), TASKS "/%ld/%s", tid, name);
    return kept_read_piece(f, path, text, cap);
}

static bool read_status(struct thread *t, struct thread_sample *out)
{
    char text[4096];
    ssize_t n = read_file(&t->status, t->tid, "status", text, sizeof(text));
    return n > 0 && text_value(text, (size_t)n, "voluntary_ctxt_switches", &out->voluntary) &&
           text_value(text, (size_t)n, "nonvoluntary_ctxt_switches", &out->involuntary);
}

/* "run_ns wait_ns timeslices" */
static bool read_schedstat(struct thread *t, struct thread_sample *out)
{
    char text[128];
    ssize_t n = read_file(&t->schedstat, t->tid, "schedstat", text, sizeof(text));
    if (n <= 0)
        return false;
    const char *p = text, *end = text + n;
    if (!text_number(&p, end, UINT64_MAX, &out->run_ns))
        return false;
    text_skip_blanks(&p, end);
    return text_number(&p, end, UINT64_MAX, &out->wait_ns);
}

static struct thread thread_new(long tid)
{
    struct kept_file once = {0};
    struct thread t = {.tid = tid};
    char text[4096];
    ssize_t n = read_file(&once, tid, "status", text, sizeof(text));
    kept_close(&once);
    t.ours = n > 0 && strncmp(text, "Name:\tiou-", 10) != 0;
    return t;
}

/* ---- all of them ---- */

static bool merge_threads(struct sched_sampler *s)
{
    struct thread *now = calloc(s->list.n + 1, sizeof(*now));
    if (!now)
        return false;
    size_t old = 0;
    for (size_t i = 0; i < s->list.n; i++) {
        for (; old < s->n && s->threads[old].tid < s->list.tids[i]; old++)
            thread_close(&s->threads[old]);
        bool known = old < s->n && s->threads[old].tid == s->list.tids[i];
        now[i] = known ? s->threads[old++] : thread_new(s->list.tids[i]);
        s->strangers |= !now[i].ours;
    }
    for (; old < s->n; old++)
        thread_close(&s->threads[old]);
    free(s->threads);
    s->threads = now;
    s->n = s->list.n;
    return true;
}

/* A thread's status takes the kernel longer than all the rest. One call has the switches of the
 * whole process, which are those of our threads as long as io_uring made none. The first edge has
 * both, for a run in which it will. */
static void sched_settle(struct sampler *base, unsigned edge)
{
    struct sched_sampler *s = (struct sched_sampler *)base;
    if (s->reason[0] || edge >= s->edges_max)
        return;
    if (task_list_refresh(&s->list) && !merge_threads(s))
        task_list_doubt(&s->list);
    struct sched_edge *e = &s->edges[edge];
    free(e->threads);
    *e = (struct sched_edge){.threads = calloc(s->n + 1, sizeof(*e->threads)),
                             .switches_known = !sysroot_live() || s->strangers || edge == 0,
                             .strangers = s->strangers};
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        e->voluntary = (uint64_t)usage.ru_nvcsw;
        e->involuntary = (uint64_t)usage.ru_nivcsw;
    }
    for (size_t i = 0; i < s->n && e->threads; i++) {
        struct thread *t = &s->threads[i];
        struct thread_sample sample = {.tid = t->tid};
        if (!t->ours)
            continue;
        sample.waits_known = read_schedstat(t, &sample);
        if (!sample.waits_known)
            task_list_doubt(&s->list);
        bool ask = e->switches_known || !sample.waits_known;
        if (!ask || read_status(t, &sample))
            e->threads[e->n++] = sample;
    }
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

static void put_switches(json_t *o, const struct sched_edge *a, const struct sched_edge *b,
                         const struct sched_sums *sums)
{
    uint64_t voluntary = sums->sum.voluntary, involuntary = sums->sum.involuntary;
    if (!a->switches_known || !b->switches_known) {
        if (b->strangers) {
            static const char why[] = "threads of io_uring began in this window";
            json_set_missing(o, "voluntary_switches", "%s", why);
            json_set_missing(o, "involuntary_switches", "%s", why);
            return;
        }
        voluntary = b->voluntary - a->voluntary;
        involuntary = b->involuntary - a->involuntary;
    }
    json_object_set_new(o, "voluntary_switches", json_integer((json_int_t)voluntary));
    json_object_set_new(o, "involuntary_switches", json_integer((json_int_t)involuntary));
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
    json_t *o = json_pack("{s:b, s:i}", "available", 1, "threads", (int)sums.threads);
    put_switches(o, a, b, &sums);
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
