/* The interrupts behind a device's completion queues: /proc/irq/N/smp_affinity_list (Documentation/
 * core-api/irq/irq-affinity.rst), one CPU a vector, spread over the node's cores first. A soft
 * device has no interrupts: its completions run in unbound work queues, so the unbound lever acts
 * instead. */
#define _GNU_SOURCE
#include "lever.h"

#include "sysroot.h"
#include "text.h"
#include "vectors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEY "cq"

struct irq {
    struct lever base; /* values[i] is the affinity of vectors.list[i] */
    struct vectors vectors;
    struct vector_counts applied; /* right after the writes */
    struct vector_edges edges;
    char *not_applicable; /* why there is nothing to watch */
};

static bool no_memory(struct err *err)
{
    return err_set(err, STATUS_FAILED, KEY ": out of memory");
}

/* The CPUs where a vector may fire, and its turn among the vectors with the same ones. Vectors of a
 * kind take turns, so that receive and transmit queues are each spread. */
static bool accept_of(struct place *p, const struct word *w, const struct vector *v,
                      hwloc_bitmap_t out, unsigned *turn, struct err *err)
{
    *turn = v->turn;
    if (w->kind != WORD_BALANCED)
        return lever_cpus_of_word(p, KEY, p->ask.cq, w, USABLE_FOR_KERNEL, out, err);
    unsigned with_cpus = 0, nth = 0;
    for (unsigned n = 0; n < p->topo->nodes_n; n++)
        with_cpus += hwloc_bitmap_intersects(p->topo->nodes[n].listed, p->topo->online);
    if (!with_cpus)
        return err_set(err, STATUS_FAILED, KEY " = balanced: no node has CPUs online");
    for (unsigned n = 0; n < p->topo->nodes_n; n++) {
        if (!hwloc_bitmap_intersects(p->topo->nodes[n].listed, p->topo->online) ||
            nth++ != v->turn % with_cpus)
            continue;
        *turn = v->turn / with_cpus;
        hwloc_bitmap_and(out, p->topo->nodes[n].listed, p->topo->online);
    }
    return true;
}

static bool plan_vector(struct place *p, const struct word *w, struct irq *l, size_t i,
                        struct err *err)
{
    struct vector *v = &l->vectors.list[i];
    char path[64], *want = NULL;
    snprintf(path, sizeof(path), "/proc/irq/%u/smp_affinity_list", v->irq);
    if (l->base.asked) {
        unsigned turn;
        v->accept = hwloc_bitmap_alloc();
        if (!v->accept)
            return no_memory(err);
        if (!accept_of(p, w, v, v->accept, &turn, err))
            return false;
        want = text_printf("%d", usable_nth(p->topo, v->accept, turn));
        if (!want)
            return no_memory(err);
    }
    int error = lever_add_value(&l->base, path, want);
    return error == 0 ||
           err_set(err, STATUS_FAILED, KEY " = %s: %s: %s", p->ask.cq, path, strerror(-error));
}

/* What can be known before a write: the right to write at all. */
static bool check_writable(const struct irq *l, struct err *err)
{
    for (size_t i = 0; i < l->base.values_n; i++) {
        const char *path = l->base.values[i].s.path;
        if (access(path, W_OK) == 0)
            continue;
        if (errno == EROFS)
            return err_set(err, STATUS_FAILED,
                           KEY " = %s: /proc/irq is mounted read-only here, as in a container",
                           l->base.word);
        return err_set(err, STATUS_FAILED, KEY " = %s: needs root, to write %s", l->base.word,
                       path);
    }
    return true;
}

/* A soft device: hands the CPUs over to the unbound lever. */
static bool plan_soft(struct place *p, const struct word *w, struct irq *l, struct err *err)
{
    l->not_applicable =
        text_printf("not applicable: %s is a soft device without interrupts%s", p->device.name,
                    l->base.asked ? "; the masks of the unbound work queues are set instead" : "");
    if (!l->base.asked)
        return true;
    l->base.asked = false;
    p->workqueue_cpus = hwloc_bitmap_alloc();
    if (!p->workqueue_cpus)
        return no_memory(err);
    if (w->kind == WORD_BALANCED)
        return hwloc_bitmap_copy(p->workqueue_cpus, p->topo->online) == 0;
    return lever_cpus_of_word(p, KEY, p->ask.cq, w, USABLE_FOR_KERNEL, p->workqueue_cpus, err);
}

