/* io_uring: one ring a thread, registered files and buffers, and SINGLE_ISSUER and DEFER_TASKRUN
 * where the kernel has them (io_uring_setup(2)). What the kernel lacks is left out feature by
 * feature; the engine itself is never exchanged. */
#define _GNU_SOURCE
#ifdef HAVE_URING
#include "engine.h"

#include "../../placement/sysroot.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

struct engine {
    struct io_uring ring;
    const int *fds;
    bool fixed_files;
    bool fixed_buffers;
    bool iowq_affinity;
    unsigned setup_flags;
};

/* From the richest set of flags to none; kernels before 6.1, 6.0, 5.19 refuse the former ones. */
static const unsigned flag_sets[] = {
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CLAMP,
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CLAMP,
    IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CLAMP,
    IORING_SETUP_CLAMP,
};

static bool setup_failed(int error, unsigned entries, struct err *err)
{
    int64_t disabled = 0;
    switch (error) {
    case ENOSYS:
        return err_set(
            err, STATUS_SKIP,
            "engine uring: this kernel has no io_uring (CONFIG_IO_URING); use engine aio");
    case EPERM:
        sysroot_read_i64("/proc/sys/kernel/io_uring_disabled", &disabled);
        if (disabled)
            return err_set(err, STATUS_SKIP,
                           "engine uring: kernel.io_uring_disabled is %lld, which forbids io_uring "
                           "%s; set it to 0, or use engine aio",
                           (long long)disabled,
                           disabled == 1 ? "to processes outside kernel.io_uring_group"
                                         : "to everybody");
        return err_set(err, STATUS_SKIP,
                       "engine uring: io_uring_setup is refused although kernel.io_uring_disabled "
                       "is 0: a seccomp filter (containers have one) forbids it; use engine aio");
    case ENOMEM:
        return err_set(
            err, STATUS_FAILED,
            "engine uring: no memory for a ring of %u entries; kernels before 5.12 count "
            "rings against RLIMIT_MEMLOCK: ulimit -l unlimited",
            entries);
    default:
        return err_set(err, STATUS_FAILED, "engine uring: io_uring_setup with %u entries: %s",
                       entries, strerror(error));
    }
}

static int ring_init(struct io_uring *ring, unsigned entries, unsigned *flags)
{
    int r = -EINVAL;
    for (size_t i = 0; r == -EINVAL && i < sizeof(flag_sets) / sizeof(*flag_sets); i++) {
        *flags = flag_sets[i];
        r = io_uring_queue_init(entries, ring, *flags);
    }
    return r;
}

static bool uring_check(unsigned threads, unsigned iodepth, struct err *err)
{
    (void)threads;
    struct io_uring ring;
    unsigned flags;
    int r = ring_init(&ring, iodepth, &flags);
    if (r < 0)
        return setup_failed(-r, iodepth, err);
    io_uring_queue_exit(&ring);
    return true;
}

/* One iovec a slot: io_uring takes at most 1 GiB in one, and 16384 of them. */
static bool register_buffers(struct engine *e, const struct engine_setup *setup)
{
    struct iovec *iov = calloc(setup->iodepth, sizeof(*iov));
    if (!iov)
        return false;
    for (unsigned i = 0; i < setup->iodepth; i++) {
        iov[i].iov_base = (char *)setup->buffers + i * setup->block_bytes;
        iov[i].iov_len = setup->block_bytes;
    }
    int r = io_uring_register_buffers(&e->ring, iov, setup->iodepth);
    free(iov);
    return r == 0;
}

/* io-wq workers do not inherit the thread's pin. */
static bool set_iowq_affinity(struct engine *e, hwloc_const_bitmap_t cpus)
{
    int last = hwloc_bitmap_last(cpus);
    if (last < 0)
        return false;
    size_t words = (size_t)last / (8 * sizeof(unsigned long)) + 1;
    unsigned long *mask = calloc(words, sizeof(*mask));
    if (!mask)
        return false;
    for (size_t i = 0; i < words; i++)
        mask[i] = hwloc_bitmap_to_ith_ulong(cpus, (unsigned)i);
    int r = io_uring_register_iowq_aff(&e->ring, words * sizeof(*mask), (const cpu_set_t *)mask);
    free(mask);
    return r == 0;
}

