/* Where pages are: move_pages(2) used as a query, and memory policies set by set_mempolicy(2) and
 * mbind(2) with node masks that grow. */
#ifndef NUMALOAD_PAGES_H
#define NUMALOAD_PAGES_H

#include "topology.h"

#include <stddef.h>
#include <stdint.h>

/* Pages of one buffer. A page here is one step of the query, a huge page where the buffer has such.
 */
struct pages_seen {
    uint64_t *by_node;   /* by index into topo.nodes */
    uint64_t elsewhere;  /* on a node that the topology does not have */
    uint64_t unmapped;   /* never touched, or unmapped since */
    uint64_t errors;     /* other answers of the kernel */
    uint64_t page_bytes; /* of a step */
    int query_errno;     /* not 0: the query itself failed */
};

/* Counts every page from addr on, in steps of page_bytes. False when memory is out; what the kernel
 * refuses is in out->query_errno. Release with pages_seen_free. */
bool pages_query(const struct topo *t, void *addr, size_t bytes, size_t page_bytes,
                 struct pages_seen *out);
void pages_seen_free(struct pages_seen *p);

/* Sums over nodes. */
uint64_t pages_mapped(const struct topo *t, const struct pages_seen *p);

/* `mode` is one of the MPOL_ constants of numaif.h; nodes may be NULL for modes without. For the
 * calling thread, or for a mapping. 0 or -errno. */
int pages_policy_thread(int mode, hwloc_const_bitmap_t nodes);
int pages_policy_range(int mode, hwloc_const_bitmap_t nodes, void *addr, size_t bytes);

/* Asks whether this process may set memory policies at all, by setting the present one again. 0,
 * -ENOSYS (a kernel without NUMA), -EPERM (a seccomp profile) or another -errno. */
int pages_policy_probe(void);

/* A sentence about a failed policy call, naming what usually blocks it. */
bool pages_policy_refused(const char *call, int error, struct err *err);

#endif
