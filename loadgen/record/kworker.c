/* The kworker sampler: on which node the kernel's workers of the completion side ran.
 *
 * A kworker's name ends in the work queue that it serves or served last ("kworker/u8:2-rpciod",
 * wq_worker_comm() in kernel/workqueue.c), and its stat has the CPU where it ran last. All are read
 * at each edge, and those that served a queue of interest and may move at each tick as well; the
 * CPU time since the last reading goes to the queue and the CPU that are seen then. So a share is
 * as true as workers are steady for a quarter of a second. Most workers sleep through a window, and
 * then their CPU time is all that is read. */
#include "bynode.h"
#include "jsontext.h"
#include "proctext.h"
#include "sampler.h"
#include "tasks.h"

#include "../../placement/sysroot.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOW                                                                                        \
    "CPU time of each worker since it was last seen (at both edges, and every 250 ms when it "     \
    "may move and served such a queue) goes to the queue in its name and to the CPU where it ran " \
    "last"
/* Kernel threads are the children of kthreadd, process 2 (CONFIG_PROC_CHILDREN). */
#define CHILDREN "/proc/2/task/2/children"
/* A tick looks at this many and leaves the rest to the next edge. */
#define TICK_WORKERS_MAX 256

/* Queues of the completion side; the last one is everything else. */
static const char *const queues[] = {"rxe_wq",  "ib-comp-wq", "ib-comp-unb-wq", "rpciod",
                                     "xprtiod", "nfsiod",     "other"};
enum { QUEUES_N = sizeof(queues) / sizeof(*queues), OTHER = QUEUES_N - 1 };

struct kworker {
    long pid;
    bool worker;  /* false: some other process, not read again */
    bool unbound; /* not tied to one CPU: "kworker/u8:2" */
    unsigned queue;
    uint64_t ns; /* CPU time when last seen */
    struct kept_file stat, schedstat;
};

struct kworker_sampler {
    struct sampler base;
    struct bynode nodes;
    char reason[256];
    unsigned edges_max;
    bool by_children; /* CHILDREN is there; else all of /proc is looked through */
    struct kept_file list;
    char *text; /* of CHILDREN */
    size_t text_bytes;
    struct task_numbers pids; /* scratch of a scan */
    struct task_set workers;  /* of struct kworker */
    bool began;
    bool no_schedstat; /* the kernel was built without CONFIG_SCHED_INFO */
    uint64_t *now;     /* [queue][slot]: ns so far */
    uint64_t *at;      /* [edge][queue][slot] */
    unsigned *count;   /* [edge]: kworkers there were */
};

static const struct task_kind kworker_kind;

static void kworker_close(struct sampler *base)
{
    struct kworker_sampler *s = (struct kworker_sampler *)base;
    if (!s)
        return;
    task_set_free(&s->workers, &kworker_kind, s);
    kept_close(&s->list);
    free(s->text);
    free(s->pids.all);
    free(s->now);
    free(s->at);
    free(s->count);
    bynode_free(&s->nodes);
    free(s);
}

static ssize_t read_children(struct kworker_sampler *s)
{
    for (;;) {
        ssize_t n = s->text_bytes ? kept_read(&s->list, CHILDREN, s->text, s->text_bytes) : 0;
        if (s->text_bytes && n != -EOVERFLOW)
            return n;
        size_t bytes = s->text_bytes ? 2 * s->text_bytes : 4096;
        char *bigger = realloc(s->text, bytes);
        if (!bigger)
            return -ENOMEM;
        s->text = bigger;
        s->text_bytes = bytes;
    }
}

