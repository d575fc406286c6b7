/* The leanest readers there are, one a kernel interface: keep `depth` random reads outstanding and
 * count them. No latency, no statistics, no placement: what numaload's loop is measured against.
 *
 *     bare_loop aio|uring|nop FILE BLOCK DEPTH BATCH THREADS SECONDS
 *
 * Prints {"ios": N, "seconds": S, "all_ios": A, "start_s": T}: N of the A reads were reaped in the
 * S seconds after a short ramp; T is the time from the start of the program to the first submit,
 * with the buffers faulted in as each thread finds best. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libaio.h>
#include <liburing.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct {
    const char *mode, *file;
    unsigned long block, depth, batch, threads;
    double seconds, begin;
    unsigned long blocks;
} ask;
static atomic_bool stop;
static atomic_uint ready;

/* Aligned, so that no two share a cache line or the pair that a CPU prefetches. */
struct reader {
    _Alignas(128) pthread_t thread;
    atomic_ulong ios;
    unsigned long long rng;
    char *buffers;
    int fd;
    double first;
};

static double now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void die(const char *what, int error)
{
    fprintf(stderr, "bare_loop: %s: %s\n", what, strerror(error));
    exit(error == ENOSYS || error == EPERM ? 77 : 1);
}

static long long next_offset(struct reader *r)
{
    r->rng ^= r->rng << 13;
    r->rng ^= r->rng >> 7;
    r->rng ^= r->rng << 17;
    return (long long)((((unsigned __int128)r->rng * ask.blocks) >> 64) * ask.block);
}

static void count(struct reader *r, unsigned long n)
{
    unsigned long before = atomic_load_explicit(&r->ios, memory_order_relaxed);
    atomic_store_explicit(&r->ios, before + n, memory_order_relaxed);
}

static void check(long long result)
{
    if (result != (long long)ask.block)
        die("read", result < 0 ? (int)-result : EIO);
}

static void loop_aio(struct reader *r)
{
    io_context_t ctx = 0;
    struct iocb *cbs = calloc(ask.depth, sizeof(*cbs)), **list = calloc(ask.depth, sizeof(*list));
    struct io_event *events = calloc(ask.depth, sizeof(*events));
    int e = io_setup((int)ask.depth, &ctx);
    if (e || !cbs || !list || !events)
        die("io_setup", -e);
    unsigned long n = 0;
    for (; n < ask.depth; n++) {
        io_prep_pread(&cbs[n], r->fd, r->buffers + n * ask.block, ask.block, next_offset(r));
        list[n] = &cbs[n];
    }
    r->first = now();
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        for (unsigned long at = 0; at < n;) {
            unsigned long some = n - at < ask.batch ? n - at : ask.batch;
            int sent = io_submit(ctx, (long)some, list + at);
            if (sent < 0)
                die("io_submit", -sent);
            at += (unsigned long)sent;
        }
        int got = io_getevents(ctx, 1, (long)ask.batch, events, NULL);
        if (got < 0)
            die("io_getevents", -got);
        for (n = 0; n < (unsigned long)got; n++) {
            check((long long)events[n].res);
            list[n] = events[n].obj;
            list[n]->u.c.offset = next_offset(r);
        }
        count(r, n);
    }
    for (unsigned long left = ask.depth - n; left;) {
        int got = io_getevents(ctx, 1, (long)left, events, NULL);
        if (got < 0)
            die("io_getevents", -got);
        count(r, (unsigned long)got);
        left -= (unsigned long)got;
    }
    io_destroy(ctx);
}

static void prepare(struct reader *r, struct io_uring *ring, unsigned long slot)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
    if (ask.mode[0] == 'n') {
        io_uring_prep_nop(sqe);
    } else {
        io_uring_prep_read_fixed(sqe, 0, r->buffers + slot * ask.block, (unsigned)ask.block,
                                 (unsigned long long)next_offset(r), (int)slot);
        sqe->flags |= IOSQE_FIXED_FILE;
    }
    io_uring_sqe_set_data64(sqe, slot);
}

