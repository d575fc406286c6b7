#define _GNU_SOURCE
#ifdef HAVE_URING
#include "ring.h"

#include "../run/worker.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From the richest set of flags to none; kernels before 6.1, 6.0, 5.19 refuse the former ones. */
static const unsigned flag_sets[] = {
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN,
    IORING_SETUP_COOP_TASKRUN,
    0,
};

int ring_open(struct ring *r, unsigned entries, bool spin)
{
    struct io_uring_params p;
    int fd = -1;
    for (size_t i = 0; i < sizeof(flag_sets) / sizeof(*flag_sets); i++) {
        p = (struct io_uring_params){.flags = flag_sets[i]};
        /* Costs the kernel a write to a shared line for each completion: 4 % of 4 KiB reads. */
        if (spin && p.flags)
            p.flags |= IORING_SETUP_TASKRUN_FLAG;
        /* io_uring_queue_init() of newer liburing leaves the index array out. */
        fd = (int)syscall(__NR_io_uring_setup, entries, &p);
        if (fd >= 0 || errno != EINVAL)
            break;
    }
    if (fd < 0)
        return -errno;
    if (!(p.features & IORING_FEAT_EXT_ARG)) {
        close(fd);
        return -EOPNOTSUPP;
    }
    int error = io_uring_queue_mmap(fd, &p, &r->uring);
    if (error) {
        close(fd);
        return error;
    }
    const struct io_uring *u = &r->uring;
    r->sqes = u->sq.sqes;
    r->array = u->sq.array;
    r->sq_mask = p.sq_entries - 1;
    r->sq_tail = *u->sq.ktail;
    r->cqes = u->cq.cqes;
    r->cq_mask = p.cq_entries - 1;
    r->setup_flags = p.flags;
    r->enter_flags = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG;
    if (io_uring_register_ring_fd(&r->uring) == 1)
        r->enter_flags |= IORING_ENTER_REGISTERED_RING;
    return 0;
}

void ring_close(struct ring *r)
{
    io_uring_queue_exit(&r->uring);
}

static bool is_passing(int error)
{
    return error == ETIME || error == EINTR || error == EAGAIN || error == EBUSY;
}

int ring_enter(struct ring *r, uint64_t timeout_ns)
{
    struct __kernel_timespec ts = {.tv_sec = (long long)(timeout_ns / 1000000000),
                                   .tv_nsec = (long long)(timeout_ns % 1000000000)};
    struct io_uring_getevents_arg arg = {.sigmask_sz = _NSIG / 8, .ts = (uintptr_t)&ts};
    /* What the kernel did not take the last time, for want of memory, is still in the queue. */
    unsigned n = r->sq_tail -
                 atomic_load_explicit((_Atomic unsigned *)r->uring.sq.khead, memory_order_acquire);
    if (n == 0 && ring_has(r))
        return 0;
    atomic_store_explicit((_Atomic unsigned *)r->uring.sq.ktail, r->sq_tail, memory_order_release);
    int e = io_uring_enter2((unsigned)r->uring.enter_ring_fd, n, timeout_ns ? 1 : 0, r->enter_flags,
                            (sigset_t *)&arg, sizeof(arg));
    return e < 0 && !is_passing(-e) ? e : 0;
}

int ring_spin(struct ring *r, uint64_t timeout_ns)
{
    int e = ring_enter(r, 0);
    if (e < 0 || !timeout_ns)
        return e;
    const uint64_t until = now_ns() + timeout_ns;
    while (!ring_has(r) && now_ns() < until) {
        unsigned flags =
            atomic_load_explicit((_Atomic unsigned *)r->uring.sq.kflags, memory_order_relaxed);
        if (flags & IORING_SQ_TASKRUN || r->sq_tail != *r->uring.sq.khead)
            e = ring_enter(r, 0);
        else
            spin_pause();
        if (e < 0)
            return e;
    }
    return 0;
}
#endif