static struct sampler *kworker_open(const struct sample_ctx *ctx, struct err *err)
{
    struct kworker_sampler *s = calloc(1, sizeof(*s));
    if (!s || !bynode_init(&s->nodes, ctx->topo))
        goto no_memory;
    s->edges_max = ctx->edges_max;
    s->now = calloc((size_t)QUEUES_N * s->nodes.n, sizeof(*s->now));
    s->at = calloc((size_t)ctx->edges_max * QUEUES_N * s->nodes.n, sizeof(*s->at));
    s->count = calloc(ctx->edges_max, sizeof(*s->count));
    if (!s->now || !s->at || !s->count)
        goto no_memory;
    char comm[32];
    s->by_children = sysroot_read_into("/proc/2/comm", comm, sizeof(comm)) > 0 &&
                     strcmp(comm, "kthreadd\n") == 0 && read_children(s) > 0;
    return &s->base;
no_memory:
    kworker_close(s ? &s->base : NULL);
    err_set(err, STATUS_FAILED, "kworker sampler: out of memory");
    return NULL;
}

/* ---- one worker ---- */

/* The queue behind the first '-' or '+' after "kworker/...:N". */
static unsigned queue_of(const char *comm)
{
    const char *mark = strpbrk(comm, "-+");
    for (unsigned q = 0; mark && q < OTHER; q++)
        if (strcmp(mark + 1, queues[q]) == 0)
            return q;
    return OTHER;
}

/* CPU time to the nanosecond, where the kernel keeps it (CONFIG_SCHED_INFO). */
static bool read_time(struct kworker_sampler *s, struct kworker *w, uint64_t *ns)
{
    char text[128];
    uint64_t waited;
    if (s->no_schedstat)
        return false;
    ssize_t n = task_read(&w->schedstat, "/proc", w->pid, "schedstat", text, sizeof(text));
    if (!s->began)
        s->no_schedstat = n == -ENOENT;
    return n > 0 && schedstat_parse(text, (size_t)n, ns, &waited);
}

static bool read_stat(struct kworker *w, struct task_stat *stat)
{
    char text[1024];
    ssize_t n = task_read(&w->stat, "/proc", w->pid, "stat", text, sizeof(text));
    return n > 0 && taskstat_parse(text, (size_t)n, stat);
}

static void book(struct kworker_sampler *s, struct kworker *w, const struct task_stat *stat,
                 uint64_t used)
{
    w->unbound = stat->comm[8] == 'u';
    w->queue = queue_of(stat->comm);
    s->now[(size_t)w->queue * s->nodes.n + bynode_slot(&s->nodes, stat->cpu)] += used;
}

