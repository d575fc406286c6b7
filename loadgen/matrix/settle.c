#include "settle.h"

#include "../run/worker.h"

#include "../../placement/sysroot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS UINT64_C(1000000000)
/* Timers of an idle machine come and go. */
#define SPARE_INTERRUPTS_PER_S 100.0

bool settle_parse(const char *text, struct stat_totals *t)
{
    const char *cpu = strncmp(text, "cpu ", 4) == 0 ? text : strstr(text, "\ncpu ");
    const char *intr = strncmp(text, "intr ", 5) == 0 ? text : strstr(text, "\nintr ");
    *t = (struct stat_totals){0};
    if (!cpu || !intr)
        return false;
    cpu += *cpu == '\n' ? 5 : 4;
    intr += *intr == '\n' ? 6 : 5;
    /* user nice system idle iowait irq softirq steal; guest time is in user already */
    uint64_t f[8] = {0};
    int n = sscanf(cpu,
                   "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                   " %" SCNu64 " %" SCNu64,
                   &f[0], &f[1], &f[2], &f[3], &f[4], &f[5], &f[6], &f[7]);
    if (n < 4 || sscanf(intr, "%" SCNu64, &t->interrupts) != 1)
        return false;
    for (int i = 0; i < 8; i++)
        t->all += f[i];
    t->idle = f[3] + f[4];
    return true;
}

bool settle_between(const struct stat_totals *from, const struct stat_totals *to, double seconds,
                    struct quiet *q)
{
    if (to->all <= from->all || !(seconds > 0))
        return false;
    uint64_t idle = to->idle > from->idle ? to->idle - from->idle : 0, all = to->all - from->all;
    *q = (struct quiet){
        .idle_percent = 100.0 * (double)(idle < all ? idle : all) / (double)all,
        .interrupts_per_s = to->interrupts > from->interrupts
                                ? (double)(to->interrupts - from->interrupts) / seconds
                                : 0,
    };
    return true;
}

bool settle_is_back(const struct quiet *now, const struct quiet *level,
                    const struct settle_rule *rule)
{
    return now->idle_percent >= level->idle_percent - rule->idle_points &&
           now->interrupts_per_s <= level->interrupts_per_s * (1 + rule->interrupts_percent / 100) +
                                        SPARE_INTERRUPTS_PER_S;
}

static bool read_totals(struct stat_totals *t)
{
    char *text;
    if (sysroot_read("/proc/stat", &text) < 0)
        return false;
    bool good = settle_parse(text, t);
    free(text);
    return good;
}

bool settle_look(struct quiet *q, settle_wait *wait, void *arg)
{
    struct stat_totals from, to;
    uint64_t began = now_ns();
    return read_totals(&from) && wait(arg, LOOK_NS) && read_totals(&to) &&
           settle_between(&from, &to, (double)(now_ns() - began) / 1e9, q);
}

bool settle_until(struct quiet *level, bool *known, const struct settle_rule *rule, uint64_t max_ns,
                  const struct settle_with *with, struct settle_seen *seen)
{
    uint64_t began = with->clock_ns(with->arg);
    for (;;) {
        if (!with->look(with->arg, &seen->now))
            return false;
        if (!*known)
            *level = seen->now;
        *known = true;
        seen->back = settle_is_back(&seen->now, level, rule);
        seen->waited_ns = with->clock_ns(with->arg) - began;
        if (seen->back || seen->waited_ns >= max_ns)
            return true;
        with->waiting(with->arg, &seen->now, level);
    }
}
