/* The CPUs of the worker threads: sched_setaffinity(2), seen through samples of sched_getcpu(3). */
#define _GNU_SOURCE
#include "lever.h"

#include "text.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define KEY "cpus"
#define WORDS                                                                                      \
    (ACCEPT_WORD(WORD_UNPINNED) | ACCEPT_WORD(WORD_NODE) | ACCEPT_WORD(WORD_SOCKET) |              \
     ACCEPT_WORD(WORD_NIC) | ACCEPT_WORD(WORD_REMOTE) | ACCEPT_WORD(WORD_SPREAD) |                 \
     ACCEPT_WORD(WORD_CPUS))

struct cpus {
    struct lever base;
    hwloc_bitmap_t isolated; /* isolated CPUs among those used */
    hwloc_bitmap_t left_out; /* of the node or list that was named, not usable */
};

static bool no_memory(struct err *err)
{
    return err_set(err, STATUS_FAILED, KEY ": out of memory");
}

/* Gives thread `i` its CPUs out of `set`. The scheduler does not balance between isolated CPUs: all
 * threads of a mask stay where they began, so there each thread gets one CPU (`turn` counts them).
 */
static bool give(struct place *p, struct cpus *l, unsigned i, hwloc_const_bitmap_t set,
                 unsigned turn)
{
    hwloc_bitmap_t own = hwloc_bitmap_dup(set);
    if (!own)
        return false;
    if (hwloc_bitmap_intersects(set, p->topo->isolated)) {
        unsigned cpu = (unsigned)usable_nth(p->topo, set, turn);
        hwloc_bitmap_only(own, cpu);
        if (hwloc_bitmap_isset(p->topo->isolated, cpu))
            hwloc_bitmap_set(l->isolated, cpu);
    }
    p->thread_cpus[i] = own;
    return true;
}

/* Isolated CPUs are kept free for those who name them: a node or a socket does without them while
 * it has others, as it would for a process that never asked for an affinity. */
static void leave_isolated_alone(const struct topo *t, hwloc_bitmap_t set)
{
    if (!hwloc_bitmap_isincluded(set, t->isolated))
        hwloc_bitmap_andnot(set, set, t->isolated);
}

static bool plan_spread(struct place *p, struct cpus *l, struct err *err)
{
    hwloc_bitmap_t nodes = topo_nodes_with_cpus(p->topo), set = hwloc_bitmap_alloc();
    if (!nodes || !set) {
        hwloc_bitmap_free(nodes);
        hwloc_bitmap_free(set);
        return no_memory(err);
    }
    int n = hwloc_bitmap_weight(nodes), id = -1;
    bool ok = n > 0 || err_set(err, STATUS_FAILED, KEY " = spread: no node has usable CPUs");
    for (unsigned i = 0; ok && i < p->ask.threads; i++) {
        id = hwloc_bitmap_next(nodes, id);
        if (id < 0)
            id = hwloc_bitmap_first(nodes);
        hwloc_bitmap_copy(set, p->topo->nodes[topo_node_index(p->topo, id)].cpus);
        leave_isolated_alone(p->topo, set);
        ok = give(p, l, i, set, i / (unsigned)n) || no_memory(err);
    }
    hwloc_bitmap_free(set);
    hwloc_bitmap_free(nodes);
    return ok;
}

static bool plan_one_set(struct place *p, struct cpus *l, const struct word *w, struct err *err)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (!set)
        return no_memory(err);
    bool ok = lever_cpus_of_word(p, KEY, p->ask.cpus, w, USABLE_FOR_THREADS, set, err);
    if (ok && w->kind != WORD_CPUS)
        leave_isolated_alone(p->topo, set);
    if (ok && w->kind == WORD_CPUS)
        hwloc_bitmap_andnot(l->left_out, w->cpus, set);
    if (ok && w->kind == WORD_NODE)
        hwloc_bitmap_andnot(l->left_out, p->topo->nodes[topo_node_index(p->topo, w->id)].listed,
                            set);
    for (unsigned i = 0; ok && i < p->ask.threads; i++)
        ok = give(p, l, i, set, i) || no_memory(err);
    hwloc_bitmap_free(set);
    return ok;
}

