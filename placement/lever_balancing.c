/* The kernel's automatic NUMA balancing (Documentation/admin-guide/sysctl/kernel.rst), which moves
 * pages and threads in the middle of a run: recorded always, switched off on request. */
#include "lever.h"

#include "sysroot.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEY "numa_balancing"
#define FILE_PATH "/proc/sys/kernel/numa_balancing"

static bool plan(struct place *p, struct lever *l, struct err *err)
{
    char *want = l->asked ? text_printf("0") : NULL;
    int error = lever_add_value(l, FILE_PATH, want);
    /* A kernel without NUMA balancing is as quiet as one with it off. */
    if (error == -ENOENT)
        return true;
    if (error && l->asked)
        return err_set(err, STATUS_FAILED, KEY " = off: %s: %s", FILE_PATH, strerror(-error));
    if (error || !l->asked)
        return true;
    if (strcmp(l->values[0].s.before, "0\n") == 0) {
        free(l->values[0].want);
        l->values[0].want = NULL;
    } else if (sysroot_live() && access(FILE_PATH, W_OK)) {
        return err_set(err, STATUS_FAILED, KEY " = %s: %s, to write %s", p->ask.numa_balancing,
                       errno == EROFS ? "/proc/sys is mounted read-only here" : "needs root",
                       FILE_PATH);
    }
    return true;
}

static bool probe(struct place *p, struct lever **out, struct err *err)
{
    bool off = strcmp(p->ask.numa_balancing, "off") == 0;
    if (!off && strcmp(p->ask.numa_balancing, "leave") != 0)
        return err_set(err, STATUS_USAGE, KEY " = '%s' is none of leave | off",
                       p->ask.numa_balancing);
    struct lever *l = lever_new(&lever_balancing, sizeof(*l), p->ask.numa_balancing, off, err);
    *out = l;
    return l && plan(p, l, err);
}

static bool apply(struct place *p, struct lever *l, struct err *err)
{
    if (l->values_n && l->values[0].want) {
        if (!lever_write(p, &l->values[0], err))
            return err_prefix(err, KEY " = off");
        if (l->values[0].error)
            return err_set(err, STATUS_FAILED, KEY " = off: %s: %s", FILE_PATH,
                           strerror(-l->values[0].error));
    }
    l->applied = text_printf(l->values_n ? "off" : "the kernel has none");
    return true;
}

static void observe(const struct place *p, const struct lever *l, const struct lever_window *w,
                    struct lever_seen *out)
{
    (void)p;
    if (!l->asked)
        out->reason = text_printf("not asked for");
    if (!l->values_n) {
        out->observed = text_printf("the kernel has none");
        out->reached = l->asked ? REACHED_YES : REACHED_UNKNOWN;
        return;
    }
    const char *to = setting_at(&l->values[0].s, w->to);
    if (to)
        out->observed = text_chomp(to);
    if (!l->asked)
        return;
    out->reached = REACHED_YES;
    for (unsigned k = w->from; k <= w->to; k++) {
        const char *text = setting_at(&l->values[0].s, k);
        if (text && strcmp(text, "0\n") == 0)
            continue;
        out->reached = text ? REACHED_NO : REACHED_UNKNOWN;
        out->reason = text_printf("%s: %s (edge %u)", FILE_PATH,
                                  text ? "somebody else changed it" : "could not be read", k);
        return;
    }
}

const struct lever_ops lever_balancing = {
    .name = KEY,
    .probe = probe,
    .apply = apply,
    .observe = observe,
};
