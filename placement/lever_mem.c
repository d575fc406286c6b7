/* The nodes of the worker threads' memory: strict policies (set_mempolicy(2), mbind(2)), seen
 * through a query of where the buffers' pages are (move_pages(2)).
 *
 * local: strictly the node, or nodes, of the thread's CPUs. A thread that is not pinned has
 * MPOL_LOCAL: its memory comes from wherever it runs at the moment, so no node is promised and
 * "reached" stays unknown. */
#include "lever.h"

#include "sysroot.h"
#include "text.h"

#include <errno.h>
#include <numaif.h>
#include <stdlib.h>
#include <string.h>

#define KEY "mem"
#define WORDS                                                                                      \
    (ACCEPT_WORD(WORD_DEFAULT) | ACCEPT_WORD(WORD_LOCAL) | ACCEPT_WORD(WORD_NODE) |                \
     ACCEPT_WORD(WORD_INTERLEAVE))

#define REACHED_SHARE 0.99

/* Of a node's memory, never asked for: the kernel's watermarks keep about as much back. */
#define RESERVE_DIVISOR 64

struct mem {
    struct lever base;
    enum word_kind kind;
    int mode; /* MPOL_ of the threads that have nodes */
};

static bool no_memory(struct err *err)
{
    return err_set(err, STATUS_FAILED, KEY ": out of memory");
}

/* "1 (distance 10), 2 (distance 12)": nodes with memory as seen from topo->nodes[from]. */
static char *nearest_with_memory(const struct topo *t, unsigned from)
{
    char *text = NULL;
    bool *told = calloc(t->nodes_n, sizeof(*told));
    for (unsigned round = 0; told && round < t->nodes_n; round++) {
        int best = -1;
        for (unsigned i = 0; i < t->nodes_n; i++) {
            if (told[i] || !t->nodes[i].has_memory || !t->nodes[i].mem_allowed)
                continue;
            unsigned d = (unsigned)t->nodes[from].distance[i];
            if (best < 0 || d < (unsigned)t->nodes[from].distance[best])
                best = (int)i;
        }
        if (best < 0)
            break;
        told[best] = true;
        int d = t->nodes[from].distance[best];
        text_append(&text, "%s%d", text ? ", " : "", t->nodes[best].id);
        if (d >= 0)
            text_append(&text, " (distance %d)", d);
    }
    free(told);
    return text ? text : text_printf("none");
}

/* Whether a node can give memory at all. */
static bool node_gives(const struct topo *t, const char *word, int id, struct err *err)
{
    int i = topo_node_index(t, id);
    if (i < 0) {
        hwloc_bitmap_t nodes = topo_nodes(t);
        char *list = nodes ? set_format(nodes) : NULL;
        err_set(err, STATUS_FAILED, KEY " = %s: there is no node %d; this machine has node%s %s",
                word, id, t->nodes_n > 1 ? "s" : "", list);
        free(list);
        hwloc_bitmap_free(nodes);
        return false;
    }
    const struct topo_node *node = &t->nodes[i];
    if (node->has_memory && node->mem_allowed)
        return true;
    char *others = nearest_with_memory(t, (unsigned)i);
    if (!node->has_memory)
        err_set(err, STATUS_FAILED,
                KEY " = %s: node %d has no memory; nodes with memory, nearest first: %s", word, id,
                others);
    else
        err_set(err, STATUS_FAILED,
                KEY " = %s: the memory of node %d is outside the cpuset of this process "
                    "(Mems_allowed); nodes with memory, nearest first: %s",
                word, id, others);
    free(others);
    return false;
}

/* The nodes of a pinned thread's CPUs, all of which must have memory. */
static hwloc_bitmap_t local_nodes(const struct place *p, unsigned thread, struct err *err)
{
    hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
    if (!nodes) {
        no_memory(err);
        return NULL;
    }
    bool ok = true;
    int c;
    hwloc_bitmap_foreach_begin(c, p->thread_cpus[thread])
    {
        int node = topo_cpu_node(p->topo, (unsigned)c);
        if (node < 0)
            ok = err_set(err, STATUS_FAILED,
                         KEY " = local: CPU %d belongs to no node; name a node with node:N", c);
        else if (!hwloc_bitmap_isset(nodes, (unsigned)node))
            ok = node_gives(p->topo, p->ask.mem, node, err);
        if (!ok)
            break;
        hwloc_bitmap_set(nodes, (unsigned)node);
    }
    hwloc_bitmap_foreach_end();
    if (ok)
        return nodes;
    hwloc_bitmap_free(nodes);
    return NULL;
}

