/* NUMA nodes and CPUs as the kernel lists them.
 *
 * The directories /sys/devices/system/node/nodeN and their cpulist files are the truth about nodes;
 * the has_cpu and has_memory masks are not used, since they can be wrong. Ids may be sparse, node 0
 * may be absent, a node may lack CPUs or memory, a CPU may belong to no node. A kernel without
 * NUMA gets one node 0 with all CPUs. Sets are hwloc bitmaps keyed by kernel (OS) id. */
#ifndef NUMALOAD_TOPOLOGY_H
#define NUMALOAD_TOPOLOGY_H

#include "err.h"

#include <hwloc/bitmap.h>
#include <stdint.h>

struct topo_node {
    int id;
    hwloc_bitmap_t listed;   /* nodeN/cpulist, offline CPUs included */
    hwloc_bitmap_t cpus;     /* usable: listed and online and allowed by the cpuset */
    bool has_memory;         /* MemTotal of nodeN/meminfo is above 0 */
    bool mem_allowed;        /* Mems_allowed of this process holds the node */
    uint64_t mem_total_bytes;
    uint64_t mem_free_bytes; /* when the topology was loaded */
    int64_t hugepages_free;  /* of the default size; -1: unknown */
    int *distance;           /* by index into topo.nodes; -1: unknown */
};

struct topo_cpu {
    bool present;  /* the kernel has a directory for it */
    bool online;
    bool allowed;  /* by this process's cpuset (Cpus_allowed of /proc/self/status) */
    bool isolated; /* /sys/devices/system/cpu/isolated */
    int node;      /* -1: in no node's list */
    int package;   /* physical_package_id; -1: unknown */
    int core;      /* core_id, unique within a package only; -1: unknown */
    int sibling;   /* place among the CPUs of one core by id: 0 is the first; 0 when unknown */
};

struct topo {
    bool numa; /* false: no node directories, one node 0 was made up */
    struct topo_node *nodes; /* ascending id */
    unsigned nodes_n;
    struct topo_cpu *cpus; /* indexed by CPU id, holes have present = false */
    unsigned cpus_n;       /* highest id + 1 */
    hwloc_bitmap_t online, allowed, isolated;
};

/* Reads the topology through the sysroot seam. Caller frees with topo_free. */
bool topo_load(struct topo **out, struct err *err);
void topo_free(struct topo *t);

/* Index into t->nodes of a node id, or -1. */
int topo_node_index(const struct topo *t, int id);

/* Node id of a CPU, or -1 when the CPU is unknown or in no node. */
int topo_cpu_node(const struct topo *t, unsigned cpu);

/* Parses a kernel list ("0-3,8", stride "0-6:2/..." not accepted) into set. Empty text is an empty
 * set. Refuses anything else, ids above 65535, and reversed ranges, quoting the text. */
bool set_parse(hwloc_bitmap_t set, const char *text, struct err *err);

/* The list form, "0-3,8"; "" for an empty set. Caller frees. */
char *set_format(hwloc_const_bitmap_t set);

#endif
