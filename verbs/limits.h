/* Whether a device can do what a run asks for, before anything is set up. */
#ifndef NUMALOAD_VERBS_LIMITS_H
#define NUMALOAD_VERBS_LIMITS_H

#include "device.h"

/* What a run needs of one device; 0 stands for nothing asked. */
struct verbs_need {
    unsigned threads;        /* each with a queue pair, a CQ and a protection domain */
    unsigned connections;    /* queue pairs a thread; 0: one */
    unsigned depth;          /* requests that a queue pair must take at a time */
    unsigned extra;          /* and so many for the library's own use */
    unsigned sge;            /* pieces of memory a request */
    uint64_t mr_bytes;       /* longest registration */
    unsigned mrs_per_thread; /* registrations a thread; 0: one */
    int comp_vector;         /* -1: any */
    unsigned cq_count;       /* moderation: completions for one event */
    uint64_t cq_period_us;   /* moderation: longest time to one */
};

/* Refuses with the limit by its name in ibv_query_device(3), the number asked for and the number
 * that there is. Limits that are unknown refuse nothing. */
bool verbs_limits_check(const struct verbs_device *d, const struct verbs_need *need,
                        struct err *err);

#endif