static bool enough_memory(const struct place *p, hwloc_const_bitmap_t nodes, unsigned threads,
                          struct err *err)
{
    uint64_t free_bytes = 0, file_bytes = 0, reserve = 0, need;
    for (unsigned i = 0; i < p->topo->nodes_n; i++) {
        const struct topo_node *node = &p->topo->nodes[i];
        if (!hwloc_bitmap_isset(nodes, (unsigned)node->id))
            continue;
        free_bytes += node->mem_free_bytes;
        file_bytes += node->mem_file_bytes;
        reserve += node->mem_total_bytes / RESERVE_DIVISOR;
    }
    if (__builtin_mul_overflow(p->ask.bytes_per_thread, threads, &need))
        need = UINT64_MAX;
    uint64_t have = free_bytes + file_bytes > reserve ? free_bytes + file_bytes - reserve : 0;
    if (need <= have)
        return true;
    char b[5][TEXT_BYTES_MAX];
    char *list = set_format(nodes);
    err_set(err, STATUS_FAILED,
            KEY
            " = %s: %u threads need %s (%s each), node%s %s can give %s: %s free and %s of page "
            "cache, less a reserve of %s",
            p->ask.mem, threads, text_bytes(b[0], need), text_bytes(b[1], p->ask.bytes_per_thread),
            hwloc_bitmap_weight(nodes) > 1 ? "s" : "", list, text_bytes(b[2], have),
            text_bytes(b[3], free_bytes), text_bytes(b[4], file_bytes),
            text_bytes((char[TEXT_BYTES_MAX]){0}, reserve));
    free(list);
    return false;
}

/* Threads with the same nodes share what these can give. */
static bool check_memory(const struct place *p, struct err *err)
{
    for (unsigned i = 0; i < p->ask.threads; i++) {
        unsigned same = 0;
        bool first = true;
        for (unsigned j = 0; p->thread_mem[i] && j < p->ask.threads; j++) {
            if (!p->thread_mem[j] || !hwloc_bitmap_isequal(p->thread_mem[i], p->thread_mem[j]))
                continue;
            first = first && j >= i;
            same++;
        }
        if (same && first && !enough_memory(p, p->thread_mem[i], same, err))
            return false;
    }
    return true;
}

static bool plan_nodes(struct place *p, const struct word *w, struct err *err)
{
    p->thread_mem = calloc(p->ask.threads, sizeof(*p->thread_mem));
    if (!p->thread_mem)
        return no_memory(err);
    if (w->kind == WORD_NODE && !node_gives(p->topo, p->ask.mem, w->id, err))
        return false;
    for (unsigned i = 0; i < p->ask.threads; i++) {
        if (w->kind == WORD_LOCAL) {
            if (!p->thread_cpus)
                continue;
            p->thread_mem[i] = local_nodes(p, i, err);
            if (!p->thread_mem[i])
                return false;
            continue;
        }
        p->thread_mem[i] =
            w->kind == WORD_INTERLEAVE ? topo_nodes_with_memory(p->topo) : hwloc_bitmap_alloc();
        if (!p->thread_mem[i])
            return no_memory(err);
        if (w->kind == WORD_NODE)
            hwloc_bitmap_only(p->thread_mem[i], (unsigned)w->id);
    }
    return check_memory(p, err);
}

