#include "lever.h"

#include "behind.h"
#include "masks.h"
#include "sysroot.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct lever_ops *const levers[] = {
    &lever_cpus,    &lever_mem, &lever_vector,    &lever_irqbalance, &lever_irq,
    &lever_unbound, &lever_rps, &lever_balancing, &lever_scope};

#define LEVERS_N (sizeof(levers) / sizeof(*levers))
_Static_assert(LEVERS_N <= LEVERS_MAX, "raise LEVERS_MAX");

/* Strings of our own, so that the caller's may go away. */
static bool copy_ask(struct place *p, const struct place_ask *ask)
{
    p->ask = *ask;
    const struct {
        const char **text, *unset;
    } texts[] = {
        {&p->ask.wq_scope, "leave"},    {&p->ask.cpus, "unpinned"},
        {&p->ask.mem, "default"},       {&p->ask.cq, "leave"},
        {&p->ask.comp_vector, "auto"},  {&p->ask.unbound, "leave"},
        {&p->ask.rps, "leave"},         {&p->ask.numa_balancing, "leave"},
        {&p->ask.irqbalance, "refuse"}, {&p->ask.device, NULL},
        {&p->ask.journal_dir, NULL},    {&p->ask.path, NULL},
    };
    _Static_assert(sizeof(texts) / sizeof(*texts) <= PLACE_TEXTS_MAX, "raise PLACE_TEXTS_MAX");
    for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        const char *text = *texts[i].text ? *texts[i].text : texts[i].unset;
        p->ask_text[i] = text ? strdup(text) : NULL;
        if (text && !p->ask_text[i])
            return false;
        *texts[i].text = p->ask_text[i];
    }
    return true;
}

static bool needs_device(const struct place_ask *ask)
{
    return strcmp(ask->cq, "leave") != 0 || strcmp(ask->rps, "leave") != 0 ||
           strcmp(ask->cpus, "nic") == 0 || strcmp(ask->cpus, "remote") == 0 ||
           ask->own_cqs; /* to tell what the vectors that are taken do */
}

static void say_device(const struct place *p)
{
    char *text = text_printf("device %s: %s", p->device.name, p->device_how);
    if (text && p->ask.say)
        p->ask.say(p->ask.say_ctx, text);
    else if (text)
        fprintf(stderr, "%s\n", text);
    free(text);
}

/* Nobody named one: the file under load tells. That there is none is for the lever to say which
 * needs it; false only when the one that was found cannot be read. */
