/* irqbalance(1) moves interrupts every few seconds; before ours are moved it is refused, told to
 * leave them alone, or stopped for the time being. */
#define _GNU_SOURCE
#include "lever.h"

#include "irqbalance.h"
#include "sysroot.h"
#include "text.h"
#include "vectors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEY "irqbalance"

enum what { REFUSE, IGNORE, BAN, STOP };
static const char *const words[] = {
    [REFUSE] = "refuse", [IGNORE] = "ignore", [BAN] = "ban", [STOP] = "stop"};
enum { WORDS_N = sizeof(words) / sizeof(*words) };

struct irqbalance {
    struct lever base; /* values[0], if any, is what ban or stop changes */
    enum what what;
    bool needed; /* cq moves interrupts */
    int pid;     /* of the one that ran when it was planned; 0: none */
    int *edges;  /* [edge] pid then */
    unsigned edges_n;
};

static bool parse_word(const char *text, enum what *what, struct err *err)
{
    for (int i = 0; i < WORDS_N; i++)
        if (strcmp(text, words[i]) == 0) {
            *what = (enum what)i;
            return true;
        }
    return err_set(err, STATUS_USAGE, KEY " = '%s' is none of refuse | ignore | ban | stop", text);
}

/* The interrupts that cq moves, together with those that are banned already. */
static char *ban_list(const struct place *p, const char *present, struct err *err)
{
    struct vectors v;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    char *text = NULL, *copy = strdup(present), *save;
    bool ok = set && copy && vectors_of_device(&v, &p->device, err);
    for (char *n = ok ? strtok_r(copy, " \n", &save) : NULL; n; n = strtok_r(NULL, " \n", &save))
        hwloc_bitmap_set(set, (unsigned)atoi(n));
    for (size_t i = 0; ok && i < v.n; i++)
        hwloc_bitmap_set(set, v.list[i].irq);
    for (int i = ok ? hwloc_bitmap_first(set) : -1; i >= 0; i = hwloc_bitmap_next(set, i))
        text_append(&text, "%s%d", text ? " " : "", i);
    if (ok)
        vectors_free(&v);
    hwloc_bitmap_free(set);
    free(copy);
    if (ok)
        text_append(&text, "\n");
    return text;
}

static bool plan_ban(struct place *p, struct irqbalance *l, struct err *err)
{
    char path[64];
    snprintf(path, sizeof(path), IRQBALANCE_BANNED, l->pid);
    int error = lever_add_value(&l->base, path, NULL);
    if (error)
        return err_set(err, STATUS_FAILED,
                       KEY " = ban: irqbalance (pid %d) does not tell on its socket what it bans: "
                           "%s; " KEY " = stop stops it",
                       l->pid, strerror(-error));
    struct lever_value *v = &l->base.values[0];
    v->want = ban_list(p, v->s.before, err);
    if (!v->want)
        return false;
    if (strlen(v->want) + strlen("settings ban irqs ") > IRQBALANCE_MESSAGE_MAX)
        return err_set(err, STATUS_FAILED,
                       KEY " = ban: the numbers of so many interrupts do not fit into one of "
                           "irqbalance's messages; " KEY " = stop stops it");
    return true;
}

static bool plan_stop(struct irqbalance *l, struct err *err)
{
    char *want = strdup(IRQBALANCE_STOPPED);
    int error = want ? lever_add_value(&l->base, IRQBALANCE_PROCESS, want) : -ENOMEM;
    return error == 0 ||
           err_set(err, STATUS_FAILED,
                   KEY " = stop: how irqbalance (pid %d) was started cannot be read: %s%s", l->pid,
                   strerror(-error), error == -EACCES ? "; this needs root" : "");
}

static bool plan(struct place *p, struct irqbalance *l, struct err *err)
{
    if (!l->needed || l->what == IGNORE || (l->pid = irqbalance_pid()) == 0)
        return true;
    if (l->what == STOP)
        return plan_stop(l, err);
    if (!sysroot_live())
        return true; /* a plan for a recorded tree harms nobody, and it has no socket */
    if (l->what == BAN)
        return plan_ban(p, l, err);
    return err_set(err, STATUS_FAILED,
                   "cq = %s: irqbalance (pid %d) is running and rewrites the affinities during the "
                   "run; stop it, or say " KEY " = ban (it leaves these interrupts alone for the "
                   "time being), " KEY " = stop (it is started again at the end) or " KEY
                   " = ignore",
                   p->ask.cq, l->pid);
}

