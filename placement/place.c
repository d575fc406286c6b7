#include "lever.h"

#include "sysroot.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

static const struct lever_ops *const levers[] = {&lever_cpus, &lever_mem, &lever_unbound};

#define LEVERS_N (sizeof(levers) / sizeof(*levers))
_Static_assert(LEVERS_N <= LEVERS_MAX, "raise LEVERS_MAX");

void *lever_new(const struct lever_ops *ops, size_t bytes, const char *word, bool asked,
                struct err *err)
{
    struct lever *l = calloc(1, bytes);
    char *copy = strdup(word);
    if (!l || !copy) {
        free(l);
        free(copy);
        err_set(err, STATUS_FAILED, "%s: out of memory", ops->name);
        return NULL;
    }
    l->ops = ops;
    l->asked = asked;
    l->word = copy;
    return l;
}

/* Strings of our own, so that the caller's may go away. */
static bool copy_ask(struct place *p, const struct place_ask *ask)
{
    const char *const from[] = {ask->cpus ? ask->cpus : "unpinned", ask->mem ? ask->mem : "default",
                                ask->unbound ? ask->unbound : "leave"};
    for (unsigned i = 0; i < sizeof(from) / sizeof(*from); i++) {
        p->ask_text[i] = strdup(from[i]);
        if (!p->ask_text[i])
            return false;
    }
    p->ask = *ask;
    p->ask.cpus = p->ask_text[0];
    p->ask.mem = p->ask_text[1];
    p->ask.unbound = p->ask_text[2];
    return true;
}

bool place_plan(struct place **out, const struct topo *topo, const struct place_ask *ask,
                struct err *err)
{
    *out = NULL;
    if (!ask->threads)
        return err_set(err, STATUS_USAGE, "threads = 0: a placement needs at least one thread");
    struct place *p = calloc(1, sizeof(*p));
    if (!p || !copy_ask(p, ask)) {
        place_free(p);
        return err_set(err, STATUS_FAILED, "placement: out of memory");
    }
    p->topo = topo;
    for (size_t i = 0; i < LEVERS_N; i++) {
        struct lever *l = NULL;
        bool ok = levers[i]->probe(p, &l, err);
        if (l)
            p->levers[p->levers_n++] = l;
        if (!ok) {
            place_free(p);
            return false;
        }
    }
    *out = p;
    return true;
}

static void free_sets(hwloc_bitmap_t *sets, unsigned n)
{
    for (unsigned i = 0; sets && i < n; i++)
        hwloc_bitmap_free(sets[i]);
    free(sets);
}

static void free_pages(struct place *p)
{
    for (unsigned i = 0; p->pages && i < p->ask.threads; i++)
        pages_seen_free(&p->pages[i]);
    free(p->pages);
    p->pages = NULL;
}

void place_free(struct place *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->levers_n; i++) {
        struct lever *l = p->levers[i];
        free(l->word);
        free(l->applied);
        l->ops->free(l);
    }
    free_sets(p->thread_cpus, p->ask.threads);
    free_sets(p->thread_mem, p->ask.threads);
    free_pages(p);
    for (unsigned i = 0; i < sizeof(p->ask_text) / sizeof(*p->ask_text); i++)
        free(p->ask_text[i]);
    free(p);
}

static bool refuse_replay(const struct lever *l, struct err *err)
{
    return err_set(err, STATUS_USAGE,
                   "%s = %s: a recorded tree (%s) can be planned for, not run on", l->ops->name,
                   l->word, sysroot_get());
}

bool place_apply(struct place *p, struct err *err)
{
    for (size_t i = 0; !sysroot_live() && i < p->levers_n; i++)
        if (p->levers[i]->asked)
            return refuse_replay(p->levers[i], err);
    for (size_t i = 0; i < p->levers_n; i++) {
        struct lever *l = p->levers[i];
        if (!l->asked || !l->ops->apply || l->ops->apply(p, l, err))
            continue;
        struct err left;
        if (!place_restore(p, &left))
            err_prefix(err, "%s", left.text);
        return false;
    }
    return true;
}

bool place_bind_thread(const struct place *p, unsigned thread, struct err *err)
{
    if (thread >= p->ask.threads)
        return err_set(err, STATUS_FAILED, "thread %u: the placement was made for %u", thread,
                       p->ask.threads);
    for (size_t i = 0; i < p->levers_n; i++) {
        const struct lever *l = p->levers[i];
        if (!l->asked || !l->ops->bind_thread)
            continue;
        if (!sysroot_live())
            return refuse_replay(l, err);
        if (!l->ops->bind_thread(p, l, thread, err))
            return err_prefix(err, "%s = %s", l->ops->name, l->word);
    }
    return true;
}