static void loop_uring(struct reader *r)
{
    struct io_uring ring;
    struct iovec *iov = calloc(ask.depth, sizeof(*iov));
    int e = io_uring_queue_init((unsigned)ask.depth, &ring,
                                IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
    if (e || !iov)
        die("io_uring_setup", -e);
    if (ask.mode[0] == 'u') {
        for (unsigned long i = 0; i < ask.depth; i++)
            iov[i] = (struct iovec){r->buffers + i * ask.block, ask.block};
        if ((e = io_uring_register_buffers(&ring, iov, (unsigned)ask.depth)) ||
            (e = io_uring_register_files(&ring, &r->fd, 1)))
            die("register", -e);
    }
    for (unsigned long i = 0; i < ask.depth; i++)
        prepare(r, &ring, i);
    r->first = now();
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        struct io_uring_cqe *cqes[512];
        e = io_uring_submit_and_wait(&ring, 1);
        if (e < 0)
            die("io_uring_enter", -e);
        unsigned n = io_uring_peek_batch_cqe(&ring, cqes, (unsigned)ask.batch);
        for (unsigned i = 0; i < n; i++) {
            if (ask.mode[0] == 'u')
                check(cqes[i]->res);
            prepare(r, &ring, cqes[i]->user_data);
        }
        io_uring_cq_advance(&ring, n);
        count(r, n);
    }
    for (unsigned long left = ask.depth - io_uring_sq_ready(&ring); left; left--) {
        struct io_uring_cqe *cqe;
        if ((e = io_uring_wait_cqe(&ring, &cqe)))
            die("io_uring_enter", -e);
        io_uring_cqe_seen(&ring, cqe);
        count(r, 1);
    }
    io_uring_queue_exit(&ring);
}

static void *run(void *arg)
{
    struct reader *r = arg;
    size_t bytes = ask.depth * ask.block;
    r->buffers = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (r->buffers == MAP_FAILED)
        die("buffers", errno);
    madvise(r->buffers, bytes, MADV_HUGEPAGE);
    memset(r->buffers, 1, bytes);
    if (ask.mode[0] != 'n' && (r->fd = open(ask.file, O_RDONLY | O_DIRECT)) < 0)
        die(ask.file, errno);
    atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < ask.threads)
        usleep(1000);
    ask.mode[0] == 'a' ? loop_aio(r) : loop_uring(r);
    return NULL;
}

static unsigned long all_ios(const struct reader *readers)
{
    unsigned long ios = 0;
    for (unsigned long i = 0; i < ask.threads; i++)
        ios += atomic_load_explicit(&readers[i].ios, memory_order_relaxed);
    return ios;
}

static void nap(double seconds)
{
    usleep((useconds_t)(seconds * 1e6));
}

int main(int argc, char **argv)
{
    ask.begin = now();
    if (argc != 8) {
        fputs("usage: bare_loop aio|uring|nop FILE BLOCK DEPTH BATCH THREADS SECONDS\n", stderr);
        return 2;
    }
    ask.mode = argv[1];
    ask.file = argv[2];
    ask.block = strtoul(argv[3], NULL, 0);
    ask.depth = strtoul(argv[4], NULL, 0);
    ask.batch = strtoul(argv[5], NULL, 0);
    ask.threads = strtoul(argv[6], NULL, 0);
    ask.seconds = strtod(argv[7], NULL);
    struct stat st = {.st_size = 1L << 30};
    if (ask.mode[0] != 'n' && stat(ask.file, &st))
        die(ask.file, errno);
    ask.blocks = ask.block ? (unsigned long)st.st_size / ask.block : 0;
    struct reader *readers = aligned_alloc(128, ask.threads * sizeof(*readers));
    if (!readers || !ask.blocks || !ask.depth || !ask.batch || ask.batch > 512)
        die("arguments", EINVAL);
    memset(readers, 0, ask.threads * sizeof(*readers));
    for (unsigned long i = 0; i < ask.threads; i++) {
        readers[i].rng = 0x9e3779b97f4a7c15ull * (i + 1);
        if (pthread_create(&readers[i].thread, NULL, run, &readers[i]))
            die("thread", errno);
    }
    while (atomic_load(&ready) < ask.threads)
        usleep(1000);
    nap(ask.seconds < 2 ? ask.seconds / 4 : 0.5);
    /* Both ends alike: at the first one as many reads are under way, not yet counted, as at the
     * last. */
    double from = now();
    unsigned long ios = all_ios(readers);
    nap(ask.seconds);
    double to = now(), first = to;
    ios = all_ios(readers) - ios;
    atomic_store(&stop, true);
    for (unsigned long i = 0; i < ask.threads; i++) {
        pthread_join(readers[i].thread, NULL);
        if (readers[i].first < first)
            first = readers[i].first;
    }
    printf("{\"ios\": %lu, \"seconds\": %.6f, \"all_ios\": %lu, \"start_s\": %.6f}\n", ios,
           to - from, all_ios(readers), first - ask.begin);
    return 0;
}
