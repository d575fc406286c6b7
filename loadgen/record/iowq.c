/* The io-wq sampler: io_uring's kernel workers in this process, and where they ran.
 *
 * A file system that cannot submit without waiting makes io_uring hand each read to such a worker,
 * which allocates on the CPU it happens to run on, whatever the submitting thread is bound to. */
#include "bynode.h"
#include "jsontext.h"
#include "proctext.h"
#include "sampler.h"
#include "tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKER_PREFIX "iou-wrk-"
/* Thousands of workers are possible; a tick looks at this many and goes on from there next time. */
#define TICK_WORKERS_MAX 1024

struct task {
    long tid;
    bool worker;
    unsigned first, last; /* edges after which it was seen */
    uint64_t ticks;
    struct kept_file stat; /* of a worker */
};

struct iowq_sampler {
    struct sampler base;
    struct bynode nodes;
    char reason[256];
    unsigned edges_max;
    struct task_list list;
    struct task_set tasks; /* alive, of struct task */
    struct task *gone;     /* workers that ended */
    size_t gone_n, gone_cap;
    unsigned edge; /* the last one */
    size_t turn;   /* where the next tick goes on */
    uint64_t gone_ticks;
    uint64_t *ticks;   /* [edge]: CPU ticks of all workers so far */
    uint64_t *samples; /* [edge]: sightings after it */
    uint32_t *hits;    /* [edge][cpu] */
};

static const struct task_kind task_kind;

static void iowq_close(struct sampler *base)
{
    struct iowq_sampler *s = (struct iowq_sampler *)base;
    if (!s)
        return;
    task_set_free(&s->tasks, &task_kind, s);
    task_list_close(&s->list);
    free(s->gone);
    free(s->ticks);
    free(s->samples);
    free(s->hits);
    bynode_free(&s->nodes);
    free(s);
}

static struct sampler *iowq_open(const struct sample_ctx *ctx, struct err *err)
{
    struct iowq_sampler *s = calloc(1, sizeof(*s));
    if (!s || !bynode_init(&s->nodes, ctx->topo))
        goto no_memory;
    s->edges_max = ctx->edges_max;
    s->ticks = calloc(ctx->edges_max, sizeof(*s->ticks));
    s->samples = calloc(ctx->edges_max, sizeof(*s->samples));
    s->hits = calloc((size_t)ctx->edges_max * (ctx->topo->cpus_n + 1u), sizeof(*s->hits));
    if (!s->ticks || !s->samples || !s->hits)
        goto no_memory;
    int error = task_list_open(&s->list);
    if (error)
        snprintf(s->reason, sizeof(s->reason), TASKS ": %s", strerror(-error));
    return &s->base;
no_memory:
    iowq_close(s ? &s->base : NULL);
    err_set(err, STATUS_FAILED, "iowq sampler: out of memory");
    return NULL;
}

static bool read_task(struct task *t, struct task_stat *stat)
{
    char text[1024];
    ssize_t n = task_read(&t->stat, TASKS, t->tid, "stat", text, sizeof(text));
    return n > 0 && taskstat_parse(text, (size_t)n, stat);
}

/* Threads are read once, when they are new: only workers are looked at again. */
static bool meet_task(void *owner, void *task)
{
    struct iowq_sampler *s = owner;
    struct task *t = task;
    struct task_stat stat;
    if (!read_task(t, &stat))
        return false;
    t->first = t->last = s->edge;
    t->worker = strncmp(stat.comm, WORKER_PREFIX, strlen(WORKER_PREFIX)) == 0;
    if (!t->worker)
        kept_close(&t->stat);
    return true;
}

static void keep_gone(void *owner, void *task)
{
    struct iowq_sampler *s = owner;
    struct task *t = task;
    kept_close(&t->stat);
    if (!t->worker)
        return;
    s->gone_ticks += t->ticks;
    if (s->gone_n == s->gone_cap) {
        size_t cap = s->gone_cap ? 2 * s->gone_cap : 64;
        struct task *bigger = realloc(s->gone, cap * sizeof(*bigger));
        if (!bigger)
            return;
        s->gone = bigger;
        s->gone_cap = cap;
    }
    s->gone[s->gone_n++] = *t;
}

static const struct task_kind task_kind = {
    .bytes = sizeof(struct task),
    .meet = meet_task,
    .gone = keep_gone,
};

