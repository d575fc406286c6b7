/* The table of samplers: a new one is one file and its name here. */
#include "sampler.h"

extern const struct sampler_ops slab_sampler, cpu_sampler, irq_sampler, iowq_sampler;

/* The counters that move fastest are read first, nearest to the edge. */
const struct sampler_ops *const samplers[] = {
    &slab_sampler, &cpu_sampler, &irq_sampler, &iowq_sampler, NULL,
};