static char *describe(const struct place *p, const struct mem *l)
{
    if (!p->topo->numa)
        return text_printf("nothing to do: the kernel has no NUMA");
    hwloc_bitmap_t all = hwloc_bitmap_alloc();
    for (unsigned i = 0; all && i < p->ask.threads; i++)
        if (p->thread_mem[i])
            hwloc_bitmap_or(all, all, p->thread_mem[i]);
    char *list = all ? set_format(all) : NULL, *text;
    const char *s = all && hwloc_bitmap_weight(all) > 1 ? "s" : "";
    if (l->kind == WORD_LOCAL && !p->thread_cpus)
        text = text_printf("preferred: the node where each thread runs");
    else if (l->kind == WORD_INTERLEAVE)
        text = text_printf("interleaved over node%s %s", s, list);
    else
        text = text_printf("strictly node%s %s%s", s, list,
                           l->kind == WORD_LOCAL ? ", of each thread's CPUs" : "");
    free(list);
    hwloc_bitmap_free(all);
    return text;
}

static bool probe(struct place *p, struct lever **out, struct err *err)
{
    struct word w;
    bool ok = word_parse(&w, KEY, p->ask.mem, WORDS, err);
    if (!ok)
        goto out;
    struct mem *l = lever_new(&lever_mem, sizeof(*l), p->ask.mem, w.kind != WORD_DEFAULT, err);
    ok = l != NULL;
    if (!ok)
        goto out;
    *out = &l->base;
    l->kind = w.kind;
    l->mode = w.kind == WORD_INTERLEAVE ? MPOL_INTERLEAVE : MPOL_BIND;
    if (w.kind == WORD_DEFAULT)
        goto out;
    ok = plan_nodes(p, &w, err);
    if (ok && sysroot_live() && p->topo->numa) {
        int error = pages_policy_probe();
        ok = error == 0 || pages_policy_refused("set_mempolicy", error, err) ||
             err_prefix(err, KEY " = %s", p->ask.mem);
    }
    if (ok)
        l->base.applied = describe(p, l);
out:
    word_free(&w);
    return ok;
}

static bool bind_thread(const struct place *p, const struct lever *l, unsigned thread,
                        struct err *err)
{
    if (!p->topo->numa)
        return true;
    hwloc_const_bitmap_t nodes = p->thread_mem[thread];
    int error = pages_policy_thread(nodes ? ((const struct mem *)l)->mode : MPOL_LOCAL, nodes);
    return error == 0 || pages_policy_refused("set_mempolicy", error, err);
}

static bool bind_memory(const struct place *p, const struct lever *l, unsigned thread, void *addr,
                        size_t bytes, struct err *err)
{
    if (!p->topo->numa)
        return true;
    hwloc_const_bitmap_t nodes = p->thread_mem[thread];
    int error =
        pages_policy_range(nodes ? ((const struct mem *)l)->mode : MPOL_LOCAL, nodes, addr, bytes);
    return error == 0 || pages_policy_refused("mbind", error, err);
}

/* Sums over threads, in bytes, since buffers may have pages of different sizes. */
struct tally {
    uint64_t *pages_by_node, *bytes_by_node;
    uint64_t elsewhere_bytes, unmapped_pages, error_pages;
    uint64_t mapped_bytes, wanted_bytes; /* wanted: mapped and where asked */
    double worst_share;                  /* of one thread's pages where asked */
    unsigned worst_thread;
    int query_errno;
};

static void tally_thread(const struct place *p, unsigned i, struct tally *t)
{
    const struct pages_seen *seen = &p->pages[i];
    hwloc_const_bitmap_t want = p->thread_mem ? p->thread_mem[i] : NULL;
    uint64_t mapped = pages_mapped(p->topo, seen), wanted = 0;
    for (unsigned k = 0; k < p->topo->nodes_n; k++) {
        t->pages_by_node[k] += seen->by_node[k];
        t->bytes_by_node[k] += seen->by_node[k] * seen->page_bytes;
        if (want && hwloc_bitmap_isset(want, (unsigned)p->topo->nodes[k].id))
            wanted += seen->by_node[k];
    }
    t->elsewhere_bytes += seen->elsewhere * seen->page_bytes;
    t->unmapped_pages += seen->unmapped;
    t->error_pages += seen->errors;
    t->mapped_bytes += mapped * seen->page_bytes;
    t->wanted_bytes += wanted * seen->page_bytes;
    if (seen->query_errno)
        t->query_errno = seen->query_errno;
    if (mapped && (double)wanted / (double)mapped < t->worst_share) {
        t->worst_share = (double)wanted / (double)mapped;
        t->worst_thread = i;
    }
}

