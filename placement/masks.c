#define _GNU_SOURCE
#include "masks.h"

#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *mask_as_list(const char *mask)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    char *text = set && set_parse_mask(set, mask, NULL) ? set_format(set) : text_chomp(mask);
    hwloc_bitmap_free(set);
    return text;
}

json_t *mask_as_json(const char *mask)
{
    char *list = mask ? mask_as_list(mask) : NULL;
    json_t *value = list ? json_string(list) : json_null();
    free(list);
    return value;
}

static bool mask_is(const char *mask, hwloc_const_bitmap_t want)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    bool same = set && set_parse_mask(set, mask, NULL) && hwloc_bitmap_isequal(set, want);
    hwloc_bitmap_free(set);
    return same;
}

int masks_add(struct masks *l, const char *path)
{
    int error = lever_add_value(&l->base, path, NULL);
    if (error || !l->want)
        return error;
    struct lever_value *v = &l->base.values[l->base.values_n - 1];
    if (!mask_is(v->s.before, l->want)) {
        v->want = set_format_mask(l->want);
        error = v->want ? 0 : -ENOMEM;
    }
    return error;
}

bool masks_writable(const struct masks *l, struct err *err)
{
    for (size_t i = 0; i < l->base.values_n; i++) {
        const struct lever_value *v = &l->base.values[i];
        if (!v->want || access(v->s.path, W_OK) == 0)
            continue;
        if (errno == EROFS)
            return err_set(err, STATUS_FAILED, "%s = %s: /sys is mounted read-only here",
                           l->base.ops->name, l->base.word);
        return err_set(err, STATUS_FAILED, "%s = %s: needs root, to write %s", l->base.ops->name,
                       l->base.word, v->s.path);
    }
    return true;
}

bool masks_apply(struct place *p, struct masks *l, size_t needed, struct err *err)
{
    bool wrote = false;
    for (size_t i = 0; i < l->base.values_n; i++) {
        struct lever_value *v = &l->base.values[i];
        if (!v->want)
            continue;
        if (!lever_write(p, v, err))
            return err_prefix(err, "%s = %s", l->base.ops->name, l->base.word);
        if (v->error && i < needed)
            return err_set(err, STATUS_FAILED, "%s = %s: %s: %s", l->base.ops->name, l->base.word,
                           v->s.path, strerror(-v->error));
        wrote = wrote || v->error == 0;
    }
    char *list = set_format(l->want);
    l->base.applied = text_printf("%s%s", wrote ? "" : "already ", list);
    free(list);
    return true;
}

/* Says why the mask at edge k is not what was asked for. */
static void blame(const struct masks *l, const struct lever_value *v, const char *text, unsigned k,
                  struct lever_seen *out)
{
    char *now = mask_as_list(text), *want = set_format(l->want);
    out->reached = REACHED_NO;
    if (v->s.after && strcmp(v->s.after, text) == 0)
        out->reason = text_printf("%s: the kernel made %s of %s", v->s.path, now, want);
    else
        out->reason =
            text_printf("%s: somebody else changed the mask from %s to %s (seen at edge %u)",
                        v->s.path, want, now, k);
    free(now);
    free(want);
}

static void judge(const struct masks *l, const struct lever_window *w, struct lever_seen *out)
{
    if (!l->base.asked || !l->base.applied) {
        out->reason = text_printf(l->base.asked ? "not applied" : "not asked for");
        return;
    }
    for (size_t i = 0; i < l->base.values_n; i++) {
        const struct lever_value *v = &l->base.values[i];
        for (unsigned k = w->from; v->error == 0 && k <= w->to; k++) {
            const char *text = setting_at(&v->s, k);
            if (!text) {
                out->reason = text_printf("%s could not be read at edge %u", v->s.path, k);
                return;
            }
            if (!mask_is(text, l->want)) {
                blame(l, v, text, k, out);
                return;
            }
        }
    }
    out->reached = REACHED_YES;
}

void masks_observe(const struct masks *l, const struct lever_window *w, struct lever_seen *out)
{
    judge(l, w, out);
    if (!l->base.values_n)
        return;
    const struct setting *s = &l->base.values[0].s;
    const char *from = setting_at(s, w->from), *to = setting_at(s, w->to);
    if (from && to && strcmp(from, to) != 0) {
        char *a = mask_as_list(from), *b = mask_as_list(to);
        out->observed = text_printf("%s, then %s", a, b);
        free(a);
        free(b);
    } else if (to) {
        out->observed = mask_as_list(to);
    }
}

void masks_release(struct lever *l)
{
    hwloc_bitmap_free(((struct masks *)l)->want);
}