static bool plan(struct place *p, const struct word *w, struct irq *l, struct err *err)
{
    if (!p->device_named) {
        l->not_applicable = text_printf("no device was named");
        char key[64];
        snprintf(key, sizeof(key), KEY " = %.50s", p->ask.cq);
        return !l->base.asked || lever_no_device(p, key, err);
    }
    if (p->device.soft)
        return plan_soft(p, w, l, err);
    if (p->vectors_suffice) {
        l->base.asked = false;
        l->not_applicable = text_printf("the engine's own completion queues take vectors of %s "
                                        "that fire where asked; no interrupt is moved",
                                        p->device.name);
        return true;
    }
    struct err none = {0};
    if (!vectors_of_device(&l->vectors, &p->device, &none)) {
        l->not_applicable = strdup(none.text);
        return !l->base.asked || err_set(err, none.status, KEY " = %s: %s", p->ask.cq, none.text);
    }
    for (size_t i = 0; i < l->vectors.n; i++)
        if (!plan_vector(p, w, l, i, err))
            return false;
    if (!l->base.asked || !sysroot_live())
        return true;
    return check_writable(l, err);
}

static bool probe(struct place *p, struct lever **out, struct err *err)
{
    struct word w;
    bool ok = word_parse(&w, KEY, p->ask.cq, CQ_WORDS, err);
    if (ok) {
        struct irq *l = lever_new(&lever_irq, sizeof(*l), p->ask.cq, w.kind != WORD_LEAVE, err);
        ok = l != NULL;
        if (ok) {
            *out = &l->base;
            ok = plan(p, &w, l, err);
        }
    }
    word_free(&w);
    return ok;
}

/* Why the kernel did not take an affinity. The right to write was there, so EPERM is not about
 * that: newer kernels answer it for managed interrupts, older ones EIO. */
static const char *refusal(int error)
{
    switch (-error) {
    case EIO:
    case EPERM:
        return "managed by the kernel, its affinity cannot be set";
    case ENOSPC:
        return "no interrupt vector is left on the CPU";
    case EROFS:
        return "/proc/irq is read-only";
    case EINVAL:
        return "the kernel takes none of these CPUs";
    default:
        return strerror(-error);
    }
}

/* "24 (virtio1-input.0): managed ...; 25 ..." or NULL when all were taken. */
static char *list_refused(const struct irq *l)
{
    char *text = NULL;
    for (size_t i = 0; i < l->vectors.n; i++)
        if (l->base.values[i].error)
            text_append(&text, "%s%u (%s): %s", text ? "; " : "", l->vectors.list[i].irq,
                        l->vectors.list[i].action, refusal(l->base.values[i].error));
    return text;
}

/* Writes one affinity. Where a CPU has no vector left, the other accepted CPUs are tried. */
static bool write_vector(struct place *p, struct irq *l, size_t i, struct err *err)
{
    struct lever_value *v = &l->base.values[i];
    hwloc_const_bitmap_t accept = l->vectors.list[i].accept;
    if (!lever_write(p, v, err))
        return false;
    for (int n = 0; v->error == -ENOSPC && n < hwloc_bitmap_weight(accept); n++) {
        char *other = text_printf("%d", usable_nth(p->topo, accept, (unsigned)n));
        if (!other)
            return no_memory(err);
        free(v->want);
        v->want = other;
        if (!lever_write(p, v, err))
            return false;
    }
    return true;
}

static bool apply(struct place *p, struct lever *lever, struct err *err)
{
    struct irq *l = (struct irq *)lever;
    /* With strict nothing may have moved when one refuses, so all are asked first. */
    for (size_t i = 0; p->ask.strict && i < l->vectors.n; i++)
        l->base.values[i].error = setting_try(&l->base.values[i].s);
    char *refused = list_refused(l);
    for (size_t i = 0; !refused && i < l->vectors.n; i++)
        if (!write_vector(p, l, i, err))
            return err_prefix(err, KEY " = %s", lever->word);
    if (!refused)
        refused = list_refused(l);
    if (refused && p->ask.strict) {
        err_set(err, STATUS_FAILED, KEY " = %s: %s", lever->word, refused);
        free(refused);
        return false;
    }
    size_t moved = 0;
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    for (size_t i = 0; i < l->vectors.n; i++) {
        moved += l->base.values[i].error == 0;
        if (cpus && l->base.values[i].error == 0)
            hwloc_bitmap_set(cpus, (unsigned)atoi(l->base.values[i].want));
    }
    char *list = cpus ? set_format(cpus) : NULL;
    lever->applied = text_printf("%zu of %zu interrupts of %s on CPUs %s", moved, l->vectors.n,
                                 p->device.name, moved && list ? list : "(none)");
    free(list);
    hwloc_bitmap_free(cpus);
    free(refused);
    vector_counts_read(&l->applied, &l->vectors, p->topo);
    return true;
}