/* Interleaving promises even shares as well. A buffer may have one page more on a node than the
 * even share; beyond that a tenth is tolerated. */
static bool uneven(const struct place *p, const struct tally *t)
{
    uint64_t total = 0;
    unsigned n = 0;
    for (unsigned k = 0; k < p->topo->nodes_n; k++) {
        if (!hwloc_bitmap_isset(p->thread_mem[0], (unsigned)p->topo->nodes[k].id))
            continue;
        total += t->pages_by_node[k];
        n++;
    }
    double even = (double)total / n, slack = even / 10 + p->ask.threads;
    for (unsigned k = 0; k < p->topo->nodes_n; k++) {
        double have = (double)t->pages_by_node[k];
        if (hwloc_bitmap_isset(p->thread_mem[0], (unsigned)p->topo->nodes[k].id) &&
            (have > even + slack || have < even - slack))
            return true;
    }
    return false;
}

static void judge(const struct place *p, const struct mem *l, const struct tally *t,
                  struct lever_seen *out)
{
    if (!l->base.asked) {
        out->reason = text_printf("not asked for");
    } else if (!p->thread_mem[0]) {
        out->reason = text_printf("the threads are not pinned: local follows each of them, no node "
                                  "is promised");
    } else if (t->query_errno) {
        out->reason = text_printf("move_pages: %s", strerror(t->query_errno));
    } else if (!t->mapped_bytes) {
        out->reason = text_printf("no page of the buffers is in memory");
    } else if (t->worst_share < REACHED_SHARE) {
        out->reached = REACHED_NO;
        out->reason =
            text_printf("only %.3g %% of the pages are on the nodes asked for (thread %u: %.3g %%)",
                        100.0 * (double)t->wanted_bytes / (double)t->mapped_bytes, t->worst_thread,
                        100.0 * t->worst_share);
    } else if (l->kind == WORD_INTERLEAVE && uneven(p, t)) {
        out->reached = REACHED_NO;
        out->reason = text_printf("the pages are not spread evenly over the nodes");
    } else {
        out->reached = REACHED_YES;
    }
}

/* A kernel without NUMA has nowhere else to put a page, and no move_pages either. */
static void observe_without_numa(const struct lever *l, struct lever_seen *out)
{
    out->reached = l->asked ? REACHED_YES : REACHED_UNKNOWN;
    out->observed = text_printf("node0 100 %%");
    out->reason = l->asked ? NULL : text_printf("not asked for");
    out->detail = json_pack("{s:s}", "note", "the kernel has no NUMA: all memory is one node");
}

static void observe(const struct place *p, const struct lever *l, const struct lever_window *w,
                    struct lever_seen *out)
{
    (void)w;
    if (!p->topo->numa) {
        observe_without_numa(l, out);
        return;
    }
    if (!p->pages) {
        out->reason = text_printf("the pages of the buffers were not asked about");
        return;
    }
    struct tally t = {.pages_by_node = calloc(p->topo->nodes_n, sizeof(*t.pages_by_node)),
                      .bytes_by_node = calloc(p->topo->nodes_n, sizeof(*t.bytes_by_node)),
                      .worst_share = 1};
    if (t.pages_by_node && t.bytes_by_node) {
        for (unsigned i = 0; i < p->ask.threads; i++)
            tally_thread(p, i, &t);
        judge(p, (const struct mem *)l, &t, out);
        out->observed = lever_shares(p->topo, t.bytes_by_node, t.elsewhere_bytes, "unknown node");
        out->detail = json_pack(
            "{s:o, s:o, s:I, s:I}", "pages_by_node", lever_counts(p->topo, t.pages_by_node),
            "bytes_by_node", lever_counts(p->topo, t.bytes_by_node), "pages_unmapped",
            (json_int_t)t.unmapped_pages, "pages_in_error", (json_int_t)t.error_pages);
    }
    free(t.pages_by_node);
    free(t.bytes_by_node);
}

const struct lever_ops lever_mem = {
    .name = KEY,
    .probe = probe,
    .bind_thread = bind_thread,
    .bind_memory = bind_memory,
    .observe = observe,
};