/* "4 threads on CPUs 0-3", or a range of CPUs when every thread has one of its own. */
static char *describe(const struct place *p)
{
    char *text = NULL;
    unsigned groups = 0, n = p->ask.threads;
    for (unsigned i = 0; i < n; i++) {
        unsigned same = 0;
        bool first = true;
        for (unsigned j = 0; j < n; j++) {
            if (!hwloc_bitmap_isequal(p->thread_cpus[i], p->thread_cpus[j]))
                continue;
            first = first && j >= i;
            same++;
        }
        if (!first)
            continue;
        char *list = set_format(p->thread_cpus[i]);
        if (groups++ < 4)
            text_append(&text, "%s%u thread%s on CPU%s %s", groups > 1 ? ", " : "", same,
                        same == 1 ? "" : "s",
                        hwloc_bitmap_weight(p->thread_cpus[i]) == 1 ? "" : "s", list);
        free(list);
    }
    if (groups > 4)
        text_append(&text, ", and %u more sets", groups - 4);
    return text;
}

static bool probe(struct place *p, struct lever **out, struct err *err)
{
    struct word w;
    bool ok = word_parse(&w, KEY, p->ask.cpus, WORDS, err);
    if (!ok)
        goto out;
    struct cpus *l = lever_new(&lever_cpus, sizeof(*l), p->ask.cpus, w.kind != WORD_UNPINNED, err);
    ok = l != NULL;
    if (!ok)
        goto out;
    *out = &l->base;
    if (w.kind == WORD_UNPINNED)
        goto out;
    l->isolated = hwloc_bitmap_alloc();
    l->left_out = hwloc_bitmap_alloc();
    p->thread_cpus = calloc(p->ask.threads, sizeof(*p->thread_cpus));
    if (!l->isolated || !l->left_out || !p->thread_cpus) {
        ok = no_memory(err);
        goto out;
    }
    ok = w.kind == WORD_SPREAD ? plan_spread(p, l, err) : plan_one_set(p, l, &w, err);
    if (ok)
        l->base.applied = describe(p);
out:
    word_free(&w);
    return ok;
}

/* The kernel drops what the cpuset does not allow without a word, so the mask is read back. */
static bool bind_thread(const struct place *p, const struct lever *l, unsigned thread,
                        struct err *err)
{
    (void)l;
    hwloc_const_bitmap_t want = p->thread_cpus[thread];
    cpu_set_t *mask = CPU_ALLOC(SET_ID_MAX + 1);
    const size_t size = CPU_ALLOC_SIZE(SET_ID_MAX + 1);
    if (!mask)
        return no_memory(err);
    CPU_ZERO_S(size, mask);
    int c;
    hwloc_bitmap_foreach_begin(c, want) CPU_SET_S((size_t)c, size, mask);
    hwloc_bitmap_foreach_end();
    bool ok = true;
    if (sched_setaffinity(0, size, mask) || sched_getaffinity(0, size, mask)) {
        ok = err_set(err, STATUS_FAILED, "thread %u: sched_setaffinity: %s", thread,
                     errno == EINVAL ? "none of the CPUs is online and in the cpuset any more"
                                     : strerror(errno));
    } else if (CPU_COUNT_S(size, mask) != hwloc_bitmap_weight(want)) {
        ok = err_set(err, STATUS_FAILED,
                     "thread %u: the kernel took only %d of %d CPUs; the cpuset changed meanwhile",
                     thread, CPU_COUNT_S(size, mask), hwloc_bitmap_weight(want));
    }
    CPU_FREE(mask);
    return ok;
}

struct tally {
    uint64_t *by_node;
    uint64_t no_node, samples, outside;
    json_t *threads; /* those with something to say */
    char *silent;    /* ids of threads without a sample */
    char *strayed;   /* ids of threads seen outside */
};

