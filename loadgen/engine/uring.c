/* io_uring: one ring a thread, with registered files and buffers. What the kernel lacks is left out
 * feature by feature; the engine itself is never exchanged. */
#define _GNU_SOURCE
#ifdef HAVE_URING
#include "ring.h"

#include "../../placement/sysroot.h"
#include "../profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

struct engine {
    struct ring ring;
    const int *fds;
    bool fixed_files;
    bool fixed_buffers;
    bool iowq_affinity;
    bool spin;
    uint8_t read_op, write_op;
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
    case EOPNOTSUPP:
        return err_set(err, STATUS_SKIP,
                       "engine uring: this kernel's io_uring cannot wait with a time-out "
                       "(IORING_FEAT_EXT_ARG, Linux 5.11); use engine aio");
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

static bool uring_check(unsigned threads, unsigned iodepth, struct err *err)
{
    (void)threads;
    struct ring ring;
    int r = ring_open(&ring, iodepth, false);
    if (r < 0)
        return setup_failed(-r, iodepth, err);
    ring_close(&ring);
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
    int r = io_uring_register_buffers(&e->ring.uring, iov, setup->iodepth);
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
    int r =
        io_uring_register_iowq_aff(&e->ring.uring, words * sizeof(*mask), (const cpu_set_t *)mask);
    free(mask);
    return r == 0;
}

/* What is the same in each I/O of a slot. */
static void fill_sqes(struct engine *e, unsigned iodepth)
{
    for (unsigned i = 0; i < iodepth; i++) {
        struct io_uring_sqe *sqe = &e->ring.sqes[i];
        memset(sqe, 0, sizeof(*sqe));
        sqe->user_data = i;
        if (e->fixed_buffers)
            sqe->buf_index = (uint16_t)i;
        if (e->fixed_files)
            sqe->flags = IOSQE_FIXED_FILE;
    }
    e->read_op = e->fixed_buffers ? IORING_OP_READ_FIXED : IORING_OP_READ;
    e->write_op = e->fixed_buffers ? IORING_OP_WRITE_FIXED : IORING_OP_WRITE;
}

static struct engine *uring_open(const struct engine_setup *setup, struct err *err)
{
    struct engine *e = calloc(1, sizeof(*e));
    if (!e) {
        err_set(err, STATUS_FAILED, "out of memory");
        return NULL;
    }
    bool spin = profile_polls(setup->profile);
    int r = ring_open(&e->ring, setup->iodepth, spin);
    if (r < 0) {
        setup_failed(-r, setup->iodepth, err);
        free(e);
        return NULL;
    }
    e->fds = setup->fds;
    e->spin = spin;
    e->fixed_files = io_uring_register_files(&e->ring.uring, setup->fds, setup->files_n) == 0;
    e->fixed_buffers = setup->register_buffers && register_buffers(e, setup);
    e->iowq_affinity = setup->cpus && set_iowq_affinity(e, setup->cpus);
    fill_sqes(e, setup->iodepth);
    return e;
}

static int uring_submit(struct engine *e, const struct io *ios, const uint32_t *slots, unsigned n)
{
    const bool fixed_files = e->fixed_files;
    const uint8_t read_op = e->read_op, write_op = e->write_op;
    for (unsigned i = 0; i < n; i++) {
        const struct io *io = &ios[slots[i]];
        struct io_uring_sqe *sqe = &e->ring.sqes[slots[i]];
        sqe->opcode = io->write ? write_op : read_op;
        sqe->fd = fixed_files ? (int)io->file : e->fds[io->file];
        sqe->off = io->offset;
        sqe->addr = (uintptr_t)io->buf;
        sqe->len = io->bytes;
        ring_put(&e->ring, slots[i]);
    }
    return (int)n;
}

static int uring_reap(struct engine *e, struct completion *done, unsigned max, uint64_t timeout_ns)
{
    int r = e->spin ? ring_spin(&e->ring, timeout_ns) : ring_enter(&e->ring, timeout_ns);
    return r < 0 ? r : (int)ring_take(&e->ring, done, max);
}

static json_t *uring_features(const struct engine *e)
{
    return json_pack(
        "{s:b, s:b, s:b, s:b, s:b, s:b}", "registered_buffers", e->fixed_buffers, "registered_file",
        e->fixed_files, "single_issuer", !!(e->ring.setup_flags & IORING_SETUP_SINGLE_ISSUER),
        "defer_taskrun", !!(e->ring.setup_flags & IORING_SETUP_DEFER_TASKRUN), "coop_taskrun",
        !!(e->ring.setup_flags & IORING_SETUP_COOP_TASKRUN), "iowq_affinity", e->iowq_affinity);
}

static void uring_close(struct engine *e)
{
    ring_close(&e->ring);
    free(e);
}

const struct engine_ops engine_uring = {
    .name = "uring",
    .spins = true,
    .call_in_reap = true,
    .check = uring_check,
    .open = uring_open,
    .submit = uring_submit,
    .reap = uring_reap,
    .features = uring_features,
    .close = uring_close,
};
#endif
