/* When the next I/O of a worker may begin, or is due.
 *
 * A rate limit holds a closed loop back: what was late is not made up for. An open loop (iops) has
 * I/Os due at fixed times: one that could not begin in time, since all slots were taken, keeps its
 * time, and its latency counts from there. A loop that waits for each answer would leave out just
 * the I/Os that a slow server would have kept waiting (coordinated omission). */
#ifndef NUMALOAD_PACE_H
#define NUMALOAD_PACE_H

#include "../profile.h"

struct pace {
    double interval_ns; /* from one I/O to the next; 0: at once */
    double next;        /* when the next one is due, CLOCK_MONOTONIC */
    uint64_t next_ns;   /* the same in whole ns */
    double phase;       /* 0 .. 1: where in the interval this worker begins */
    bool open_loop;
};

/* For worker `number` of `threads`: its share of iops or of limit, or limit-thread if that is less.
 * The workers' times are spread over the interval. */
void pace_init(struct pace *p, const struct profile *profile, unsigned number, unsigned threads);

void pace_begin(struct pace *p, uint64_t now_ns);

/* True when an I/O may begin now; *due is the time that its latency counts from. */
bool pace_due(struct pace *p, uint64_t now_ns, uint64_t *due);

#endif
