/* The interrupts of one device that a placement means, and what they did between two moments. */
#ifndef NUMALOAD_VECTORS_H
#define NUMALOAD_VECTORS_H

#include "device.h"
#include "interrupts.h"

#include <jansson.h>

struct vector {
    unsigned irq;
    char *action; /* as /proc/interrupts names it */
    enum vector_use use;
    unsigned turn; /* place among the device's vectors of the same kind (input.0, input.1 ...)
                    */
    int number;    /* of the completion vector, as the handler's name ends; -1: unknown */
    hwloc_bitmap_t accept; /* CPUs where it may fire; NULL: anywhere */
};

struct vectors {
    struct vector *list;
    size_t n;
};

/* Counts of all vectors at one moment. */
struct vector_counts {
    bool read; /* false: /proc/interrupts could not be had, see reason */
    char *reason;
    unsigned *cpus; /* the columns then */
    unsigned cpus_n;
    uint64_t *by_node;  /* [vector * nodes_n + index of node] */
    uint64_t *total;    /* [vector] */
    uint64_t *accepted; /* [vector] on the CPUs in accept */
    char **effective;   /* [vector] effective_affinity_list, NULL: cannot be read */
};

/* Selects the vectors of a device: those of completion queues if it has such and is an RDMA device,
 * else all that carry load. A vector without a row in /proc/interrupts is not in use and left out.
 * Fails with STATUS_FAILED when nothing is left. */
bool vectors_of_device(struct vectors *v, const struct device *d, struct err *err);
void vectors_free(struct vectors *v);

/* The number at the end of a handler's name before an '@': 12 of "mlx5_comp12@pci:0000:3b:00.0".
 * Drivers number the handlers of completion queues as verbs numbers completion vectors. -1 when
 * there is none. */
int vector_number(const char *action);

/* The CPUs where an interrupt fires: its effective affinity, or its affinity while the former still
 * lies outside it (it follows only with the next interrupt). False when neither can be read. */
bool vector_fires_on(unsigned irq, hwloc_bitmap_t cpus);

/* Reads the counts now; never fails, see .read. Release with vector_counts_free. */
void vector_counts_read(struct vector_counts *c, const struct vectors *v, const struct topo *t);
void vector_counts_free(struct vector_counts *c, size_t vectors_n);

/* Counts at edges 0, 1, ... of one set of vectors; all zero to begin with. */
struct vector_edges {
    struct vector_counts *counts;
    unsigned n; /* room, not edges that were read */
};

/* Reads the counts of edge k, in place of what it had. Without memory the edge stays unread. */
void vector_edges_read(struct vector_edges *e, unsigned k, const struct vectors *v,
                       const struct topo *t);

/* The counts of edge k; NULL when it was not read or could not be. */
const struct vector_counts *vector_edges_at(const struct vector_edges *e, unsigned k);
void vector_edges_free(struct vector_edges *e, size_t vectors_n);

/* What vector i did from a to b. A count that went backwards means that the interrupt was freed and
 * requested again: what is in b then counts, and *reset is set. */
struct vector_delta {
    uint64_t total, accepted;
    bool reset;
};
struct vector_delta vector_delta(const struct vector_counts *a, const struct vector_counts *b,
                                 size_t i);

/* The same by node, into by_node (t->nodes_n long), added to what is there. */
void vector_delta_by_node(const struct vector_counts *a, const struct vector_counts *b, size_t i,
                          const struct topo *t, uint64_t *by_node);

#endif
