/* With as many threads that load as CPUs, or more, the thread that ends windows and samples waits
 * its turn among them: tens of ms a turn, so that an edge is late by as much and what is read at it
 * lies as far apart. It does little and sleeps most of the time, so it may go first. Where CPUs are
 * idle it is left alone: the kernel wakes an ordinary thread on one of them, a real-time one where
 * it was. */
#ifndef NUMALOAD_PUNCTUAL_H
#define NUMALOAD_PUNCTUAL_H

#include <sched.h>
#include <stdbool.h>

struct punctual {
    bool changed;
    int policy;
    struct sched_param param;
};

/* Whether the calling thread may run on no more CPUs than `threads`. */
bool punctual_helps(unsigned threads);

/* Gives the calling thread SCHED_FIFO at the lowest real-time priority (sched(7)); threads and
 * processes that it makes meanwhile do not inherit it (SCHED_RESET_ON_FORK). False: it is not
 * allowed, which takes CAP_SYS_NICE or RLIMIT_RTPRIO; nothing is changed then, nor where the thread
 * has a real-time policy already. */
bool punctual_begin(struct punctual *p);
/* What it was before, by the same thread; without CAP_SYS_NICE SCHED_RESET_ON_FORK stays. */
void punctual_end(struct punctual *p);

/* Whether the calling thread has a real-time policy now. */
bool punctual_now(void);

#endif