bool place_bind_memory(const struct place *p, unsigned thread, void *addr, size_t bytes,
                       struct err *err)
{
    if (thread >= p->ask.threads)
        return err_set(err, STATUS_FAILED, "thread %u: the placement was made for %u", thread,
                       p->ask.threads);
    for (size_t i = 0; i < p->levers_n; i++) {
        const struct lever *l = p->levers[i];
        if (!l->asked || !l->ops->bind_memory)
            continue;
        if (!sysroot_live())
            return refuse_replay(l, err);
        if (!l->ops->bind_memory(p, l, thread, addr, bytes, err))
            return err_prefix(err, "%s = %s", l->ops->name, l->word);
    }
    return true;
}

hwloc_const_bitmap_t place_thread_cpus(const struct place *p, unsigned thread)
{
    return p->thread_cpus && thread < p->ask.threads ? p->thread_cpus[thread] : NULL;
}

int place_thread_mem_node(const struct place *p, unsigned thread)
{
    if (!p->thread_mem || thread >= p->ask.threads || !p->thread_mem[thread])
        return -1;
    bool one = hwloc_bitmap_weight(p->thread_mem[thread]) == 1;
    return one ? hwloc_bitmap_first(p->thread_mem[thread]) : -1;
}

void place_edge(struct place *p, unsigned edge)
{
    for (size_t i = 0; i < p->levers_n; i++)
        if (p->levers[i]->ops->edge)
            p->levers[i]->ops->edge(p->levers[i], edge);
}

void place_query_pages(struct place *p, const struct place_buffer *buffers, size_t n)
{
    free_pages(p);
    if (!sysroot_live() || n != p->ask.threads)
        return;
    p->pages = calloc(n, sizeof(*p->pages));
    for (size_t i = 0; p->pages && i < n; i++)
        if (!pages_query(p->topo, buffers[i].addr, buffers[i].bytes, buffers[i].page_bytes,
                         &p->pages[i])) {
            free_pages(p);
            return;
        }
}

/* A key with NULL behind it stays in the record as null: unavailable, the reason beside it. */
static json_t *string_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

static json_t *lever_json(const struct lever *l, const struct lever_seen *s)
{
    json_t *reached =
        s->reached == REACHED_UNKNOWN ? json_null() : json_boolean(s->reached == REACHED_YES);
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "lever", l->ops->name, "asked", l->word,
                     "applied", string_or_null(l->applied), "observed", string_or_null(s->observed),
                     "reached", reached, "reason", string_or_null(s->reason), "detail",
                     s->detail ? s->detail : json_object());
}

bool place_observe(struct place *p, const struct place_thread_seen *seen, size_t n, unsigned from,
                   unsigned to, json_t *array)
{
    const struct lever_window w = {.seen = seen, .seen_n = n, .from = from, .to = to};
    bool all = true;
    for (size_t i = 0; i < p->levers_n; i++) {
        const struct lever *l = p->levers[i];
        struct lever_seen s = {.reached = REACHED_UNKNOWN};
        l->ops->observe(p, l, &w, &s);
        if (l->asked && s.reached == REACHED_NO)
            all = false;
        json_array_append_new(array, lever_json(l, &s));
        free(s.observed);
        free(s.reason);
    }
    return all;
}

bool place_restore(struct place *p, struct err *err)
{
    bool all = true;
    for (size_t i = p->levers_n; i-- > 0;) {
        struct lever *l = p->levers[i];
        struct err one;
        if (!l->ops->restore || l->ops->restore(l, &one))
            continue;
        if (all && err)
            *err = one;
        else if (!all)
            err_prefix(err, "%s", one.text);
        all = false;
    }
    return all;
}

char *lever_shares(const struct topo *t, const uint64_t *by_node, uint64_t other,
                   const char *other_name)
{
    uint64_t total = other;
    for (unsigned i = 0; i < t->nodes_n; i++)
        total += by_node[i];
    char *text = NULL;
    for (unsigned i = 0; i < t->nodes_n; i++)
        if (by_node[i])
            text_append(&text, "%snode%d %.3g %%", text ? ", " : "", t->nodes[i].id,
                        100.0 * (double)by_node[i] / (double)total);
    if (other)
        text_append(&text, "%s%s %.3g %%", text ? ", " : "", other_name,
                    100.0 * (double)other / (double)total);
    return text;
}

json_t *lever_counts(const struct topo *t, const uint64_t *by_node)
{
    json_t *counts = json_object();
    for (unsigned i = 0; i < t->nodes_n; i++) {
        char id[16];
        snprintf(id, sizeof(id), "%d", t->nodes[i].id);
        json_object_set_new(counts, id, json_integer((json_int_t)by_node[i]));
    }
    return counts;
}