static uint64_t time_of(const struct task_stat *stat)
{
    return (stat->utime_ticks + stat->stime_ticks) * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void forget(void *owner, void *task)
{
    (void)owner;
    struct kworker *w = task;
    kept_close(&w->stat);
    kept_close(&w->schedstat);
}

/* What a worker used before the first edge is not known to belong to the run. */
static bool meet(void *owner, void *task)
{
    struct kworker_sampler *s = owner;
    struct kworker *w = task;
    struct task_stat stat;
    if (!read_stat(w, &stat))
        return false;
    w->worker = strncmp(stat.comm, "kworker/", 8) == 0;
    if (!w->worker) {
        forget(s, w);
        return true;
    }
    if (!read_time(s, w, &w->ns))
        w->ns = time_of(&stat);
    book(s, w, &stat, s->began ? w->ns : 0);
    return true;
}

/* Looks at a worker again and books what it used since. False: it is gone, and may have left its
 * number to another. */
static bool see(void *owner, void *task)
{
    struct kworker_sampler *s = owner;
    struct kworker *w = task;
    struct task_stat stat;
    uint64_t ns = 0;
    if (!w->worker)
        return true;
    bool exact = read_time(s, w, &ns);
    if (!exact && !s->no_schedstat)
        return false;
    if (exact && ns == w->ns)
        return true; /* it has not run: its name and its CPU are as they were */
    if (!read_stat(w, &stat))
        return false;
    if (!exact)
        ns = time_of(&stat);
    book(s, w, &stat, ns > w->ns ? ns - w->ns : 0);
    w->ns = ns;
    return true;
}

static const struct task_kind kworker_kind = {
    .bytes = sizeof(struct kworker),
    .meet = meet,
    .see = see,
    .gone = forget,
};

/* ---- all of them ---- */

static bool list_children(struct kworker_sampler *s)
{
    if (read_children(s) < 0)
        return false;
    bool all = true;
    char *end;
    for (char *at = s->text; all; at = end) {
        long pid = strtol(at, &end, 10);
        if (end == at)
            break;
        all = task_numbers_add(&s->pids, pid);
    }
    return all;
}

static bool list_processes(struct kworker_sampler *s)
{
    char **names = NULL;
    if (sysroot_list("/proc", &names) < 0)
        return false;
    bool all = true;
    for (char **name = names; all && *name; name++)
        if (isdigit((unsigned char)**name))
            all = task_numbers_add(&s->pids, strtol(*name, NULL, 10));
    sysroot_list_free(names);
    return all;
}

/* Every worker, new ones too. */
static void scan_all(struct kworker_sampler *s)
{
    s->pids.n = 0;
    if (!(s->by_children ? list_children(s) : list_processes(s)))
        return;
    task_numbers_sort(&s->pids);
    if (task_set_update(&s->workers, &kworker_kind, s, s->pids.all, s->pids.n))
        s->began = true;
}

static void kworker_settle(struct sampler *base, unsigned edge)
{
    struct kworker_sampler *s = (struct kworker_sampler *)base;
    if (s->reason[0] || edge >= s->edges_max)
        return;
    scan_all(s);
    const struct kworker *workers = s->workers.all;
    for (size_t i = 0; i < s->workers.n; i++)
        s->count[edge] += workers[i].worker;
    size_t cells = (size_t)QUEUES_N * s->nodes.n;
    memcpy(s->at + edge * cells, s->now, cells * sizeof(*s->now));
    if (!s->count[edge])
        snprintf(s->reason, sizeof(s->reason),
                 "no kernel worker is seen in /proc, as in a container");
}

/* Served a queue of interest, and is not tied to one CPU. */
static bool moves(const struct kworker *w)
{
    return w->worker && w->unbound && w->queue != OTHER;
}

static bool kworker_watches(const struct sampler *base)
{
    const struct kworker_sampler *s = (const struct kworker_sampler *)base;
    const struct kworker *workers = s->workers.all;
    for (size_t i = 0; i < s->workers.n; i++)
        if (moves(&workers[i]))
            return true;
    return false;
}

static void kworker_tick(struct sampler *base, unsigned edge)
{
    struct kworker_sampler *s = (struct kworker_sampler *)base;
    (void)edge;
    unsigned seen = 0;
    struct kworker *workers = s->workers.all;
    for (size_t i = 0; i < s->workers.n && seen < TICK_WORKERS_MAX; i++) {
        struct kworker *w = &workers[i];
        if (!moves(w))
            continue;
        seen++;
        see(s, w);
    }
}

static json_t *kworker_window(const struct sampler *base, unsigned from, unsigned to, json_t *notes)
{
    (void)notes;
    const struct kworker_sampler *s = (const struct kworker_sampler *)base;
    if (s->reason[0])
        return json_unavailable("%s", s->reason);
    size_t cells = (size_t)QUEUES_N * s->nodes.n;
    uint64_t *sums = calloc(s->nodes.n, sizeof(*sums));
    if (!sums)
        return json_unavailable("out of memory");
    json_t *all = json_object();
    for (unsigned q = 0; q < QUEUES_N; q++) {
        uint64_t total = 0;
        for (unsigned slot = 0; slot < s->nodes.n; slot++) {
            size_t cell = (size_t)q * s->nodes.n + slot;
            sums[slot] = s->at[to * cells + cell] - s->at[from * cells + cell];
            total += sums[slot];
        }
        if (!total && q != OTHER)
            continue;
        json_t *o = json_pack("{s:I}", "cpu_ns", (json_int_t)total);
        bynode_put(&s->nodes, o, sums);
        json_object_set_new(all, queues[q], o);
    }
    free(sums);
    return json_pack("{s:b, s:s, s:i, s:o}", "available", 1, "how", HOW, "workers",
                     (int)s->count[to], "queues", all);
}

const struct sampler_ops kworker_sampler = {
    .name = "kworker",
    .open = kworker_open,
    .settle = kworker_settle,
    .tick = kworker_tick,
    .watches = kworker_watches,
    .window = kworker_window,
    .close = kworker_close,
};
