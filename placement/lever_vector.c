/* The completion vectors of engines that make completion queues of their own (ibv_create_cq(3)).
 *
 * Such an engine need not move an interrupt: it can take the vectors whose interrupts fire where cq
 * asks. Only when the device has none there is the irq lever left to move them. */
#define _GNU_SOURCE
#include "lever.h"

#include "text.h"
#include "vectors.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KEY "comp-vector"

struct choice {
    unsigned vector;
    hwloc_bitmap_t accept; /* where its interrupts may fire; NULL: anywhere */
    unsigned threads;      /* that took it */
};

struct vector_lever {
    struct lever base;
    struct word cq;
    hwloc_bitmap_t named;  /* vectors of the key itself; NULL: auto */
    hwloc_bitmap_t accept; /* CPUs that cq asks for; NULL: leave or balanced */
    pthread_mutex_t lock;  /* workers ask at the same time */
    struct choice *choices;
    size_t choices_n; /* 0: nobody has asked yet */
    unsigned vectors_n;
    char device[DEVICE_NAME_MAX];
    struct vectors taken; /* with a row in /proc/interrupts; from the first edge on */
    struct vector_edges edges;
};

static bool no_memory(struct err *err)
{
    return err_set(err, STATUS_FAILED, KEY ": out of memory");
}

/* ---- which vectors ---- */

/* The node whose CPUs a vector fires on, as an index into topo->nodes; -1: more than one, or
 * unknown. */
static int node_of(const struct topo *t, hwloc_const_bitmap_t cpus)
{
    for (unsigned n = 0; n < t->nodes_n; n++)
        if (!hwloc_bitmap_iszero(cpus) && hwloc_bitmap_isincluded(cpus, t->nodes[n].listed))
            return (int)n;
    return -1;
}

static bool add_choice(struct vector_lever *l, unsigned vector, hwloc_const_bitmap_t accept)
{
    struct choice *bigger = realloc(l->choices, (l->choices_n + 1) * sizeof(*bigger));
    if (!bigger)
        return false;
    l->choices = bigger;
    struct choice *c = &l->choices[l->choices_n];
    *c = (struct choice){.vector = vector, .accept = accept ? hwloc_bitmap_dup(accept) : NULL};
    l->choices_n++;
    return !accept || c->accept;
}

static bool choose_named(struct vector_lever *l, unsigned vectors, struct err *err)
{
    int v, last = hwloc_bitmap_last(l->named);
    if (last >= (int)vectors)
        return err_set(err, STATUS_USAGE, KEY " = %s: vector %d: %s has 0..%u", l->base.word, last,
                       l->device, vectors - 1);
    hwloc_bitmap_foreach_begin(v, l->named)
    {
        if (!add_choice(l, (unsigned)v, NULL))
            return no_memory(err);
    }
    hwloc_bitmap_foreach_end();
    return true;
}

static bool choose_all(struct vector_lever *l, unsigned vectors, struct err *err)
{
    for (unsigned v = 0; v < vectors; v++)
        if (!add_choice(l, v, NULL))
            return no_memory(err);
    return true;
}

/* Vectors with their node, for balanced: each round takes one vector of each node that has some. */
struct by_node {
    unsigned vector;
    int node;
};

static bool choose_round(const struct place *p, struct vector_lever *l, const struct by_node *list,
                         size_t n, struct err *err)
{
    unsigned most = 0, *count = calloc(p->topo->nodes_n, sizeof(*count));
    bool ok = count != NULL;
    for (size_t i = 0; ok && i < n; i++)
        if (list[i].node >= 0 && ++count[list[i].node] > most)
            most = count[list[i].node];
    for (unsigned round = 0; ok && round < most; round++)
        for (unsigned node = 0; ok && node < p->topo->nodes_n; node++) {
            unsigned skip = count[node] ? round % count[node] : 0;
            for (size_t i = 0; ok && count[node] && i < n; i++)
                if (list[i].node == (int)node && skip-- == 0) {
                    ok = add_choice(l, list[i].vector, p->topo->nodes[node].listed);
                    break;
                }
        }
    free(count);
    return ok || no_memory(err);
}

