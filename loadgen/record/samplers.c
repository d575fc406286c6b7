/* The table of samplers: a new one is one file and its name here. */
#include "sampler.h"

extern const struct sampler_ops slab_sampler, cpu_sampler, irq_sampler, softirq_sampler,
    nfs_sampler, net_sampler, memory_sampler, rdma_sampler, sched_sampler, iowq_sampler,
    kworker_sampler;

/* The counters that move fastest are read first, nearest to the edge; those of RDMA devices may be
 * asked of the firmware and come last. */
const struct sampler_ops *const samplers[] = {
    &slab_sampler,   &nfs_sampler,  &cpu_sampler,   &irq_sampler,  &softirq_sampler, &net_sampler,
    &memory_sampler, &rdma_sampler, &sched_sampler, &iowq_sampler, &kworker_sampler, NULL,
};