static bool find_device(struct place *p, struct err *err)
{
    char name[DEVICE_NAME_MAX];
    struct err why;
    if (!p->ask.path || !*p->ask.path)
        return true;
    char host[256];
    bool found = behind_server(p->ask.path, p->ask.own_cqs, host, sizeof(host))
                     ? behind_find_server(host, p->ask.own_cqs, name, &p->device_how, &why)
                     : behind_find(p->ask.path, name, &p->device_how, &why);
    if (!found) {
        p->device_tried = strdup(why.text);
        return true;
    }
    p->device_named = device_find(&p->device, name, err);
    if (!p->device_named)
        return err_prefix(err, "%s", p->device_how ? p->device_how : p->ask.path);
    say_device(p);
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
    if (p->ask.device && *p->ask.device) {
        p->device_named = device_find(&p->device, p->ask.device, err);
        if (!p->device_named) {
            place_free(p);
            return false;
        }
    }
    if (!p->device_named && needs_device(&p->ask) && !find_device(p, err)) {
        place_free(p);
        return false;
    }
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

static void free_lever(struct lever *l)
{
    if (l->ops->release)
        l->ops->release(l);
    for (size_t i = 0; i < l->values_n; i++) {
        setting_close(&l->values[i].s);
        free(l->values[i].want);
    }
    free(l->values);
    free(l->word);
    free(l->applied);
    free(l);
}

void place_free(struct place *p)
{
    if (!p)
        return;
    place_restore(p, NULL);
    for (size_t i = 0; i < p->levers_n; i++)
        free_lever(p->levers[i]);
    free_sets(p->thread_cpus, p->ask.threads);
    free_sets(p->thread_mem, p->ask.threads);
    free_pages(p);
    device_free(&p->device);
    free(p->device_how);
    free(p->device_tried);
    hwloc_bitmap_free(p->workqueue_cpus);
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
    for (size_t i = 0; i < p->levers_n; i++) {
        struct lever *l = p->levers[i];
        for (size_t v = 0; v < l->values_n; v++)
            setting_edge(&l->values[v].s, edge);
        if (l->ops->edge)
            l->ops->edge(p, l, edge);
    }
}

void place_each_write(const struct place *p, place_write_cb *cb, void *ctx)
{
    for (size_t i = 0; i < p->levers_n; i++) {
        const struct lever *l = p->levers[i];
        for (size_t v = 0; v < l->values_n; v++)
            if (l->values[v].want)
                cb(ctx, l->values[v].s.path, l->values[v].s.before, l->values[v].want);
    }
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

/* The CPUs that cq or unbound asks for; NULL: none in particular. Caller frees. */
static hwloc_bitmap_t completion_cpus(const struct place *p, struct place_completions *out)
{
    struct word w;
    hwloc_bitmap_t cpus = NULL;
    bool ok = word_parse(&w, "cq", p->ask.cq, CQ_WORDS, NULL);
    *out = (struct place_completions){.key = "cq", .word = p->ask.cq};
    if (!ok || w.kind == WORD_BALANCED) {
        ok = false;
    } else if (w.kind != WORD_LEAVE) {
        out->by_interrupts = !p->workqueue_cpus;
        cpus = hwloc_bitmap_alloc();
        ok = cpus && lever_cpus_of_word(p, "cq", p->ask.cq, &w, USABLE_FOR_KERNEL, cpus, NULL);
    } else {
        out->key = "unbound";
        out->word = p->ask.unbound;
        for (size_t i = 0; i < p->levers_n; i++)
            if (p->levers[i]->ops == &lever_unbound && ((struct masks *)p->levers[i])->want)
                cpus = hwloc_bitmap_dup(((struct masks *)p->levers[i])->want);
    }
    word_free(&w);
    if (!ok) {
        hwloc_bitmap_free(cpus);
        cpus = NULL;
    }
    return cpus;
}

bool place_completion_nodes(const struct place *p, struct place_completions *out)
{
    hwloc_bitmap_t cpus = completion_cpus(p, out);
    out->min_share = lever_min_share(p);
    out->nodes = cpus ? hwloc_bitmap_alloc() : NULL;
    bool some_not = false;
    for (unsigned n = 0; out->nodes && n < p->topo->nodes_n; n++) {
        hwloc_const_bitmap_t listed = p->topo->nodes[n].listed;
        if (hwloc_bitmap_intersects(listed, cpus))
            hwloc_bitmap_set(out->nodes, (unsigned)p->topo->nodes[n].id);
        else
            some_not |= hwloc_bitmap_intersects(listed, p->topo->online);
    }
    hwloc_bitmap_free(cpus);
    if (some_not)
        return true;
    hwloc_bitmap_free(out->nodes);
    out->nodes = NULL;
    return false;
}

/* The first refusal stays in front, the others follow it. */
static void add_refusal(struct err *err, bool first, const struct err *one)
{
    if (!err)
        return;
    if (first) {
        *err = *one;
        return;
    }
    size_t n = strlen(err->text);
    snprintf(err->text + n, sizeof(err->text) - n, "; %s", one->text);
}

bool place_restore(struct place *p, struct err *err)
{
    bool all = true;
    enum journal_end end = JOURNAL_DONE;
    struct err one;
    for (size_t i = p->levers_n; i-- > 0;) {
        struct lever *l = p->levers[i];
        for (size_t v = l->values_n; v-- > 0;) {
            struct setting *s = &l->values[v].s;
            if (setting_restore(s, &one))
                continue;
            add_refusal(err, all, &one);
            all = false;
            if (s->after)
                end = JOURNAL_LEFT;
        }
    }
    if (!journal_end(p->journal, end, &one)) {
        add_refusal(err, all, &one);
        all = false;
    }
    p->journal = NULL;
    return all;
}

bool place_keep(struct place *p, struct err *err)
{
    bool ok = journal_end(p->journal, JOURNAL_KEEP, err);
    p->journal = NULL;
    for (size_t i = 0; ok && i < p->levers_n; i++)
        for (size_t v = 0; v < p->levers[i]->values_n; v++)
            setting_forget(&p->levers[i]->values[v].s);
    return ok;
}
