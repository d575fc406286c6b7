/* Where the kernel's unbound workers may run: the mask of all unbound work queues (Documentation/
 * core-api/workqueue.rst). For soft-RoCE it decides where completions are handled, since rxe_wq,
 * rpciod, xprtiod and nfsiod have no mask of their own. */
#define _GNU_SOURCE
#include "lever.h"

#include "setting.h"
#include "sysroot.h"
#include "text.h"
#include "usable.h"
#include "word.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEY "unbound"
#define WORDS                                                                                      \
    (WORD_BIT(WORD_LEAVE) | WORD_BIT(WORD_ALL) | WORD_BIT(WORD_NODE) | WORD_BIT(WORD_CPUS))
#define MASK_FILE "/sys/devices/virtual/workqueue/cpumask"

struct unbound {
    struct lever base;
    struct setting mask;
    int error;           /* why the file could not be read; 0: mask is open */
    hwloc_bitmap_t want; /* NULL when nothing was asked for */
};

static bool no_memory(struct err *err)
{
    return err_set(err, STATUS_FAILED, KEY ": out of memory");
}

/* A mask as a list, for people; the text itself when it is not a mask. Caller frees. */
static char *as_list(const char *mask)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    char *text = set && set_parse_mask(set, mask, NULL) ? set_format(set) : text_chomp(mask);
    hwloc_bitmap_free(set);
    return text;
}

static bool mask_is(const char *mask, hwloc_const_bitmap_t want)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    bool same = set && set_parse_mask(set, mask, NULL) && hwloc_bitmap_isequal(set, want);
    hwloc_bitmap_free(set);
    return same;
}

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

static bool plan_mask(const struct place *p, const struct word *w, struct unbound *l,
                      struct err *err)
{
    char key[64];
    snprintf(key, sizeof(key), KEY " = %.50s", p->ask.unbound);
    if (l->error)
        return err_set(err, STATUS_FAILED, "%s: %s: %s", key, MASK_FILE, strerror(l->error));
    l->want = hwloc_bitmap_alloc();
    if (!l->want)
        return no_memory(err);
    bool ok = w->kind == WORD_ALL ? all_cpus(p->topo, l->want, err)
              : w->kind == WORD_NODE
                  ? usable_node(p->topo, key, w->id, USABLE_FOR_KERNEL, l->want, err)
                  : usable_list(p->topo, key, w->cpus, USABLE_FOR_KERNEL, p->ask.allow_partial,
                                l->want, err);
    if (!ok || !sysroot_live() || mask_is(l->mask.before, l->want) || access(MASK_FILE, W_OK) == 0)
        return ok;
    if (errno == EROFS)
        return err_set(err, STATUS_FAILED, "%s: /sys is mounted read-only here", key);
    return err_set(err, STATUS_FAILED, "%s: needs root, to write %s", key, MASK_FILE);
}

static bool probe(struct place *p, struct lever **out, struct err *err)
{
    struct word w;
    bool ok = word_parse(&w, KEY, p->ask.unbound, WORDS, err);
    if (ok) {
        struct unbound *l =
            lever_new(&lever_unbound, sizeof(*l), p->ask.unbound, w.kind != WORD_LEAVE, err);
        ok = l != NULL;
        if (ok) {
            *out = &l->base;
            l->error = -setting_open(&l->mask, MASK_FILE);
            ok = !l->base.asked || plan_mask(p, &w, l, err);
        }
    }
    word_free(&w);
    return ok;
}

static bool apply(struct place *p, struct lever *lever, struct err *err)
{
    (void)p;
    struct unbound *l = (struct unbound *)lever;
    if (mask_is(l->mask.before, l->want)) {
        char *list = set_format(l->want);
        lever->applied = text_printf("already %s", list);
        free(list);
        return true;
    }
    char *text = set_format_mask(l->want);
    int error = text ? setting_write(&l->mask, text, NULL) : -ENOMEM;
    free(text);
    if (error)
        return err_set(err, STATUS_FAILED, KEY " = %s: %s: %s", lever->word, MASK_FILE,
                       strerror(-error));
    lever->applied = as_list(l->mask.after);
    return true;
}

static void edge(struct lever *l, unsigned k)
{
    setting_edge(&((struct unbound *)l)->mask, k);
}

static void judge(const struct unbound *l, const struct lever_window *w, struct lever_seen *out)
{
    if (!l->base.asked || !l->base.applied) {
        out->reason = text_printf(l->base.asked ? "not applied" : "not asked for");
        return;
    }
    for (unsigned k = w->from; k <= w->to; k++) {
        const char *text = setting_at(&l->mask, k);
        if (!text) {
            out->reason = text_printf("%s could not be read at edge %u", MASK_FILE, k);
            return;
        }
        if (mask_is(text, l->want))
            continue;
        char *now = as_list(text), *want = set_format(l->want);
        out->reached = REACHED_NO;
        if (l->mask.after && strcmp(l->mask.after, text) == 0)
            out->reason = text_printf("the kernel made %s of %s", now, want);
        else
            out->reason = text_printf("somebody else changed the mask from %s to %s (seen at edge "
                                      "%u)",
                                      want, now, k);
        free(now);
        free(want);
        return;
    }
    out->reached = REACHED_YES;
}

static json_t *list_or_null(const char *mask)
{
    char *list = mask ? as_list(mask) : NULL;
    json_t *value = list ? json_string(list) : json_null();
    free(list);
    return value;
}

static void observe(const struct place *p, const struct lever *lever, const struct lever_window *w,
                    struct lever_seen *out)
{
    (void)p;
    const struct unbound *l = (const struct unbound *)lever;
    if (l->error) {
        out->reason = text_printf("%s: %s", MASK_FILE, strerror(l->error));
        return;
    }
    judge(l, w, out);
    const char *from = setting_at(&l->mask, w->from), *to = setting_at(&l->mask, w->to);
    if (from && to && strcmp(from, to) != 0) {
        char *a = as_list(from), *b = as_list(to);
        out->observed = text_printf("%s, then %s", a, b);
        free(a);
        free(b);
    } else if (to) {
        out->observed = as_list(to);
    }
    out->detail = json_pack("{s:s, s:o, s:o, s:o}", "file", MASK_FILE, "cpus_before",
                            list_or_null(l->mask.before), "cpus_at_from", list_or_null(from),
                            "cpus_at_to", list_or_null(to));
}

static bool restore(struct lever *l, struct err *err)
{
    return setting_restore(&((struct unbound *)l)->mask, err);
}

static void release(struct lever *lever)
{
    struct unbound *l = (struct unbound *)lever;
    setting_close(&l->mask);
    hwloc_bitmap_free(l->want);
    free(l);
}

const struct lever_ops lever_unbound = {
    .name = KEY,
    .probe = probe,
    .apply = apply,
    .edge = edge,
    .observe = observe,
    .restore = restore,
    .free = release,
};