/* "0: CPU 2, 1: CPU 3" of the vectors that are known, for a refusal. */
static void tell(char **text, unsigned vector, hwloc_const_bitmap_t cpus)
{
    char *list = set_format(cpus);
    text_append(text, "%s%u: CPU %s", *text ? ", " : "", vector, list ? list : "?");
    free(list);
}

/* By where the interrupts fire now. */
static bool choose_by_cpus(const struct place *p, struct vector_lever *l, unsigned vectors,
                           struct err *err)
{
    struct vectors v;
    struct by_node *list = NULL;
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    char *where = NULL;
    size_t n = 0;
    bool ok = vectors_of_device(&v, &p->device, err);
    if (ok && (!cpus || !(list = calloc(v.n, sizeof(*list)))))
        ok = no_memory(err);
    for (size_t i = 0; ok && i < v.n; i++) {
        int number = v.list[i].number;
        if (number < 0 || (unsigned)number >= vectors || !vector_fires_on(v.list[i].irq, cpus))
            continue;
        tell(&where, (unsigned)number, cpus);
        list[n++] = (struct by_node){(unsigned)number, node_of(p->topo, cpus)};
        if (l->accept && hwloc_bitmap_isincluded(cpus, l->accept) &&
            !add_choice(l, (unsigned)number, l->accept))
            ok = no_memory(err);
    }
    if (ok && l->cq.kind == WORD_BALANCED)
        ok = choose_round(p, l, list, n, err);
    if (ok && !l->choices_n)
        ok = err_set(err, STATUS_FAILED,
                     "cq = %s: no completion vector of %s fires on one of those CPUs (%s)",
                     p->ask.cq, p->device.name, where ? where : "none is known");
    free(where);
    free(list);
    hwloc_bitmap_free(cpus);
    vectors_free(&v);
    return ok;
}

static void forget_choices(struct vector_lever *l)
{
    for (size_t i = 0; i < l->choices_n; i++)
        hwloc_bitmap_free(l->choices[i].accept);
    free(l->choices);
    l->choices = NULL;
    l->choices_n = 0;
}

static bool choose(const struct place *p, struct vector_lever *l, unsigned vectors, struct err *err)
{
    forget_choices(l);
    bool ok;
    if (l->named)
        ok = choose_named(l, vectors, err);
    else if (l->cq.kind == WORD_LEAVE || p->device.soft)
        ok = choose_all(l, vectors, err);
    else
        ok = choose_by_cpus(p, l, vectors, err);
    if (!ok)
        forget_choices(l);
    return ok;
}

static struct vector_lever *find(const struct place *p)
{
    for (size_t i = 0; i < p->levers_n; i++)
        if (p->levers[i]->ops == &lever_vector)
            return (struct vector_lever *)p->levers[i];
    return NULL;
}

bool place_comp_vector(const struct place *p, unsigned thread, const char *device, unsigned vectors,
                       unsigned *vector, struct err *err)
{
    struct vector_lever *l = find(p);
    *vector = 0;
    if (!l || !vectors || thread >= p->ask.threads)
        return err_set(err, STATUS_FAILED, "%s: thread %u cannot have one of %u completion vectors",
                       device, thread, vectors);
    if (p->device_named && l->cq.kind != WORD_LEAVE && strcmp(device, p->device.name) != 0)
        return err_set(
            err, STATUS_FAILED,
            "cq = %s is about %s, but the connection goes through %s; name that one with "
            "--device",
            p->ask.cq, p->device.name, device);
    pthread_mutex_lock(&l->lock);
    bool ok = l->choices_n > 0;
    if (!ok) {
        snprintf(l->device, sizeof(l->device), "%.*s", (int)sizeof(l->device) - 1, device);
        l->vectors_n = vectors;
        ok = choose(p, l, vectors, err);
    }
    if (ok) {
        struct choice *c = &l->choices[thread % l->choices_n];
        c->threads++;
        *vector = c->vector;
    }
    pthread_mutex_unlock(&l->lock);
    return ok;
}

/* ---- the lever ---- */

