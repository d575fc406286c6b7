/* NUMA nodes and CPUs as the kernel lists them.
 *
 * The directories /sys/devices/system/node/nodeN and their cpulist files are the truth about nodes;
 * the has_cpu and has_memory masks are not used, since they can be wrong. Ids may be sparse, node 0
 * may be absent, a node may lack CPUs or memory, a CPU may belong to no node. A kernel without
 * NUMA gets one node 0 with all CPUs. Sets are hwloc bitmaps keyed by kernel (OS) id. */
#ifndef NUMALOAD_TOPOLOGY_H
#define NUMALOAD_TOPOLOGY_H

#include "err.h"
#include "set.h"

#include <stdint.h>

struct topo_node {
    int id;
    hwloc_bitmap_t listed; /* nodeN/cpulist, offline CPUs included */
    hwloc_bitmap_t cpus;   /* usable: listed and online and allowed by the cpuset */
    bool has_memory;       /* MemTotal of nodeN/meminfo is above 0 */
    bool mem_allowed;      /* Mems_allowed of this process holds the node */
    uint64_t mem_total_bytes;
    uint64_t mem_free_bytes; /* when the topology was loaded */
    uint64_t mem_file_bytes; /* page cache that can be reclaimed: Active(file) + Inactive(file) */
    int64_t hugepages_free;  /* of the default size; -1: unknown */
    int *distance;           /* by index into topo.nodes; -1: unknown */
};

struct topo_cpu {
    bool present; /* the kernel has a directory for it */
    bool online;
    bool allowed;  /* by this process's cpuset: Cpus_allowed of /proc/self/status, and isolated
                       CPUs, which a process has to ask for */
    bool isolated; /* /sys/devices/system/cpu/isolated */
    int node;      /* -1: in no node's list */
    int package;   /* physical_package_id; -1: unknown */
    int core;      /* core_id, unique within a package only; -1: unknown */
    int sibling;   /* place among the CPUs of one core by id: 0 is the first; 0 when unknown */
};

struct topo {
    bool numa;               /* false: no node directories, one node 0 was made up */
    struct topo_node *nodes; /* ascending id */
    unsigned nodes_n;
    struct topo_cpu *cpus; /* indexed by CPU id, holes have present = false */
    unsigned cpus_n;       /* highest id + 1 */
    hwloc_bitmap_t online, allowed, isolated;
};

/* Reads the topology through the sysroot seam: /sys/devices/system/{node,cpu}, /proc/meminfo and
 * /proc/self/status (proc(5), Documentation/ABI/stable/sysfs-devices-node). Fails with
 * STATUS_FAILED when no CPU is to be found or a list cannot be parsed, naming the file. Caller
 * frees with topo_free. */
bool topo_load(struct topo **out, struct err *err);
void topo_free(struct topo *t);

/* Index into t->nodes of a node id, or -1. */
int topo_node_index(const struct topo *t, int id);

/* The ids of all nodes; of those with usable CPUs; of those with memory that is allowed. The caller
 * frees the set (hwloc_bitmap_free). */
hwloc_bitmap_t topo_nodes(const struct topo *t);
hwloc_bitmap_t topo_nodes_with_cpus(const struct topo *t);
hwloc_bitmap_t topo_nodes_with_memory(const struct topo *t);

/* Node id of a CPU, or -1 when the CPU is unknown or in no node. */
int topo_cpu_node(const struct topo *t, unsigned cpu);

#endif
