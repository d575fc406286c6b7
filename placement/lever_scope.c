/* How far the workers of an unbound work queue may stray from the CPU that queued the work:
 * affinity_scope of each queue (Documentation/core-api/workqueue.rst). Kernels before 6.5 have no
 * such file. A queue that follows the default prints "default (cache)", which the kernel takes back
 * as "default": the value before can be written as it was read. */
#include "lever.h"

#include "sysroot.h"
#include "text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEY "wq_scope"
#define WORKQUEUE_DIR "/sys/devices/virtual/workqueue"

static bool known(const char *word)
{
    static const char *const words[] = {"leave", "cpu", "smt", "cache", "numa", "system"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

static bool says(const char *text, const char *word)
{
    size_t n = strlen(word);
    return strncmp(text, word, n) == 0 && (!text[n] || strcmp(text + n, "\n") == 0);
}

static bool plan(struct place *p, struct lever *l, struct err *err)
{
    char **names, path[PATH_MAX];
    if (sysroot_list(WORKQUEUE_DIR, &names) >= 0) {
        for (char **q = names; *q; q++) {
            snprintf(path, sizeof(path), WORKQUEUE_DIR "/%.255s/affinity_scope", *q);
            if (lever_add_value(l, path, NULL) || !l->asked)
                continue;
            struct lever_value *v = &l->values[l->values_n - 1];
            if (!says(v->s.before, l->word))
                v->want = text_printf("%s", l->word);
        }
        sysroot_list_free(names);
    }
    if (!l->asked)
        return true;
    if (!l->values_n)
        return err_set(err, STATUS_FAILED,
                       KEY " = %s: no work queue here has an affinity_scope (Linux 6.5 and later)",
                       p->ask.wq_scope);
    for (size_t i = 0; sysroot_live() && i < l->values_n; i++)
        if (l->values[i].want && access(l->values[i].s.path, W_OK))
            return err_set(err, STATUS_FAILED, KEY " = %s: %s, to write %s", p->ask.wq_scope,
                           errno == EROFS ? "/sys is mounted read-only here" : "needs root",
                           l->values[i].s.path);
    return true;
}

static bool probe(struct place *p, struct lever **out, struct err *err)
{
    const char *word = p->ask.wq_scope;
    if (!known(word))
        return err_set(err, STATUS_USAGE,
                       KEY " = '%s' is none of leave | cpu | smt | cache | numa | system", word);
    struct lever *l = lever_new(&lever_scope, sizeof(*l), word, strcmp(word, "leave") != 0, err);
    *out = l;
    return l && plan(p, l, err);
}

static bool apply(struct place *p, struct lever *l, struct err *err)
{
    for (size_t i = 0; i < l->values_n; i++) {
        struct lever_value *v = &l->values[i];
        if (!v->want)
            continue;
        if (!lever_write(p, v, err))
            return err_prefix(err, KEY " = %s", l->word);
        if (v->error)
            return err_set(err, STATUS_FAILED, KEY " = %s: %s: %s", l->word, v->s.path,
                           strerror(-v->error));
    }
    l->applied = text_printf("%s for %zu work queues", l->word, l->values_n);
    return true;
}

/* {"writeback": "default (cache)"} at an edge. */
static json_t *queues_json(const struct lever *l, unsigned edge)
{
    const size_t skip = strlen(WORKQUEUE_DIR) + 1;
    json_t *queues = json_object();
    for (size_t i = 0; i < l->values_n; i++) {
        const char *text = setting_at(&l->values[i].s, edge), *at = l->values[i].s.path + skip;
        char *name = text_printf("%.*s", (int)strcspn(at, "/"), at);
        char *value = text ? text_chomp(text) : NULL;
        if (name)
            json_object_set_new(queues, name, value ? json_string(value) : json_null());
        free(name);
        free(value);
    }
    return queues;
}

static void judge(const struct lever *l, const struct lever_window *w, struct lever_seen *out)
{
    for (size_t i = 0; i < l->values_n; i++)
        for (unsigned k = w->from; k <= w->to; k++) {
            const char *text = setting_at(&l->values[i].s, k);
            if (text && says(text, l->word))
                continue;
            out->reached = text ? REACHED_NO : REACHED_UNKNOWN;
            out->reason = text_printf("%s: %s (edge %u)", l->values[i].s.path,
                                      text ? "somebody else changed it" : "could not be read", k);
            return;
        }
    out->reached = REACHED_YES;
    out->observed = text_printf("%s", l->word);
}

static void observe(const struct place *p, const struct lever *l, const struct lever_window *w,
                    struct lever_seen *out)
{
    (void)p;
    if (!l->asked || !l->applied)
        out->reason = text_printf(l->asked ? "not applied" : "not asked for");
    else
        judge(l, w, out);
    out->detail = json_pack("{s:o}", "queues_at_to", queues_json(l, w->to));
}

const struct lever_ops lever_scope = {
    .name = KEY,
    .probe = probe,
    .apply = apply,
    .observe = observe,
};
