/* The scheduler sampler: how long our own threads waited for a CPU, and how often they lost theirs.
 * Threads that io_uring made are not counted: iowq.c watches them. */
#include "jsontext.h"
#include "proctext.h"
#include "sampler.h"
#include "tasks.h"

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

/* Small: there is one a thread and edge, and memory that is touched first costs a page fault. */
struct thread_sample {
    pid_t tid;
    uint64_t run_ns, wait_ns; /* NOT_KNOWN without CONFIG_SCHED_INFO */
};
#define NOT_KNOWN UINT64_MAX

struct switches {
    uint64_t voluntary, involuntary;
};

struct sched_edge {
    size_t n;
    struct thread_sample *threads; /* ascending tid */
    struct switches *of_threads;   /* NULL: not known of each thread */
    struct switches of_process;    /* of the whole process, ended threads too */
    bool strangers;                /* io_uring's threads are or were there */
};

struct sched_sampler {
    struct sampler base;
    char reason[256];
    unsigned edges_max;
    struct sched_edge *edges;
    struct task_list list;
    struct task_set threads; /* of struct thread */
    bool strangers;
};

static const struct task_kind thread_kind;

static void sched_close(struct sampler *base)
{
    struct sched_sampler *s = (struct sched_sampler *)base;
    if (!s)
        return;
    for (unsigned i = 0; s->edges && i < s->edges_max; i++) {
        free(s->edges[i].threads);
        free(s->edges[i].of_threads);
    }
    task_set_free(&s->threads, &thread_kind, s);
    task_list_close(&s->list);
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

static bool read_status(struct thread *t, struct switches *out)
{
    char text[4096];
    ssize_t n = task_read(&t->status, TASKS, t->tid, "status", text, sizeof(text));
    return n > 0 && text_value(text, (size_t)n, "voluntary_ctxt_switches", &out->voluntary) &&
           text_value(text, (size_t)n, "nonvoluntary_ctxt_switches", &out->involuntary);
}

static bool read_schedstat(struct thread *t, struct thread_sample *out)
{
    char text[128];
    ssize_t n = task_read(&t->schedstat, TASKS, t->tid, "schedstat", text, sizeof(text));
    return n > 0 && schedstat_parse(text, (size_t)n, &out->run_ns, &out->wait_ns);
}

static bool thread_meet(void *owner, void *task)
{
    struct sched_sampler *s = owner;
    struct thread *t = task;
    struct kept_file once = {0};
    char text[4096];
    ssize_t n = task_read(&once, TASKS, t->tid, "status", text, sizeof(text));
    kept_close(&once);
    t->ours = n > 0 && strncmp(text, "Name:\tiou-", 10) != 0;
    s->strangers |= !t->ours;
    return true;
}

static void thread_gone(void *owner, void *task)
{
    (void)owner;
    struct thread *t = task;
    kept_close(&t->schedstat);
    kept_close(&t->status);
}

static const struct task_kind thread_kind = {
    .bytes = sizeof(struct thread),
    .meet = thread_meet,
    .gone = thread_gone,
};

/* ---- all of them ---- */

/* A thread's status takes the kernel longer than all the rest. One call has the switches of the
 * whole process, which are those of our threads as long as io_uring made none. The first edge has
 * both, for a run in which it will. */
static void sched_settle(struct sampler *base, unsigned edge)
{
    struct sched_sampler *s = (struct sched_sampler *)base;
    if (s->reason[0] || edge >= s->edges_max)
        return;
    if (task_list_refresh(&s->list) &&
        !task_set_update(&s->threads, &thread_kind, s, s->list.tids.all, s->list.tids.n))
        task_list_doubt(&s->list);
    struct sched_edge *e = &s->edges[edge];
    const bool ask = !sysroot_live() || s->strangers || edge == 0;
    free(e->threads);
    free(e->of_threads);
    *e = (struct sched_edge){.threads = malloc((s->threads.n + 1) * sizeof(*e->threads)),
                             .of_threads =
                                 ask ? malloc((s->threads.n + 1) * sizeof(*e->of_threads)) : NULL,
                             .strangers = s->strangers};
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        e->of_process = (struct switches){(uint64_t)usage.ru_nvcsw, (uint64_t)usage.ru_nivcsw};
    struct thread *threads = s->threads.all;
    for (size_t i = 0; i < s->threads.n && e->threads; i++) {
        struct thread *t = &threads[i];
        struct thread_sample *sample = &e->threads[e->n];
        struct switches switches;
        *sample = (struct thread_sample){.tid = (pid_t)t->tid};
        if (!t->ours)
            continue;
        if (!read_schedstat(t, sample)) {
            sample->run_ns = sample->wait_ns = NOT_KNOWN;
            task_list_doubt(&s->list);
        }
        if ((e->of_threads || sample->wait_ns == NOT_KNOWN) && !read_status(t, &switches))
            continue; /* it has ended */
        if (e->of_threads)
            e->of_threads[e->n] = switches;
        e->n++;
    }
}

/* Threads that are there at both edges, summed. */
struct sched_sums {
    unsigned threads;
    bool waits_known;
    uint64_t run_ns, wait_ns;
    uint64_t worst_wait_ns;
    long worst_tid;
    bool switches_known;
    struct switches switches;
};

static void add_waits(struct sched_sums *s, const struct thread_sample *a,
                      const struct thread_sample *b)
{
    uint64_t wait_ns = b->wait_ns - a->wait_ns;
    s->threads++;
    s->waits_known &= a->wait_ns != NOT_KNOWN && b->wait_ns != NOT_KNOWN;
    s->run_ns += b->run_ns - a->run_ns;
    s->wait_ns += wait_ns;
    if (wait_ns >= s->worst_wait_ns) {
        s->worst_wait_ns = wait_ns;
        s->worst_tid = b->tid;
    }
}

static void add_switches(struct switches *sum, const struct switches *a, const struct switches *b)
{
    sum->voluntary += b->voluntary - a->voluntary;
    sum->involuntary += b->involuntary - a->involuntary;
}

static struct sched_sums sum_between(const struct sched_edge *a, const struct sched_edge *b)
{
    struct sched_sums sums = {.waits_known = true,
                              .switches_known = a->of_threads && b->of_threads};
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        if (a->threads[i].tid != b->threads[k].tid) {
            a->threads[i].tid < b->threads[k].tid ? i++ : k++;
            continue;
        }
        if (sums.switches_known)
            add_switches(&sums.switches, &a->of_threads[i], &b->of_threads[k]);
        add_waits(&sums, &a->threads[i++], &b->threads[k++]);
    }
    if (!sums.switches_known && !b->strangers) {
        sums.switches_known = true;
        add_switches(&sums.switches, &a->of_process, &b->of_process);
    }
    return sums;
}

static void put_switches(json_t *o, const struct sched_sums *sums)
{
    if (!sums->switches_known) {
        static const char why[] = "threads of io_uring began in this window";
        json_set_missing(o, "voluntary_switches", "%s", why);
        json_set_missing(o, "involuntary_switches", "%s", why);
        return;
    }
    json_object_set_new(o, "voluntary_switches",
                        json_integer((json_int_t)sums->switches.voluntary));
    json_object_set_new(o, "involuntary_switches",
                        json_integer((json_int_t)sums->switches.involuntary));
}

static json_t *sched_window(const struct sampler *base, unsigned from, unsigned to, json_t *notes)
{
    (void)notes;
    const struct sched_sampler *s = (const struct sched_sampler *)base;
    if (s->reason[0])
        return json_unavailable("%s", s->reason);
    const struct sched_sums sums = sum_between(&s->edges[from], &s->edges[to]);
    json_t *o = json_pack("{s:b, s:i}", "available", 1, "threads", (int)sums.threads);
    put_switches(o, &sums);
    if (sums.waits_known) {
        json_object_set_new(o, "run_ns", json_integer((json_int_t)sums.run_ns));
        json_object_set_new(o, "wait_ns", json_integer((json_int_t)sums.wait_ns));
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
