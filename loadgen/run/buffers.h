/* The buffers of one worker: one mapping of iodepth x block bytes, bound before it is touched and
 * faulted in by the worker itself, so that no page fault falls into a window. */
#ifndef NUMALOAD_BUFFERS_H
#define NUMALOAD_BUFFERS_H

#include "hist.h"

#include "../../placement/place.h"

struct buffers {
    void *addr;
    size_t bytes;      /* of the mapping, whole pages */
    size_t page_bytes; /* pages it is made of: huge or base */
    bool huge;         /* from the hugetlb pool */
};

/* Maps, binds through the placement and faults in. Huge pages of the default size are taken when
 * the pool has enough on the right node, else base pages with MADV_HUGEPAGE. `progress` grows by
 * the bytes faulted in. Errors name the size and the node. */
bool buffers_make(struct buffers *b, const struct place *place, unsigned thread, uint64_t bytes,
                  counter *progress, struct err *err);
void buffers_free(struct buffers *b);

/* The pool of huge pages of the default size that buffers_make takes from: bytes of one and how
 * many are free. False when the kernel has none. */
bool buffers_huge_pool(uint64_t *page_bytes, uint64_t *free_pages);

/* Compares what all threads need with MemAvailable, so that a run is refused and not killed. */
bool buffers_check(unsigned threads, uint64_t bytes_per_thread, struct err *err);

#endif