static void edge(const struct place *p, struct lever *lever, unsigned k)
{
    struct irq *l = (struct irq *)lever;
    if (!l->vectors.n)
        return;
    vector_edges_read(&l->edges, k, &l->vectors, p->topo);
}

static bool outside(const char *effective, hwloc_const_bitmap_t accept)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    bool out = set && accept && effective && set_parse(set, effective, NULL) &&
               !hwloc_bitmap_isincluded(set, accept);
    hwloc_bitmap_free(set);
    return out;
}

static json_t *text_json(const char *text)
{
    char *plain = text ? text_chomp(text) : NULL;
    json_t *value = plain ? json_string(plain) : json_null();
    free(plain);
    return value;
}

/* effective_affinity follows a write only with the next interrupt, so before that it says nothing.
 */
static bool has_fired(const struct irq *l, size_t i, const struct vector_counts *b)
{
    return l->applied.read && b->total[i] != l->applied.total[i];
}

/* "25 (virtio1-input.0) on CPU 3; ..." of vectors that took the affinity and fire elsewhere, as
 * some interrupt controllers have it; NULL: none. */
static char *list_outside(const struct irq *l, const struct vector_counts *b)
{
    char *text = NULL;
    for (size_t i = 0; i < l->vectors.n; i++) {
        const struct vector *v = &l->vectors.list[i];
        if (l->base.values[i].s.after && has_fired(l, i, b) && outside(b->effective[i], v->accept))
            text_append(&text, "%s%u (%s) on CPU %s", text ? "; " : "", v->irq, v->action,
                        b->effective[i]);
    }
    return text;
}

static json_t *vector_json(const struct place *p, const struct irq *l, size_t i,
                           const struct vector_counts *a, const struct vector_counts *b,
                           unsigned to)
{
    const struct vector *v = &l->vectors.list[i];
    const struct lever_value *value = &l->base.values[i];
    struct vector_delta d = vector_delta(a, b, i);
    uint64_t *by_node = calloc(p->topo->nodes_n, sizeof(*by_node));
    if (!by_node)
        return json_null();
    vector_delta_by_node(a, b, i, p->topo, by_node);
    bool fired = has_fired(l, i, b);
    json_t *object = json_pack(
        "{s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:I, s:o, s:b, s:o}", "irq", (int)v->irq, "name",
        v->action, "use", vector_use_name(v->use), "cpus_before", text_json(value->s.before),
        "cpu_asked", text_json(value->want), "cpus_at_to", text_json(setting_at(&value->s, to)),
        "effective_at_to", text_json(b->effective[i]), "interrupts", (json_int_t)d.total, "by_node",
        lever_counts(p->topo, by_node), "count_was_reset", d.reset, "refused",
        value->error ? json_string(refusal(value->error)) : json_null());
    free(by_node);
    if (value->s.after)
        json_object_set_new(object, "effective_outside",
                            fired ? json_boolean(outside(b->effective[i], v->accept))
                                  : json_null());
    return object;
}

/* The first affinity that is no longer what we left; NULL when all are. */
static char *changed_by_others(const struct irq *l, const struct lever_window *w)
{
    for (size_t i = 0; i < l->vectors.n; i++) {
        const struct setting *s = &l->base.values[i].s;
        const char *ours = s->after;
        for (unsigned k = w->from; ours && k <= w->to; k++) {
            const char *now = setting_at(s, k);
            if (!now || strcmp(now, ours) == 0)
                continue;
            char *a = text_chomp(ours), *b = text_chomp(now);
            char *text = text_printf("%s: somebody else changed it from %s to %s (seen at edge %u)",
                                     s->path, a, b, k);
            free(a);
            free(b);
            return text;
        }
    }
    return NULL;
}

