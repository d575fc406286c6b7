#define _GNU_SOURCE
#include "punctual.h"

#define CPUS_MAX (1 << 20)

static bool is_real_time(int policy)
{
    policy &= ~SCHED_RESET_ON_FORK;
    return policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_DEADLINE;
}

bool punctual_now(void)
{
    return is_real_time(sched_getscheduler(0));
}

bool punctual_helps(unsigned threads)
{
    /* The kernel refuses a set that is too small for its CPUs. */
    for (int cpus = CPU_SETSIZE; cpus <= CPUS_MAX; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        size_t bytes = CPU_ALLOC_SIZE(cpus);
        int mine = set && sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (mine)
            return threads >= (unsigned)mine;
    }
    return false;
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
    if (p->changed && sched_setscheduler(0, p->policy, &p->param))
        sched_setscheduler(0, p->policy | SCHED_RESET_ON_FORK, &p->param);
    p->changed = false;
}
