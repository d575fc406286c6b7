/* From a node, a socket or a list to CPUs that can be used, or the reason why there are none.
 *
 * A CPU is usable when it is online and, for threads of this process, in the cpuset. A node or a
 * socket stands for its usable CPUs, however many of its CPUs those are. A list was written down
 * CPU by CPU, so one that is partly usable is refused unless `allow_partial`. `key` begins each
 * message; refusals have STATUS_FAILED. */
#ifndef NUMALOAD_USABLE_H
#define NUMALOAD_USABLE_H

#include "topology.h"

enum usable_for {
    USABLE_FOR_THREADS, /* online and allowed by the cpuset */
    USABLE_FOR_KERNEL,  /* online: interrupts and kernel workers know no cpuset */
};

/* Each writes the usable CPUs to `out` (allocated by the caller). */
bool usable_node(const struct topo *t, const char *key, int id, enum usable_for who,
                 hwloc_bitmap_t out, struct err *err);
bool usable_socket(const struct topo *t, const char *key, int id, enum usable_for who,
                   hwloc_bitmap_t out, struct err *err);
bool usable_list(const struct topo *t, const char *key, hwloc_const_bitmap_t list,
                 enum usable_for who, bool allow_partial, hwloc_bitmap_t out, struct err *err);

/* The n-th CPU of a set (modulo its size), first CPUs of each core first, then their siblings; -1
 * for an empty set. */
int usable_nth(const struct topo *t, hwloc_const_bitmap_t set, unsigned n);

#endif