/* Whether the irq lever, which comes after this one, will move interrupts. */
static bool moves_interrupts(const struct place *p)
{
    return strcmp(p->ask.cq, "leave") != 0 && p->device_named && !p->device.soft &&
           !p->vectors_suffice;
}

static bool probe(struct place *p, struct lever **out, struct err *err)
{
    enum what what = REFUSE;
    if (!parse_word(p->ask.irqbalance, &what, err))
        return false;
    bool needed = moves_interrupts(p);
    struct irqbalance *l =
        lever_new(&lever_irqbalance, sizeof(*l), words[what], needed && what != IGNORE, err);
    if (!l)
        return false;
    *out = &l->base;
    l->what = what;
    l->needed = needed;
    return plan(p, l, err);
}

static bool apply(struct place *p, struct lever *lever, struct err *err)
{
    struct irqbalance *l = (struct irqbalance *)lever;
    if (!lever->values_n) {
        lever->applied = strdup("none was running");
        return true;
    }
    struct lever_value *v = &lever->values[0];
    if (!lever_write(p, v, err))
        return err_prefix(err, KEY " = %s", lever->word);
    if (v->error)
        return err_set(err, STATUS_FAILED, KEY " = %s: irqbalance (pid %d): %s", lever->word,
                       l->pid, v->error == -EPERM ? "needs root" : strerror(-v->error));
    if (strcmp(v->s.after, v->want) != 0)
        return err_set(err, STATUS_FAILED, KEY " = %s: irqbalance (pid %d) did not take it",
                       lever->word, l->pid);
    char *list = text_chomp(v->want);
    lever->applied = l->what == BAN
                         ? text_printf("told irqbalance (pid %d) to leave alone %s", l->pid, list)
                         : text_printf("stopped irqbalance (pid %d)", l->pid);
    free(list);
    return true;
}

static void edge(const struct place *p, struct lever *lever, unsigned k)
{
    (void)p;
    struct irqbalance *l = (struct irqbalance *)lever;
    if (!l->needed)
        return;
    if (k >= l->edges_n) {
        int *bigger = realloc(l->edges, (k + 16) * sizeof(*bigger));
        if (!bigger)
            return;
        memset(bigger + l->edges_n, 0, (k + 16 - l->edges_n) * sizeof(*bigger));
        l->edges = bigger;
        l->edges_n = k + 16;
    }
    l->edges[k] = irqbalance_pid();
}

/* Why this edge is not as it should be, or NULL. */
static char *complaint(const struct irqbalance *l, unsigned k)
{
    int pid = k < l->edges_n ? l->edges[k] : 0;
    if (!pid)
        return NULL;
    if (l->what != BAN || pid != l->pid)
        return text_printf("irqbalance (pid %d) runs, seen at edge %u: it was started meanwhile "
                           "and may have moved interrupts",
                           pid, k);
    const struct lever_value *v = &l->base.values[0];
    const char *now = setting_at(&v->s, k);
    if (now && v->s.after && strcmp(now, v->s.after) != 0)
        return text_printf("somebody else changed what irqbalance leaves alone, seen at edge %u",
                           k);
    return NULL;
}

static void observe(const struct place *p, const struct lever *lever, const struct lever_window *w,
                    struct lever_seen *out)
{
    (void)p;
    const struct irqbalance *l = (const struct irqbalance *)lever;
    if (!l->needed) {
        out->reason = text_printf("not needed: no interrupt is moved");
        return;
    }
    int pid = w->to < l->edges_n ? l->edges[w->to] : 0;
    out->observed = pid ? text_printf("running (pid %d)", pid) : text_printf("not running");
    if (!lever->asked) {
        out->reason = text_printf("ignored as asked");
        return;
    }
    if (!lever->applied) {
        out->reason = text_printf("not applied");
        return;
    }
    out->reached = REACHED_YES;
    for (unsigned k = w->from; k <= w->to && !out->reason; k++)
        if ((out->reason = complaint(l, k)))
            out->reached = REACHED_NO;
}

static void release(struct lever *lever)
{
    free(((struct irqbalance *)lever)->edges);
}

const struct lever_ops lever_irqbalance = {
    .name = KEY,
    .probe = probe,
    .apply = apply,
    .edge = edge,
    .observe = observe,
    .release = release,
};
