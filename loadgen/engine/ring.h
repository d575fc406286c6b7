/* An io_uring with one submission entry (SQE) a slot.
 *
 * What a slot asks for hardly changes from one I/O to the next, so its SQE stays where it is and
 * the index array of the submission queue names it (io_uring(7), "sq.array"); a caller that fills
 * entry after entry writes all 64 bytes of each. Sound as long as a slot has one I/O at a time: the
 * kernel has read the SQE before the I/O can complete.
 *
 * One thread opens, uses and closes a ring. */
#ifndef NUMALOAD_RING_H
#define NUMALOAD_RING_H

#include "engine.h"

#include <liburing.h>
#include <stdatomic.h>

struct ring {
    struct io_uring_sqe *sqes; /* by slot; the caller fills them */
    unsigned *array;
    unsigned sq_mask,
        sq_tail; /* the tail as it is to be; the kernel learns of it in ring_enter() */
    struct io_uring_cqe *cqes;
    unsigned cq_mask;
    unsigned setup_flags; /* IORING_SETUP_* in use */
    unsigned enter_flags;
    struct io_uring uring;
};

/* A ring of `entries` slots (1 .. 32768), with SINGLE_ISSUER and DEFER_TASKRUN, or the best that
 * the kernel has (6.1, 6.0 and 5.19 brought the flags). 0, or -errno of io_uring_setup(2);
 * -EOPNOTSUPP when the kernel cannot wait with a time-out (IORING_FEAT_EXT_ARG, Linux 5.11).
 * `spin`: for ring_spin(), the kernel says in the ring when it has completions to post. */
int ring_open(struct ring *r, unsigned entries, bool spin);

void ring_close(struct ring *r);

/* Queues the SQE of a slot; ring_enter() submits it. */
static inline void ring_put(struct ring *r, uint32_t slot)
{
    r->array[r->sq_tail++ & r->sq_mask] = slot;
}

/* Submits what was put and, with a time-out, waits until there is a completion or timeout_ns
 * passed; 0 does not wait. 0, or -errno when the ring is broken. */
int ring_enter(struct ring *r, uint64_t timeout_ns);

/* The same without sleeping: spins until there is a completion or timeout_ns passed. */
int ring_spin(struct ring *r, uint64_t timeout_ns);

/* Completions that can be taken at once. */
static inline bool ring_has(const struct ring *r)
{
    return *r->uring.cq.khead !=
           atomic_load_explicit((_Atomic unsigned *)r->uring.cq.ktail, memory_order_acquire);
}

/* Takes up to max completions whose user_data is the slot. */
static inline unsigned ring_take(struct ring *r, struct completion *done, unsigned max)
{
    const unsigned mask = r->cq_mask;
    unsigned head = *r->uring.cq.khead;
    unsigned n =
        atomic_load_explicit((_Atomic unsigned *)r->uring.cq.ktail, memory_order_acquire) - head;
    if (n > max)
        n = max;
    for (unsigned i = 0; i < n; i++, head++) {
        const struct io_uring_cqe *cqe = &r->cqes[head & mask];
        done[i].slot = (uint32_t)cqe->user_data;
        done[i].result = cqe->res;
    }
    atomic_store_explicit((_Atomic unsigned *)r->uring.cq.khead, head, memory_order_release);
    return n;
}

#endif