static struct engine *uring_open(const struct engine_setup *setup, struct err *err)
{
    struct engine *e = calloc(1, sizeof(*e));
    if (!e) {
        err_set(err, STATUS_FAILED, "out of memory");
        return NULL;
    }
    int r = ring_init(&e->ring, setup->iodepth, &e->setup_flags);
    if (r < 0) {
        setup_failed(-r, setup->iodepth, err);
        free(e);
        return NULL;
    }
    e->fds = setup->fds;
    e->fixed_files = io_uring_register_files(&e->ring, setup->fds, setup->files_n) == 0;
    e->fixed_buffers = setup->register_buffers && register_buffers(e, setup);
    e->iowq_affinity = setup->cpus && set_iowq_affinity(e, setup->cpus);
    return e;
}

static int uring_submit(struct engine *e, const struct io *ios, const uint32_t *slots, unsigned n)
{
    unsigned i;
    for (i = 0; i < n; i++) {
        struct io_uring_sqe *sqe = io_uring_get_sqe(&e->ring);
        if (!sqe)
            break;
        const struct io *io = &ios[slots[i]];
        int fd = e->fixed_files ? (int)io->file : e->fds[io->file];
        unsigned op = io->write ? e->fixed_buffers ? IORING_OP_WRITE_FIXED : IORING_OP_WRITE
                      : e->fixed_buffers ? IORING_OP_READ_FIXED
                                         : IORING_OP_READ;
        io_uring_prep_rw((int)op, sqe, fd, io->buf, io->bytes, io->offset);
        if (e->fixed_buffers)
            sqe->buf_index = (uint16_t)slots[i];
        if (e->fixed_files)
            sqe->flags |= IOSQE_FIXED_FILE;
        io_uring_sqe_set_data64(sqe, slots[i]);
    }
    return (int)i;
}

static int uring_reap(struct engine *e, struct completion *done, unsigned max, uint64_t timeout_ns)
{
    struct __kernel_timespec ts = {.tv_sec = (long long)(timeout_ns / 1000000000),
                                   .tv_nsec = (long long)(timeout_ns % 1000000000)};
    struct io_uring_cqe *cqe;
    int r = timeout_ns ? io_uring_submit_and_wait_timeout(&e->ring, &cqe, 1, &ts, NULL)
                       : io_uring_submit_and_get_events(&e->ring);
    if (r < 0 && r != -ETIME && r != -EINTR && r != -EAGAIN && r != -EBUSY)
        return r;
    unsigned head, n = 0;
    io_uring_for_each_cqe(&e->ring, head, cqe)
    {
        if (n == max)
            break;
        done[n].slot = (uint32_t)cqe->user_data;
        done[n].result = cqe->res;
        n++;
    }
    io_uring_cq_advance(&e->ring, n);
    return (int)n;
}

static json_t *uring_features(const struct engine *e)
{
    return json_pack(
        "{s:b, s:b, s:b, s:b, s:b, s:b}", "registered_buffers", e->fixed_buffers, "registered_file",
        e->fixed_files, "single_issuer", !!(e->setup_flags & IORING_SETUP_SINGLE_ISSUER),
        "defer_taskrun", !!(e->setup_flags & IORING_SETUP_DEFER_TASKRUN), "coop_taskrun",
        !!(e->setup_flags & IORING_SETUP_COOP_TASKRUN), "iowq_affinity", e->iowq_affinity);
}

static void uring_close(struct engine *e)
{
    io_uring_queue_exit(&e->ring);
    free(e);
}

const struct engine_ops engine_uring = {
    .name = "uring",
    .call_in_reap = true,
    .check = uring_check,
    .open = uring_open,
    .submit = uring_submit,
    .reap = uring_reap,
    .features = uring_features,
    .close = uring_close,
};
#endif
