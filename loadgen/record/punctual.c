#define _GNU_SOURCE
#include "punctual.h"

static bool is_real_time(int policy)
{
    policy &= ~SCHED_RESET_ON_FORK;
    return policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_DEADLINE;
}

bool punctual_now(void)
{
    return is_real_time(sched_getscheduler(0));
}

bool punctual_begin(struct punctual *p)
{
    p->changed = false;
    p->policy = sched_getscheduler(0);
    if (p->policy < 0 || sched_getparam(0, &p->param))
        return false;
    if (is_real_time(p->policy))
        return true;
    struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    p->changed = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) == 0;
    return p->changed;
}

void punctual_end(struct punctual *p)
{
    if (p->changed)
        sched_setscheduler(0, p->policy, &p->param);
    p->changed = false;
}
