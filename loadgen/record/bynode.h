/* Sums by NUMA node: per-CPU figures of the kernel become "by_node" objects of the record. */
#ifndef NUMALOAD_BYNODE_H
#define NUMALOAD_BYNODE_H

#include "../../placement/topology.h"

#include <jansson.h>
#include <stdint.h>

struct bynode {
    unsigned n; /* nodes + 1: the last slot is for CPUs that are in no node */
    unsigned cpus_n;
    uint16_t *slot; /* by CPU id */
    int *id;        /* by slot; -1 for the last */
    bool *has_cpus; /* by slot: nodes without CPUs are not listed */
};

bool bynode_init(struct bynode *b, const struct topo *topo);
void bynode_free(struct bynode *b);

/* Slot of a CPU, also for an id that the topology does not know. */
unsigned bynode_slot(const struct bynode *b, uint64_t cpu);

/* Sets "by_node": {"0": n, ...}, and "node_unknown": n when the last slot is not 0. */
void bynode_put(const struct bynode *b, json_t *object, const uint64_t *sums);

#endif