static void tally_thread(const struct place *p, unsigned i, const struct place_thread_seen *seen,
                         struct tally *t)
{
    hwloc_const_bitmap_t want = place_thread_cpus(p, i);
    uint64_t samples = 0, outside = 0;
    for (unsigned c = 0; seen->cpu_hits && c < p->topo->cpus_n; c++) {
        uint64_t hits = seen->cpu_hits[c];
        int node = topo_node_index(p->topo, p->topo->cpus[c].node);
        if (node >= 0)
            t->by_node[node] += hits;
        else
            t->no_node += hits;
        samples += hits;
        if (want && !hwloc_bitmap_isset(want, c))
            outside += hits;
    }
    t->samples += samples;
    t->outside += outside;
    if (!samples)
        text_append(&t->silent, "%s%u", t->silent ? "," : "", i);
    if (outside)
        text_append(&t->strayed, "%s%u", t->strayed ? "," : "", i);
    if (!samples || outside)
        json_array_append_new(t->threads, json_pack("{s:i, s:i, s:I, s:I}", "thread", (int)i, "tid",
                                                    (int)seen->tid, "samples", (json_int_t)samples,
                                                    "samples_outside", (json_int_t)outside));
}

static void judge(const struct lever *l, const struct tally *t, struct lever_seen *out)
{
    if (!t->samples) {
        out->reason = text_printf("no thread gave a sample of the CPU it ran on");
    } else if (!l->asked) {
        out->reason = text_printf("not asked for");
    } else if (t->outside) {
        out->reached = REACHED_NO;
        out->reason = text_printf("%.3g %% of the samples are outside what was asked (thread %s)",
                                  100.0 * (double)t->outside / (double)t->samples, t->strayed);
    } else if (t->silent) {
        out->reason = text_printf("thread %s gave no sample", t->silent);
    } else {
        out->reached = REACHED_YES;
    }
}

/* Adds a set as a list, unless there is nothing in it. */
static void note_set(json_t *detail, const char *key, hwloc_const_bitmap_t set)
{
    if (!set || hwloc_bitmap_iszero(set))
        return;
    char *list = set_format(set);
    json_object_set_new(detail, key, list ? json_string(list) : json_null());
    free(list);
}

static void observe(const struct place *p, const struct lever *l, const struct lever_window *w,
                    struct lever_seen *out)
{
    const struct cpus *cpus = (const struct cpus *)l;
    struct tally t = {.by_node = calloc(p->topo->nodes_n, sizeof(*t.by_node)),
                      .threads = json_array()};
    if (!t.by_node) {
        json_decref(t.threads);
        return;
    }
    for (size_t i = 0; i < w->seen_n && i < p->ask.threads; i++)
        tally_thread(p, (unsigned)i, &w->seen[i], &t);
    judge(l, &t, out);
    out->observed = lever_shares(p->topo, t.by_node, t.no_node, "no node");
    out->detail =
        json_pack("{s:I, s:I, s:o, s:I, s:o}", "samples", (json_int_t)t.samples, "samples_outside",
                  (json_int_t)t.outside, "samples_by_node", lever_counts(p->topo, t.by_node),
                  "samples_on_no_node", (json_int_t)t.no_node, "threads_doubtful", t.threads);
    note_set(out->detail, "isolated_cpus_used", cpus->isolated);
    note_set(out->detail, "cpus_left_out", cpus->left_out);
    free(t.by_node);
    free(t.silent);
    free(t.strayed);
}

static void release(struct lever *l)
{
    struct cpus *cpus = (struct cpus *)l;
    hwloc_bitmap_free(cpus->isolated);
    hwloc_bitmap_free(cpus->left_out);
}

const struct lever_ops lever_cpus = {
    .name = KEY,
    .probe = probe,
    .bind_thread = bind_thread,
    .observe = observe,
    .release = release,
};