static bool parse_key(struct vector_lever *l, const char *text, struct err *err)
{
    if (strcmp(text, "auto") == 0)
        return true;
    l->named = hwloc_bitmap_alloc();
    if (!l->named)
        return no_memory(err);
    if (!set_parse(l->named, text, NULL) || hwloc_bitmap_iszero(l->named))
        return err_set(err, STATUS_USAGE,
                       KEY " = '%s' is neither auto nor a list of vectors such as 0,2-5", text);
    return true;
}

/* Whether a vector of the device fires where cq asks, so that nothing need be moved. */
static bool suffices(const struct place *p, struct vector_lever *l)
{
    struct err none;
    bool ok = choose(p, l, (unsigned)SET_ID_MAX, &none);
    bool all = ok;
    for (unsigned n = 0; ok && l->cq.kind == WORD_BALANCED && n < p->topo->nodes_n; n++) {
        bool found = !hwloc_bitmap_intersects(p->topo->nodes[n].listed, p->topo->online);
        for (size_t i = 0; i < l->choices_n; i++)
            found |= hwloc_bitmap_isequal(l->choices[i].accept, p->topo->nodes[n].listed);
        all &= found;
    }
    forget_choices(l);
    return all;
}

static bool plan(struct place *p, struct vector_lever *l, struct err *err)
{
    const struct word *w = &l->cq;
    if (!p->ask.own_cqs)
        return !l->named ||
               err_set(err, STATUS_USAGE,
                       KEY " = %s: only for engines that make completion queues of their own; the "
                           "kernel's NFS client picks its vectors itself (see cq)",
                       p->ask.comp_vector);
    if (l->named || w->kind == WORD_LEAVE || !p->device_named || p->device.soft)
        return true; /* without a device the irq lever refuses */
    if (w->kind != WORD_BALANCED) {
        l->accept = hwloc_bitmap_alloc();
        if (!l->accept)
            return no_memory(err);
        if (!lever_cpus_of_word(p, "cq", p->ask.cq, w, USABLE_FOR_KERNEL, l->accept, err))
            return false;
    }
    p->vectors_suffice = suffices(p, l);
    return true;
}

static bool probe(struct place *p, struct lever **out, struct err *err)
{
    struct word w;
    if (!word_parse(&w, "cq", p->ask.cq, CQ_WORDS, err)) {
        word_free(&w);
        return false;
    }
    bool named = strcmp(p->ask.comp_vector, "auto") != 0;
    bool asked = p->ask.own_cqs && (named || w.kind != WORD_LEAVE);
    const char *word = named ? p->ask.comp_vector : p->ask.own_cqs ? p->ask.cq : "auto";
    struct vector_lever *l = lever_new(&lever_vector, sizeof(*l), word, asked, err);
    if (!l) {
        word_free(&w);
        return false;
    }
    *out = &l->base;
    l->cq = w;
    pthread_mutex_init(&l->lock, NULL);
    return parse_key(l, p->ask.comp_vector, err) && plan(p, l, err);
}

/* ---- what they did ---- */

/* The rows of the vectors that were taken. Some drivers ask for an interrupt only with the first
 * queue on it, so not before the workers are ready. */
static void find_taken(const struct place *p, struct vector_lever *l)
{
    struct vectors all;
    if (!l->choices_n || !p->device_named || !vectors_of_device(&all, &p->device, NULL))
        return;
    for (size_t i = 0; i < all.n; i++) {
        const struct choice *c = NULL;
        for (size_t k = 0; k < l->choices_n && !c; k++)
            if (l->choices[k].threads && (int)l->choices[k].vector == all.list[i].number)
                c = &l->choices[k];
        if (!c) {
            free(all.list[i].action);
            continue;
        }
        all.list[i].accept = c->accept ? hwloc_bitmap_dup(c->accept) : NULL;
        all.list[l->taken.n++] = all.list[i];
    }
    l->taken.list = all.list;
}

static void say_applied(struct vector_lever *l)
{
    unsigned threads = 0, vectors = 0;
    for (size_t i = 0; i < l->choices_n; i++) {
        threads += l->choices[i].threads;
        vectors += l->choices[i].threads > 0;
    }
    l->base.applied = text_printf("%u threads on %u of %u completion vectors of %s", threads,
                                  vectors, l->vectors_n, l->device);
}

