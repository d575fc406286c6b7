/* Checks of the machine: what its kernel shows, and what else it is busy with. */
#include "check.h"

#include "../record/jsontext.h"
#include "../record/sampler.h"

#include "../../placement/irqbalance.h"
#include "../../placement/sysroot.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void check_user(struct look *l)
{
    if (l->uid != 0 && l->uid != UINT64_MAX)
        found(l, SEVERITY_UNAVAILABLE, "run as root, or do without them",
              "runs as user %" PRIu64
              ": slab counters can be read, and interrupts and masks moved, by root only",
              l->uid);
}

void check_debugging(struct look *l)
{
    const json_t *options = json_object_get(l->host, "kernel_debugging"), *on;
    const char *option;
    char list[256] = "";
    json_object_foreach((json_t *)options, option, on) if (json_is_true(on))
    {
        size_t used = strlen(list);
        snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", option);
    }
    if (*list)
        found(l, SEVERITY_SPOILS, "boot a kernel without them",
              "the kernel was built with %s: locks and lists cost more than they should", list);
    const char *reason = json_string_value(json_object_get(l->host, "kernel_debugging_reason"));
    if (reason)
        found(l, SEVERITY_NOTE, NULL, "whether lock debugging or KASAN is on cannot be told: %s",
              reason);
}

/* Sources that nothing of this load would move: check_mount has said why. */
static bool no_matter(const struct look *l, const struct sampler_ops *s)
{
    return (strcmp(s->name, "nfs") == 0 && !l->nfs) || (strcmp(s->name, "rdma") == 0 && !l->rdma);
}

static const char *slab_advice(const struct look *l, const char *reason)
{
    bool no_stats = json_is_false(json_object_get(l->host, "slub_stats"));
    if (l->uid != 0 && strstr(reason, strerror(EACCES)))
        return "run as root";
    return no_stats ? "a kernel with CONFIG_SLUB_STATS; everything else is measured without" : NULL;
}

static void unavailable(struct look *l, const char *name, const char *reason)
{
    bool slab = strcmp(name, "slab") == 0;
    found(l, SEVERITY_UNAVAILABLE, slab ? slab_advice(l, reason) : NULL, "%s: %s", name, reason);
}

/* Opens one sampler as a run does, and reads it at two edges. */
static void try_sampler(struct look *l, const struct sampler_ops *ops)
{
    struct err err = {0};
    json_t *notes = json_array(), *w = NULL, *n;
    struct sample_ctx ctx = {
        .topo = l->topo,
        .path = l->first,
        .slab = l->profile->slab,
        .allow_merged = l->profile->allow_merged,
        .edges_max = 2,
        .notes = notes,
    };
    struct sampler *s = ops->open(&ctx, &err);
    if (!s) {
        found(l, SEVERITY_FAILS, NULL, "%s", err.text);
        goto out;
    }
    for (unsigned edge = 0; edge < ctx.edges_max; edge++) {
        if (ops->read)
            ops->read(s, edge);
        if (ops->settle)
            ops->settle(s, edge);
    }
    json_t *of_window = json_array();
    w = ops->window(s, 0, 1, of_window);
    json_decref(of_window);
    ops->close(s);
    size_t i;
    if (json_is_false(json_object_get(w, "available"))) {
        const char *reason = json_string_value(json_object_get(w, "reason"));
        unavailable(l, ops->name, reason ? reason : "no reason is known");
    } else {
        json_array_foreach(notes, i, n)
            found(l, SEVERITY_NOTE, NULL, "%s", json_string_value(json_object_get(n, "text")));
    }
out:
    json_decref(w);
    json_decref(notes);
}

void check_samplers(struct look *l)
{
    for (const struct sampler_ops *const *s = samplers; *s; s++)
        if (!no_matter(l, *s))
            try_sampler(l, *s);
}

void check_irqbalance(struct look *l)
{
    int pid = irqbalance_pid();
    const char *word = l->profile->irqbalance;
    bool cq = strcmp(l->profile->cq, "leave") != 0;
    if (pid && !(cq && (strcmp(word, "ban") == 0 || strcmp(word, "stop") == 0)))
        found(l, SEVERITY_SPOILS,
              "systemctl stop irqbalance for the time of the run; with --cq also --irqbalance ban "
              "or stop",
              "irqbalance (pid %d) is running and may move interrupts during a window", pid);
}

void check_balancing(struct look *l)
{
    json_int_t on = json_integer_value(json_object_get(l->host, "numa_balancing"));
    if (on && strcmp(l->profile->numa_balancing, "off") != 0)
        found(l, SEVERITY_SPOILS, "--numa-balancing off, which is put back at the end",
              "automatic NUMA balancing is on (kernel.numa_balancing = %lld): it may move pages "
              "and threads, and repeats flip between two values",
              (long long)on);
}

void check_governor(struct look *l)
{
    char first[64] = "", path[PATH_MAX], buf[64];
    unsigned other = 0, known = 0;
    for (unsigned c = 0; c < l->topo->cpus_n; c++) {
        if (!l->topo->cpus[c].online)
            continue;
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_governor", c);
        if (sysroot_read_into(path, buf, sizeof(buf)) <= 0)
            continue;
        buf[strcspn(buf, "\n")] = '\0';
        known++;
        if (strcmp(buf, "performance") == 0)
            continue;
        if (other++ == 0)
            snprintf(first, sizeof(first), "%s", buf);
    }
    if (other)
        found(l, SEVERITY_SPOILS, "cpupower frequency-set -g performance",
              "the frequency governor of %u of %u CPUs is not performance but %s: clocks follow "
              "the load",
              other, known, first);
}

/* The run itself puts back what a dead owner left, and refuses when a placement is kept. */
void check_journal(struct look *l)
{
    char dir[PATH_MAX], who[512];
    if (!sysroot_path(dir, sizeof(dir), JOURNAL_DIR))
        return;
    switch (journal_look(dir, who, sizeof(who))) {
    case JOURNAL_NONE:
        break;
    case JOURNAL_OWNED:
        found(l, SEVERITY_SPOILS, "wait until it ends; a run that moves anything would refuse",
              "another placement is in force, of %s", who);
        break;
    case JOURNAL_KEPT:
        found(l, SEVERITY_SPOILS, "numaload restore, unless it is meant to stay",
              "a placement was left in force by %s", who);
        break;
    case JOURNAL_STALE:
        found(l, SEVERITY_SPOILS, "numaload restore",
              "values that %s changed were not put back: its journal is still in " JOURNAL_DIR,
              who);
        break;
    }
}