static const struct vector_counts *at_edge(const struct irq *l, unsigned k)
{
    return vector_edges_at(&l->edges, k);
}

static bool same_columns(const struct vector_counts *a, const struct vector_counts *b)
{
    return a->cpus_n == b->cpus_n && memcmp(a->cpus, b->cpus, a->cpus_n * sizeof(*a->cpus)) == 0;
}

struct tally {
    uint64_t total, accepted;
    uint64_t *by_node;
};

static void judge(const struct place *p, const struct irq *l, const struct lever_window *w,
                  const struct vector_counts *a, const struct vector_counts *b,
                  const struct tally *t, struct lever_seen *out)
{
    double min = lever_min_share(p);
    out->reached = REACHED_UNKNOWN;
    if (!l->base.asked || !l->base.applied) {
        out->reason = text_printf(l->base.asked ? "not applied" : "not asked for");
    } else if ((out->reason = changed_by_others(l, w))) {
        out->reached = REACHED_NO;
    } else if (!same_columns(a, b)) {
        out->reached = REACHED_NO;
        out->reason = text_printf("CPUs came or went in the window: the columns of "
                                  "/proc/interrupts changed");
    } else if (!t->total) {
        out->reason = text_printf("no interrupt of %s fired in the window", p->device.name);
    } else if ((double)t->accepted < min * (double)t->total) {
        char *refused = list_refused(l), *elsewhere = list_outside(l, b);
        out->reached = REACHED_NO;
        out->reason = text_printf(
            "only %.3g %% of the interrupts fired where asked, at least %.3g %% "
            "must%s%s%s%s",
            100.0 * (double)t->accepted / (double)t->total, 100.0 * min,
            refused ? "; not moved: " : "", refused ? refused : "",
            elsewhere ? "; took it and fire elsewhere: " : "", elsewhere ? elsewhere : "");
        free(refused);
        free(elsewhere);
    } else {
        out->reached = REACHED_YES;
    }
}

static void observe(const struct place *p, const struct lever *lever, const struct lever_window *w,
                    struct lever_seen *out)
{
    const struct irq *l = (const struct irq *)lever;
    const struct vector_counts *a = at_edge(l, w->from), *b = at_edge(l, w->to);
    struct tally t = {.by_node = calloc(p->topo->nodes_n, sizeof(*t.by_node))};
    if (l->not_applicable || !a || !b || !t.by_node) {
        if (p->device_named)
            out->detail = json_pack("{s:s, s:s}", "device", p->device.name, "device_chosen",
                                    p->device_how ? p->device_how : "named");
        out->reason = text_printf("%s", l->not_applicable ? l->not_applicable
                                                          : "/proc/interrupts was not read");
        free(t.by_node);
        return;
    }
    json_t *vectors = json_array();
    for (size_t i = 0; i < l->vectors.n; i++) {
        struct vector_delta d = vector_delta(a, b, i);
        t.total += d.total;
        t.accepted += d.accepted;
        vector_delta_by_node(a, b, i, p->topo, t.by_node);
        json_array_append_new(vectors, vector_json(p, l, i, a, b, w->to));
    }
    judge(p, l, w, a, b, &t, out);
    out->observed = lever_shares(p->topo, t.by_node, 0, "");
    out->detail = json_pack("{s:s, s:s, s:s, s:i, s:I, s:o, s:o}", "device", p->device.name,
                            "device_chosen", p->device_how ? p->device_how : "named", "kind",
                            device_kind_name(p->device.kind), "numa_node", p->device.numa_node,
                            "interrupts", (json_int_t)t.total, "interrupts_where_asked",
                            l->base.asked ? json_integer((json_int_t)t.accepted) : json_null(),
                            "vectors", vectors);
    free(t.by_node);
}

static void release(struct lever *lever)
{
    struct irq *l = (struct irq *)lever;
    vector_edges_free(&l->edges, l->vectors.n);
    vector_counts_free(&l->applied, l->vectors.n);
    vectors_free(&l->vectors);
    free(l->not_applicable);
}

const struct lever_ops lever_irq = {
    .name = KEY,
    .probe = probe,
    .apply = apply,
    .edge = edge,
    .observe = observe,
    .release = release,
};
