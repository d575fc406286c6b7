#include "asking.h"

struct place_ask ask_of_profile(const struct profile *p, unsigned threads,
                                uint64_t bytes_per_thread)
{
    return (struct place_ask){
        .cpus = p->cpus,
        .mem = p->mem,
        .cq = p->cq,
        .unbound = p->unbound,
        .rps = p->rps,
        .numa_balancing = p->numa_balancing,
        .wq_scope = p->wq_scope,
        .comp_vector = p->comp_vector,
        .irqbalance = p->irqbalance,
        .device = p->device,
        .path = profile_path(p),
        .min_share = (double)p->min_share_percent / 100,
        .strict = p->strict,
        .threads = threads,
        .bytes_per_thread = bytes_per_thread,
        .allow_partial = p->allow_partial,
    };
}