static void edge(const struct place *p, struct lever *lever, unsigned k)
{
    struct vector_lever *l = (struct vector_lever *)lever;
    if (!l->taken.list)
        find_taken(p, l);
    if (l->choices_n && !lever->applied)
        say_applied(l);
    if (!l->taken.n)
        return;
    vector_edges_read(&l->edges, k, &l->taken, p->topo);
}

static const struct vector_counts *at_edge(const struct vector_lever *l, unsigned k)
{
    return vector_edges_at(&l->edges, k);
}

struct tally {
    uint64_t total, accepted;
    uint64_t *by_node;
};

static json_t *taken_json(const struct place *p, const struct vector_lever *l,
                          const struct vector_counts *a, const struct vector_counts *b,
                          struct tally *t)
{
    json_t *array = json_array();
    for (size_t k = 0; k < l->choices_n; k++) {
        const struct choice *c = &l->choices[k];
        json_t *o = json_pack("{s:i, s:i, s:n, s:n}", "vector", (int)c->vector, "threads",
                              (int)c->threads, "irq", "interrupts");
        for (size_t i = 0; i < l->taken.n; i++) {
            if (l->taken.list[i].number != (int)c->vector)
                continue;
            json_object_set_new(o, "irq", json_integer(l->taken.list[i].irq));
            if (!a || !b)
                continue;
            struct vector_delta d = vector_delta(a, b, i);
            t->total += d.total;
            t->accepted += d.accepted;
            vector_delta_by_node(a, b, i, p->topo, t->by_node);
            json_object_set_new(o, "interrupts", json_integer((json_int_t)d.total));
        }
        if (c->threads)
            json_array_append_new(array, o);
        else
            json_decref(o);
    }
    return array;
}

static void judge(const struct place *p, const struct vector_lever *l, const struct tally *t,
                  struct lever_seen *out)
{
    double min = lever_min_share(p);
    if (!l->base.asked)
        out->reason = text_printf("not asked for: all vectors in turn");
    else if (l->named)
        out->reached = REACHED_YES;
    else if (p->device.soft)
        out->reason = text_printf("%s is a soft device without interrupts: its vectors are all "
                                  "alike and taken in turn, the work queues decide",
                                  p->device.name);
    else if (!t->total)
        out->reason =
            text_printf("no interrupt of the vectors that were taken fired in the window");
    else if ((double)t->accepted >= min * (double)t->total)
        out->reached = REACHED_YES;
    else {
        out->reached = REACHED_NO;
        out->reason = text_printf("only %.3g %% of the interrupts of the vectors that were taken "
                                  "fired where asked, at least %.3g %% must",
                                  100.0 * (double)t->accepted / (double)t->total, 100.0 * min);
    }
}

static void observe(const struct place *p, const struct lever *lever, const struct lever_window *w,
                    struct lever_seen *out)
{
    const struct vector_lever *l = (const struct vector_lever *)lever;
    struct tally t = {.by_node = calloc(p->topo->nodes_n, sizeof(*t.by_node))};
    if (!p->ask.own_cqs || !l->choices_n || !t.by_node) {
        out->reason = text_printf(
            p->ask.own_cqs ? "no completion queue was made"
                           : "not needed: the engine makes no completion queues of its own");
        free(t.by_node);
        return;
    }
    json_t *taken = taken_json(p, l, at_edge(l, w->from), at_edge(l, w->to), &t);
    judge(p, l, &t, out);
    out->observed = lever_shares(p->topo, t.by_node, 0, "");
    out->detail = json_pack("{s:s, s:i, s:o}", "device", l->device, "vectors", (int)l->vectors_n,
                            "taken", taken);
    free(t.by_node);
}

static void release(struct lever *lever)
{
    struct vector_lever *l = (struct vector_lever *)lever;
    forget_choices(l);
    word_free(&l->cq);
    hwloc_bitmap_free(l->named);
    hwloc_bitmap_free(l->accept);
    vector_edges_free(&l->edges, l->taken.n);
    vectors_free(&l->taken);
    pthread_mutex_destroy(&l->lock);
}

const struct lever_ops lever_vector = {
    .name = "comp_vector",
    .probe = probe,
    .edge = edge,
    .observe = observe,
    .release = release,
};
