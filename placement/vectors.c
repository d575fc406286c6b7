#define _GNU_SOURCE
#include "vectors.h"

#include "sysroot.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An RDMA device has completion queues of its own only where its driver names them so; otherwise it
 * shares the vectors of the network device. */
static bool wanted(const struct device *d, enum vector_use use, bool has_completion)
{
    if (use == VECTOR_CONTROL)
        return false;
    if (d->kind == DEVICE_RDMA && has_completion)
        return use == VECTOR_COMPLETION;
    return d->kind == DEVICE_RDMA || use == VECTOR_QUEUE;
}

/* Whether two names differ in their digits only: "virtio1-input.0" and "virtio1-input.3". */
static bool same_kind(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "0123456789");
        b += strspn(b, "0123456789");
        if (*a != *b || !*a)
            return *a == *b;
    }
}

int vector_number(const char *action)
{
    size_t end = strcspn(action, "@"), start = end;
    while (start > 0 && action[start - 1] >= '0' && action[start - 1] <= '9')
        start--;
    return end > start && end - start <= 5 ? atoi(action + start) : -1;
}

static bool add_vector(struct vectors *v, unsigned irq, const char *action)
{
    struct vector *bigger = realloc(v->list, (v->n + 1) * sizeof(*bigger));
    if (!bigger)
        return false;
    v->list = bigger;
    unsigned turn = 0;
    for (size_t i = 0; i < v->n; i++)
        turn += same_kind(v->list[i].action, action);
    v->list[v->n] = (struct vector){.irq = irq,
                                    .action = strdup(action),
                                    .use = vector_use(action),
                                    .turn = turn,
                                    .number = vector_number(action)};
    return v->list[v->n++].action != NULL;
}

bool vectors_of_device(struct vectors *v, const struct device *d, struct err *err)
{
    *v = (struct vectors){0};
    if (!d->irqs_n)
        return err_set(err, STATUS_FAILED, "%s has no interrupts of its own%s", d->name,
                       d->soft ? ": it is a soft device" : "");
    struct interrupts in;
    bool ok = interrupts_read(&in, err), has_completion = false;
    for (size_t i = 0; ok && i < d->irqs_n; i++) {
        const struct interrupts_row *row = interrupts_find(&in, d->irqs[i]);
        if (row && vector_use(row->action) == VECTOR_COMPLETION)
            has_completion = true;
    }
    for (size_t i = 0; ok && i < d->irqs_n; i++) {
        const struct interrupts_row *row = interrupts_find(&in, d->irqs[i]);
        if (row && wanted(d, vector_use(row->action), has_completion) &&
            !add_vector(v, d->irqs[i], row->action))
            ok = err_set(err, STATUS_FAILED, "interrupts: out of memory");
    }
    interrupts_free(&in);
    if (ok && !v->n)
        ok = err_set(err, STATUS_FAILED,
                     "%s has %zu interrupts, but none that carries load is in use; is it up?",
                     d->name, d->irqs_n);
    if (!ok)
        vectors_free(v);
    return ok;
}

void vectors_free(struct vectors *v)
{
    for (size_t i = 0; i < v->n; i++) {
        free(v->list[i].action);
        hwloc_bitmap_free(v->list[i].accept);
    }
    free(v->list);
    *v = (struct vectors){0};
}

static void count_row(struct vector_counts *c, size_t i, const struct vector *v,
                      const struct interrupts *in, const struct topo *t)
{
    const struct interrupts_row *row = interrupts_find(in, v->irq);
    for (unsigned k = 0; row && k < in->cpus_n; k++) {
        int node = topo_node_index(t, topo_cpu_node(t, in->cpus[k]));
        c->total[i] += row->counts[k];
        if (node >= 0)
            c->by_node[i * t->nodes_n + (unsigned)node] += row->counts[k];
        if (!v->accept || hwloc_bitmap_isset(v->accept, in->cpus[k]))
            c->accepted[i] += row->counts[k];
    }
}

static char *read_affinity(unsigned irq, const char *which)
{
    char path[64], *text, *list;
    snprintf(path, sizeof(path), "/proc/irq/%u/%s", irq, which);
    if (sysroot_read(path, &text) < 0)
        return NULL;
    list = text_chomp(text);
    free(text);
    return list;
}

