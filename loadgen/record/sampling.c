#include "sampler.h"

#include "punctual.h"

#include <stdlib.h>
#include <time.h>

struct reading {
    uint64_t began_ns, ended_ns;
};

struct sampling {
    unsigned n, edges_max, last_edge;
    struct sampler **samplers;
    struct reading *readings; /* [edge][sampler] */
    uint64_t *t_ns;           /* [edge] */
    uint64_t *cpu_ns;         /* [edge]: of the samplers from this edge to the next */
    uint64_t *thread_ns;      /* [edge]: CPU time of the calling thread so far */
    bool *real_time;          /* [edge]: the calling thread's policy is a real-time one */
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void sampling_close(struct sampling *s)
{
    if (!s)
        return;
    for (unsigned i = 0; s->samplers && i < s->n; i++)
        if (s->samplers[i])
            s->samplers[i]->ops->close(s->samplers[i]);
    free(s->samplers);
    free(s->readings);
    free(s->t_ns);
    free(s->cpu_ns);
    free(s->thread_ns);
    free(s->real_time);
    free(s);
}

struct sampling *sampling_open(const struct sample_ctx *ctx, struct err *err)
{
    struct sampling *s = calloc(1, sizeof(*s));
    if (!s)
        goto no_memory;
    while (samplers[s->n])
        s->n++;
    s->edges_max = ctx->edges_max;
    s->samplers = calloc(s->n, sizeof(*s->samplers));
    s->readings = calloc((size_t)s->edges_max * s->n, sizeof(*s->readings));
    s->t_ns = calloc(s->edges_max, sizeof(*s->t_ns));
    s->cpu_ns = calloc(s->edges_max, sizeof(*s->cpu_ns));
    s->thread_ns = calloc(s->edges_max, sizeof(*s->thread_ns));
    s->real_time = calloc(s->edges_max, sizeof(*s->real_time));
    if (!s->samplers || !s->readings || !s->t_ns || !s->cpu_ns || !s->thread_ns || !s->real_time)
        goto no_memory;
    for (unsigned i = 0; i < s->n; i++) {
        s->samplers[i] = samplers[i]->open(ctx, err);
        if (!s->samplers[i]) {
            sampling_close(s);
            return NULL;
        }
        s->samplers[i]->ops = samplers[i];
    }
    return s;
no_memory:
    sampling_close(s);
    err_set(err, STATUS_FAILED, "samplers: out of memory");
    return NULL;
}

void sampling_edge(struct sampling *s, unsigned edge, uint64_t t_ns, bool thorough)
{
    if (edge >= s->edges_max)
        return;
    uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct reading *r = s->readings + (size_t)edge * s->n;
    s->t_ns[edge] = t_ns;
    s->thread_ns[edge] = cpu;
    s->real_time[edge] = punctual_now();
    s->last_edge = edge;
    for (unsigned i = 0; i < s->n; i++) {
        if (!s->samplers[i]->ops->read)
            continue;
        r[i].began_ns = clock_ns(CLOCK_MONOTONIC);
        s->samplers[i]->ops->read(s->samplers[i], edge);
        r[i].ended_ns = clock_ns(CLOCK_MONOTONIC);
    }
    for (unsigned i = 0; i < s->n; i++) {
        bool reads = s->samplers[i]->ops->read;
        if (!reads)
            r[i].began_ns = clock_ns(CLOCK_MONOTONIC);
        if (s->samplers[i]->ops->settle)
            s->samplers[i]->ops->settle(s->samplers[i], edge);
        if (thorough && s->samplers[i]->ops->settle_thorough)
            s->samplers[i]->ops->settle_thorough(s->samplers[i], edge);
        if (!reads)
            r[i].ended_ns = clock_ns(CLOCK_MONOTONIC);
    }
    s->cpu_ns[edge] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
}

void sampling_tick(struct sampling *s)
{
    uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (unsigned i = 0; i < s->n; i++)
        if (s->samplers[i]->ops->tick)
            s->samplers[i]->ops->tick(s->samplers[i], s->last_edge);
    s->cpu_ns[s->last_edge] += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
}

bool sampling_watches(const struct sampling *s)
{
    for (unsigned i = 0; i < s->n; i++)
        if (s->samplers[i]->ops->watches && s->samplers[i]->ops->watches(s->samplers[i]))
            return true;
    return false;
}

static json_t *skew(const struct sampling *s, unsigned sampler, unsigned from, unsigned to)
{
    const struct reading *a = &s->readings[(size_t)from * s->n + sampler];
    const struct reading *b = &s->readings[(size_t)to * s->n + sampler];
    return json_pack("{s:I, s:I, s:I, s:I}", "from_began_ns",
                     (json_int_t)(a->began_ns - s->t_ns[from]), "from_ended_ns",
                     (json_int_t)(a->ended_ns - s->t_ns[from]), "to_began_ns",
                     (json_int_t)(b->began_ns - s->t_ns[to]), "to_ended_ns",
                     (json_int_t)(b->ended_ns - s->t_ns[to]));
}

void sampling_window(const struct sampling *s, unsigned from, unsigned to, json_t *window,
                     json_t *notes)
{
    if (from >= to || to >= s->edges_max)
        return;
    uint64_t cpu_ns = 0;
    for (unsigned edge = from; edge < to; edge++)
        cpu_ns += s->cpu_ns[edge];
    for (unsigned i = 0; i < s->n; i++) {
        const struct sampler_ops *ops = s->samplers[i]->ops;
        json_t *object = ops->window(s->samplers[i], from, to, notes);
        json_object_set_new(object, "skew", skew(s, i, from, to));
        json_object_set_new(window, ops->name, object);
    }
    json_object_set_new(window, "sampling",
                        json_pack("{s:I, s:I, s:b}", "cpu_ns", (json_int_t)cpu_ns, "thread_cpu_ns",
                                  (json_int_t)(s->thread_ns[to] - s->thread_ns[from]), "real_time",
                                  s->real_time[from] && s->real_time[to]));
}
