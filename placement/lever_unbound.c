/* Where the kernel's unbound workers may run: the mask of all unbound work queues and those of the
 * single queues that have one (Documentation/core-api/workqueue.rst). For soft-RoCE it decides
 * where completions are handled, since rxe_wq, rpciod, xprtiod and nfsiod follow the mask of all.
 */
#define _GNU_SOURCE
#include "masks.h"

#include "sysroot.h"
#include "text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define KEY "unbound"
#define WORDS                                                                                      \
    (ACCEPT_WORD(WORD_LEAVE) | ACCEPT_WORD(WORD_ALL) | ACCEPT_WORD(WORD_NODE) |                    \
     ACCEPT_WORD(WORD_CPUS))
#define WORKQUEUE_DIR "/sys/devices/virtual/workqueue"
#define MASK_FILE WORKQUEUE_DIR "/cpumask"

struct unbound {
    struct masks masks;
    int error;      /* why MASK_FILE could not be read; 0: it is values[0] */
    json_t *scopes; /* affinity_scope by queue */
};

/* All CPUs that the kernel may ever have: what the mask holds after a boot without isolation. */
static bool all_cpus(const struct topo *t, hwloc_bitmap_t out, struct err *err)
{
    char *text;
    hwloc_bitmap_copy(out, t->online);
    if (sysroot_read("/sys/devices/system/cpu/possible", &text) < 0)
        return true;
    bool ok = set_parse(out, text, err);
    free(text);
    return ok;
}

static bool plan_mask(const struct place *p, const struct word *w, hwloc_bitmap_t want,
                      struct err *err)
{
    char key[64];
    snprintf(key, sizeof(key), KEY " = %.50s", p->ask.unbound);
    if (p->workqueue_cpus)
        return hwloc_bitmap_copy(want, p->workqueue_cpus) == 0;
    if (w->kind == WORD_ALL)
        return all_cpus(p->topo, want, err);
    if (w->kind == WORD_NODE)
        return usable_node(p->topo, key, w->id, USABLE_FOR_KERNEL, want, err);
    return usable_list(p->topo, key, w->cpus, USABLE_FOR_KERNEL, p->ask.allow_partial, want, err);
}

/* Adds the masks of single queues, and remembers their affinity scopes. */
static void add_queues(struct unbound *l)
{
    char **names, path[PATH_MAX], scope[64];
    l->scopes = json_object();
    if (sysroot_list(WORKQUEUE_DIR, &names) < 0)
        return;
    for (char **p = names; *p; p++) {
        snprintf(path, sizeof(path), WORKQUEUE_DIR "/%.255s/cpumask", *p);
        if (masks_add(&l->masks, path))
            continue;
        snprintf(path, sizeof(path), WORKQUEUE_DIR "/%.255s/affinity_scope", *p);
        if (sysroot_read_into(path, scope, sizeof(scope)) < 0)
            continue;
        scope[strcspn(scope, "\n")] = '\0';
        json_object_set_new(l->scopes, *p, json_string(scope));
    }
    sysroot_list_free(names);
}

static bool plan_lever(struct place *p, const struct word *w, struct unbound *l, struct err *err)
{
    struct masks *m = &l->masks;
    if (m->base.asked) {
        m->want = hwloc_bitmap_alloc();
        if (!m->want)
            return err_set(err, STATUS_FAILED, KEY ": out of memory");
        if (!plan_mask(p, w, m->want, err))
            return false;
    }
    l->error = -masks_add(m, MASK_FILE);
    if (l->error && m->base.asked)
        return err_set(err, STATUS_FAILED, KEY " = %s: %s: %s", m->base.word, MASK_FILE,
                       strerror(l->error));
    add_queues(l);
    return !sysroot_live() || masks_writable(m, err);
}

static bool probe(struct place *p, struct lever **out, struct err *err)
{
    struct word w;
    bool ok = word_parse(&w, KEY, p->ask.unbound, WORDS, err);
    if (ok && p->workqueue_cpus && w.kind != WORD_LEAVE)
        ok =
            err_set(err, STATUS_USAGE,
                    KEY " = %s: cq = %s sets this mask already, as %s has no interrupts; leave one "
                        "of them out",
                    p->ask.unbound, p->ask.cq, p->device.name);
    if (ok) {
        bool asked = w.kind != WORD_LEAVE || p->workqueue_cpus;
        const char *word = p->workqueue_cpus ? p->ask.cq : p->ask.unbound;
        struct unbound *l = lever_new(&lever_unbound, sizeof(*l), word, asked, err);
        ok = l != NULL;
        if (ok) {
            *out = &l->masks.base;
            ok = plan_lever(p, &w, l, err);
        }
    }
    word_free(&w);
    return ok;
}

static bool apply(struct place *p, struct lever *l, struct err *err)
{
    return masks_apply(p, (struct masks *)l, 1, err);
}

/* The masks of single queues, by name, and what the kernel refused. */
static json_t *queues_json(const struct lever *l, unsigned edge)
{
    json_t *queues = json_object();
    const size_t skip = strlen(WORKQUEUE_DIR) + 1;
    for (size_t i = 1; i < l->values_n; i++) {
        const struct lever_value *v = &l->values[i];
        char *name = strndup(v->s.path + skip, strcspn(v->s.path + skip, "/"));
        json_t *value =
            v->error ? json_string(strerror(-v->error)) : mask_as_json(setting_at(&v->s, edge));
        if (name)
            json_object_set_new(queues, name, value);
        free(name);
    }
    return queues;
}

static void observe(const struct place *p, const struct lever *lever, const struct lever_window *w,
                    struct lever_seen *out)
{
    const struct unbound *l = (const struct unbound *)lever;
    if (l->error) {
        out->reason = text_printf("%s: %s", MASK_FILE, strerror(l->error));
        return;
    }
    masks_observe(&l->masks, w, out);
    const struct setting *s = &lever->values[0].s;
    out->detail = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:O, s:b}", "file", MASK_FILE, "cpus_before",
        mask_as_json(s->before), "cpus_at_from", mask_as_json(setting_at(s, w->from)), "cpus_at_to",
        mask_as_json(setting_at(s, w->to)), "queues_at_to", queues_json(lever, w->to),
        "affinity_scopes", l->scopes, "asked_by_cq", p->workqueue_cpus != NULL);
}

static void release(struct lever *l)
{
    json_decref(((struct unbound *)l)->scopes);
    masks_release(l);
}

const struct lever_ops lever_unbound = {
    .name = KEY,
    .probe = probe,
    .apply = apply,
    .observe = observe,
    .release = release,
};
