/* Whether the machine is as quiet as before the first run. */
#ifndef NUMALOAD_MATRIX_SETTLE_H
#define NUMALOAD_MATRIX_SETTLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* What /proc/stat says of one interval. */
struct quiet {
    double idle_percent;     /* of all CPUs; time waiting for I/O counts as idle */
    double interrupts_per_s; /* the first number of the line "intr" */
};

/* Totals of the text of /proc/stat (proc_stat(5)); false when a line is missing or not as
 * described there. */
struct stat_totals {
    uint64_t idle, all; /* clock ticks */
    uint64_t interrupts;
};
bool settle_parse(const char *text, struct stat_totals *t);

/* The figures of an interval; false when no time passed in it. Idle time can step back: then none
 * passed. */
bool settle_between(const struct stat_totals *from, const struct stat_totals *to, double seconds,
                    struct quiet *q);

struct settle_rule {
    double idle_points;        /* idle may be so much lower */
    double interrupts_percent; /* interrupts may be so much more frequent, and 100 per second */
};
bool settle_is_back(const struct quiet *now, const struct quiet *level,
                    const struct settle_rule *rule);

/* Looks at the machine for one second. wait(arg, ns) waits and returns false when it was
 * interrupted; then settle_look does too. */
typedef bool settle_wait(void *arg, uint64_t ns);
bool settle_look(struct quiet *q, settle_wait *wait, void *arg);

/* How the rule is applied between runs. */
struct settle_with {
    bool (*look)(void *arg, struct quiet *q); /* false: interrupted, or nothing to look at */
    uint64_t (*clock_ns)(void *arg);
    void (*waiting)(void *arg, const struct quiet *now, const struct quiet *level);
    void *arg;
};
struct settle_seen {
    struct quiet now; /* the last look */
    bool back;        /* the rule holds */
    uint64_t waited_ns;
};

/* Looks until the rule holds, or max_ns have passed: at least once. Without a level (*known false)
 * the first look becomes it. Returns false when a look failed; then *seen says nothing. */
bool settle_until(struct quiet *level, bool *known, const struct settle_rule *rule, uint64_t max_ns,
                  const struct settle_with *with, struct settle_seen *seen);

#endif