bool vector_fires_on(unsigned irq, hwloc_bitmap_t cpus)
{
    char *effective = read_affinity(irq, "effective_affinity_list");
    char *affinity = read_affinity(irq, "smp_affinity_list");
    hwloc_bitmap_t may = hwloc_bitmap_alloc();
    bool known = may && affinity && set_parse(may, affinity, NULL);
    bool ok = effective && set_parse(cpus, effective, NULL) && !hwloc_bitmap_iszero(cpus) &&
              (!known || hwloc_bitmap_isincluded(cpus, may));
    if (!ok && known)
        ok = hwloc_bitmap_copy(cpus, may) == 0;
    hwloc_bitmap_free(may);
    free(effective);
    free(affinity);
    return ok;
}

void vector_counts_read(struct vector_counts *c, const struct vectors *v, const struct topo *t)
{
    *c = (struct vector_counts){0};
    struct interrupts in;
    struct err err = {0};
    if (!interrupts_read(&in, &err)) {
        c->reason = strdup(err.text);
        interrupts_free(&in);
        return;
    }
    c->by_node = calloc(v->n * t->nodes_n + 1, sizeof(*c->by_node));
    c->total = calloc(v->n + 1, sizeof(*c->total));
    c->accepted = calloc(v->n + 1, sizeof(*c->accepted));
    c->effective = calloc(v->n + 1, sizeof(*c->effective));
    if (c->by_node && c->total && c->accepted && c->effective) {
        for (size_t i = 0; i < v->n; i++) {
            count_row(c, i, &v->list[i], &in, t);
            c->effective[i] = read_affinity(v->list[i].irq, "effective_affinity_list");
        }
        c->read = true;
        c->cpus = in.cpus;
        c->cpus_n = in.cpus_n;
        in.cpus = NULL;
    }
    interrupts_free(&in);
}

void vector_counts_free(struct vector_counts *c, size_t vectors_n)
{
    for (size_t i = 0; c->effective && i < vectors_n; i++)
        free(c->effective[i]);
    free(c->effective);
    free(c->by_node);
    free(c->total);
    free(c->accepted);
    free(c->cpus);
    free(c->reason);
    *c = (struct vector_counts){0};
}

void vector_edges_read(struct vector_edges *e, unsigned k, const struct vectors *v,
                       const struct topo *t)
{
    if (k >= e->n) {
        struct vector_counts *bigger = realloc(e->counts, (k + 16) * sizeof(*bigger));
        if (!bigger)
            return;
        memset(bigger + e->n, 0, (k + 16 - e->n) * sizeof(*bigger));
        e->counts = bigger;
        e->n = k + 16;
    }
    vector_counts_free(&e->counts[k], v->n);
    vector_counts_read(&e->counts[k], v, t);
}

const struct vector_counts *vector_edges_at(const struct vector_edges *e, unsigned k)
{
    return k < e->n && e->counts[k].read ? &e->counts[k] : NULL;
}

void vector_edges_free(struct vector_edges *e, size_t vectors_n)
{
    for (unsigned k = 0; k < e->n; k++)
        vector_counts_free(&e->counts[k], vectors_n);
    free(e->counts);
    *e = (struct vector_edges){0};
}

struct vector_delta vector_delta(const struct vector_counts *a, const struct vector_counts *b,
                                 size_t i)
{
    if (b->total[i] < a->total[i] || b->accepted[i] < a->accepted[i])
        return (struct vector_delta){b->total[i], b->accepted[i], true};
    return (struct vector_delta){b->total[i] - a->total[i], b->accepted[i] - a->accepted[i], false};
}

void vector_delta_by_node(const struct vector_counts *a, const struct vector_counts *b, size_t i,
                          const struct topo *t, uint64_t *by_node)
{
    bool reset = vector_delta(a, b, i).reset;
    for (unsigned n = 0; n < t->nodes_n; n++) {
        uint64_t before = reset ? 0 : a->by_node[i * t->nodes_n + n];
        uint64_t after = b->by_node[i * t->nodes_n + n];
        by_node[n] += after >= before ? after - before : after;
    }
}
