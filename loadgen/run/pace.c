#include "pace.h"

/* A limited loop that was late may catch up so much, lest a coarse timer lowers the rate. */
#define CATCH_UP_NS 10e6

void pace_init(struct pace *p, const struct profile *profile, unsigned number, unsigned threads)
{
    *p = (struct pace){.open_loop = profile->iops > 0, .phase = (double)number / threads};
    double block = (double)profile->block_bytes;
    if (p->open_loop)
        p->interval_ns = 1e9 * threads / (double)profile->iops;
    if (profile->limit_bytes)
        p->interval_ns = 1e9 * threads * block / (double)profile->limit_bytes;
    if (profile->limit_thread_bytes) {
        double own = 1e9 * block / (double)profile->limit_thread_bytes;
        if (own > p->interval_ns)
            p->interval_ns = own;
    }
}

void pace_begin(struct pace *p, uint64_t now_ns)
{
    p->next = (double)now_ns + p->phase * p->interval_ns;
    p->next_ns = (uint64_t)p->next;
}

bool pace_due(struct pace *p, uint64_t now_ns, uint64_t *due)
{
    if (p->next_ns > now_ns)
        return false;
    *due = p->open_loop ? p->next_ns : now_ns;
    if (!p->open_loop && p->next + CATCH_UP_NS < (double)now_ns)
        p->next = (double)now_ns - CATCH_UP_NS;
    p->next += p->interval_ns;
    p->next_ns = (uint64_t)p->next;
    return true;
}
