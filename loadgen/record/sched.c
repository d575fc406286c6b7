/* The scheduler sampler: how long our own threads waited for a CPU, and how often they lost theirs.
 * Threads that io_uring made are not counted: iowq.c watches them. */
#include "jsontext.h"
#include "proctext.h"
#include "sampler.h"
#include "tasks.h"
#include "taskstats.h"

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
    struct thread_sample *threads; /* ascending tid; NULL: not read */
    struct switches *of_threads;   /* NULL: not known of each thread */
    unsigned threads_n;

    /* Of the whole process, ended threads too. */
    struct switches of_process;
    struct taskstats_sums sums;
    bool summed;

    bool strangers; /* io_uring's threads are or were there */
};

struct sched_sampler {
    struct sampler base;
    char reason[256];
    unsigned edges_max;
    struct sched_edge *edges;
    struct task_list list;
    struct task_set threads; /* of struct thread */
    struct taskstats_link taskstats;
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
    taskstats_close(&s->taskstats);
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
    if (sysroot_live())
        taskstats_open(&s->taskstats);
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
static void look_at_each(struct sched_sampler *s, unsigned edge)
{
    struct sched_edge *e = &s->edges[edge];
    const bool ask = !sysroot_live() || s->strangers || edge == 0;
    e->threads = malloc((s->threads.n + 1) * sizeof(*e->threads));
    e->of_threads = ask ? malloc((s->threads.n + 1) * sizeof(*e->of_threads)) : NULL;
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

static void sched_settle(struct sampler *base, unsigned edge)
{
    struct sched_sampler *s = (struct sched_sampler *)base;
    if (s->reason[0] || edge >= s->edges_max)
        return;
    if (task_list_refresh(&s->list) &&
        !task_set_update(&s->threads, &thread_kind, s, s->list.tids.all, s->list.tids.n))
        task_list_doubt(&s->list);
    struct sched_edge *e = &s->edges[edge];
    free(e->threads);
    free(e->of_threads);
    *e = (struct sched_edge){.threads_n = (unsigned)s->threads.n, .strangers = s->strangers};
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        e->of_process = (struct switches){(uint64_t)usage.ru_nvcsw, (uint64_t)usage.ru_nivcsw};
    e->summed = !s->strangers && taskstats_read(&s->taskstats, &e->sums);
    if (!e->summed)
        look_at_each(s, edge);
}

static void sched_settle_thorough(struct sampler *base, unsigned edge)
{
    struct sched_sampler *s = (struct sched_sampler *)base;
    if (!s->reason[0] && edge < s->edges_max && !s->edges[edge].threads)
        look_at_each(s, edge);
}

struct sched_sums {
    unsigned threads;
    bool waits_known, each_known;
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
    s->each_known &= a->wait_ns != NOT_KNOWN && b->wait_ns != NOT_KNOWN;
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

/* Of threads that are there at both edges; of the whole process where it has no other threads. */
static struct sched_sums sum_between(const struct sched_edge *a, const struct sched_edge *b)
{
    const bool each = a->threads && b->threads, whole = a->summed && b->summed;
    struct sched_sums sums = {.each_known = each, .switches_known = a->of_threads && b->of_threads};
    for (size_t i = 0, k = 0; each && i < a->n && k < b->n;) {
        if (a->threads[i].tid != b->threads[k].tid) {
            a->threads[i].tid < b->threads[k].tid ? i++ : k++;
            continue;
        }
        if (sums.switches_known)
            add_switches(&sums.switches, &a->of_threads[i], &b->of_threads[k]);
        add_waits(&sums, &a->threads[i++], &b->threads[k++]);
    }
    if (!each)
        sums.threads = a->threads_n < b->threads_n ? a->threads_n : b->threads_n;
    sums.waits_known = sums.each_known || whole;
    if (whole) {
        sums.run_ns = b->sums.run_ns - a->sums.run_ns;
        sums.wait_ns = b->sums.wait_ns - a->sums.wait_ns;
    }
    if (!sums.switches_known && !b->strangers) {
        sums.switches_known = true;
        add_switches(&sums.switches, &a->of_process, &b->of_process);
    }
    return sums;
}

static void put_or_say(json_t *o, const char *key, bool known, uint64_t value, const char *why)
{
    if (known)
        json_object_set_new(o, key, json_integer((json_int_t)value));
    else
        json_set_missing(o, key, "%s", why);
}

static json_t *sched_window(const struct sampler *base, unsigned from, unsigned to, json_t *notes)
{
    (void)notes;
    const struct sched_sampler *s = (const struct sched_sampler *)base;
    if (s->reason[0])
        return json_unavailable("%s", s->reason);
    const struct sched_sums sums = sum_between(&s->edges[from], &s->edges[to]);
    const struct sched_edge *a = &s->edges[from], *b = &s->edges[to];
    const char *why = "the kernel keeps no schedstat of threads";
    const char *met = "threads of io_uring began in this window";
    if (!a->threads || !b->threads)
        why =
            b->strangers ? met : "each thread is looked at only between windows of 5 s and longer";
    json_t *o = json_pack("{s:b, s:i}", "available", 1, "threads", (int)sums.threads);
    put_or_say(o, "voluntary_switches", sums.switches_known, sums.switches.voluntary, met);
    put_or_say(o, "involuntary_switches", sums.switches_known, sums.switches.involuntary, met);
    put_or_say(o, "run_ns", sums.waits_known, sums.run_ns, why);
    put_or_say(o, "wait_ns", sums.waits_known, sums.wait_ns, why);
    put_or_say(o, "worst_wait_ns", sums.each_known, sums.worst_wait_ns, why);
    if (sums.each_known)
        json_object_set_new(o, "worst_tid", json_integer(sums.worst_tid));
    return o;
}

const struct sampler_ops sched_sampler = {
    .name = "sched",
    .open = sched_open,
    .settle = sched_settle,
    .settle_thorough = sched_settle_thorough,
    .window = sched_window,
    .close = sched_close,
};
