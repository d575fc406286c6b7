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

#endif
