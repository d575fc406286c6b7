/* What the live view reads besides the workers: the statistics of the slab cache, and interrupts
 * by node. Its own reads, apart from the samplers': those belong to the edges of the windows. */
#ifndef NUMALOAD_LIVE_SOURCES_H
#define NUMALOAD_LIVE_SOURCES_H

#include "../../placement/topology.h"

#include <stddef.h>
#include <stdint.h>

struct live_sources {
    const struct topo *topo;
    size_t counters_n; /* 0: the kernel has no statistics of this cache */
    char **names, **paths;
    uint64_t *counters;   /* [counters_n]: totals at the last read */
    uint64_t *interrupts; /* [topo->nodes_n]: all numbered interrupts that fired on CPUs of it */
    bool interrupts_known;
};

/* Finds the counters of the cache `slab`. False when memory is out. */
bool live_sources_open(struct live_sources *s, const struct topo *topo, const char *slab);
void live_sources_read(struct live_sources *s);
void live_sources_close(struct live_sources *s);

#endif