static void see_worker(struct iowq_sampler *s, unsigned edge, struct task *t,
                       const struct task_stat *stat)
{
    t->last = edge;
    t->ticks = stat->utime_ticks + stat->stime_ticks;
    s->samples[edge]++;
    if (stat->cpu < s->nodes.cpus_n)
        s->hits[(size_t)edge * s->nodes.cpus_n + stat->cpu]++;
}

static void scan(struct iowq_sampler *s, unsigned edge, size_t workers_max)
{
    s->edge = edge;
    if (task_list_refresh(&s->list) &&
        !task_set_update(&s->tasks, &task_kind, s, s->list.tids.all, s->list.tids.n)) {
        task_list_doubt(&s->list);
        return;
    }
    size_t seen = 0, n = s->tasks.n;
    struct task *tasks = s->tasks.all;
    for (size_t i = 0; i < n && seen < workers_max; i++) {
        struct task *t = &tasks[(s->turn + i) % n];
        struct task_stat stat;
        if (!t->worker)
            continue;
        if (!read_task(t, &stat)) {
            task_list_doubt(&s->list);
            continue;
        }
        see_worker(s, edge, t, &stat);
        if (++seen == workers_max)
            s->turn = (s->turn + i + 1) % n;
    }
}

static void iowq_settle(struct sampler *base, unsigned edge)
{
    struct iowq_sampler *s = (struct iowq_sampler *)base;
    if (s->reason[0] || edge >= s->edges_max)
        return;
    scan(s, edge, SIZE_MAX);
    const struct task *tasks = s->tasks.all;
    s->ticks[edge] = s->gone_ticks;
    for (size_t i = 0; i < s->tasks.n; i++)
        s->ticks[edge] += tasks[i].worker ? tasks[i].ticks : 0;
}

static void iowq_tick(struct sampler *base, unsigned edge)
{
    struct iowq_sampler *s = (struct iowq_sampler *)base;
    if (!s->reason[0] && edge < s->edges_max)
        scan(s, edge, TICK_WORKERS_MAX);
}

static bool iowq_watches(const struct sampler *base)
{
    const struct iowq_sampler *s = (const struct iowq_sampler *)base;
    const struct task *tasks = s->tasks.all;
    for (size_t i = 0; i < s->tasks.n; i++)
        if (tasks[i].worker)
            return true;
    return false;
}

static unsigned workers_between(const struct task *tasks, size_t n, unsigned from, unsigned to)
{
    unsigned seen = 0;
    for (size_t i = 0; i < n; i++)
        seen += tasks[i].worker && tasks[i].first < to && tasks[i].last >= from;
    return seen;
}

static json_t *iowq_window(const struct sampler *base, unsigned from, unsigned to, json_t *notes)
{
    (void)notes;
    const struct iowq_sampler *s = (const struct iowq_sampler *)base;
    if (s->reason[0])
        return json_unavailable("%s", s->reason);
    uint64_t samples = 0;
    uint64_t *sums = calloc(s->nodes.n, sizeof(*sums));
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    char *list = NULL;
    for (unsigned edge = from; edge < to && sums && cpus; edge++) {
        samples += s->samples[edge];
        for (unsigned cpu = 0; cpu < s->nodes.cpus_n; cpu++) {
            uint32_t hits = s->hits[(size_t)edge * s->nodes.cpus_n + cpu];
            sums[bynode_slot(&s->nodes, cpu)] += hits;
            if (hits)
                hwloc_bitmap_set(cpus, cpu);
        }
    }
    json_t *o = NULL;
    if (sums && cpus && hwloc_bitmap_list_asprintf(&list, cpus) >= 0) {
        unsigned seen = workers_between(s->tasks.all, s->tasks.n, from, to) +
                        workers_between(s->gone, s->gone_n, from, to);
        uint64_t ticks = s->ticks[to] - s->ticks[from];
        long hz = sysconf(_SC_CLK_TCK);
        o = json_pack("{s:b, s:i, s:I}", "available", 1, "workers_seen", (int)seen, "samples",
                      (json_int_t)samples);
        bynode_put(&s->nodes, o, sums);
        json_object_set_new(o, "cpus", json_text(list));
        json_object_set_new(o, "cpu_ms", json_integer((json_int_t)(ticks * 1000u / (uint64_t)hz)));
    }
    free(list);
    free(sums);
    hwloc_bitmap_free(cpus);
    return o ? o : json_unavailable("out of memory");
}

const struct sampler_ops iowq_sampler = {
    .name = "iowq",
    .open = iowq_open,
    .settle = iowq_settle,
    .tick = iowq_tick,
    .watches = iowq_watches,
    .window = iowq_window,
    .close = iowq_close,
};
