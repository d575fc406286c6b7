#define _GNU_SOURCE
#include "worker.h"

#include "../pattern.h"
#include "pace.h"
#include "walk.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* How long a worker sleeps without a completion before it looks at the phase again. */
#define REAP_TIMEOUT_NS UINT64_C(100000000)
/* How often a worker that has done its amount looks whether the others have. */
#define DONE_POLL_NS 1000000
/* Counters are faulted in before the load, not within windows: all of them up to so much memory of
 * all threads, else what every window needs. */
#define COUNTERS_TOUCHED (UINT64_C(16) << 20)

/* What a worker keeps for itself; on its own stack and node. */
struct loop {
    struct worker *w;
    struct engine *engine;
    const struct engine_ops *ops;
    struct io *ios;  /* by slot */
    uint32_t *ready; /* slots to be submitted */
    unsigned ready_n;
    unsigned rests_n; /* of these, slots whose I/O came back short */
    struct completion *done;
    unsigned iodepth, outstanding;
    uint32_t *idle; /* slots that wait for their time, of a paced load */
    unsigned idle_n;
    uint64_t block_bytes, salt;
    char *buffers;
    bool writes, verify;
    uint32_t read_share; /* of a mix, in 2^-32 */
    uint64_t left;       /* I/Os still to be begun; near UINT64_MAX: until the drain */
    struct walk walk;
    struct pace pace;
    uint64_t oldest_checked_ns;
    uint64_t submitted_ns; /* when the last submit() was over, of engines that make a call there */
    int *fds;              /* by file; NULL: the engine does not use kernel files */
};

uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

size_t worker_phase_bytes(unsigned cpus_n)
{
    size_t bytes = sizeof(struct phase_counters) + cpus_n * sizeof(counter);
    return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/* Decides on reading or writing, and fills what is to be written. */
static void make_write(struct loop *l, struct io *io)
{
    io->write = !l->read_share || walk_rng(&l->walk) >> 32 >= l->read_share;
    if (!io->write)
        return;
    io->bytes = io->want; /* a whole block would make the file longer */
    pattern_fill(io->buf, io->want, io->offset, l->salt);
}

/* Where the walk's next block lies, and how much of it there is. */
struct place_in_file {
    uint64_t offset;
    uint32_t want, file;
};

static inline struct place_in_file next_place(struct walk *walk, enum walk_order order,
                                              uint64_t block_bytes)
{
    uint64_t block = walk_next_in(walk, order);
    uint64_t offset = (block - walk->file_first) * block_bytes;
    uint64_t left = walk->file_bytes - offset;
    return (struct place_in_file){offset, (uint32_t)(left < block_bytes ? left : block_bytes),
                                  walk->file_number};
}

static inline void next_io(struct loop *l, uint32_t slot, struct io *io)
{
    struct place_in_file at = next_place(&l->walk, l->walk.order, l->block_bytes);
    io->buf = l->buffers + slot * l->block_bytes;
    io->offset = at.offset;
    io->want = at.want;
    io->bytes = (uint32_t)l->block_bytes;
    io->file = at.file;
    io->done = 0;
}

static void begin_io(struct loop *l, uint32_t slot)
{
    struct io *io = &l->ios[slot];
    l->left--;
    next_io(l, slot, io);
    if (l->writes)
        make_write(l, io);
    l->ready[l->ready_n++] = slot;
}

/* Takes a slot that has nothing to do: its next I/O, unless it must wait for its time. */
static inline void next_slot(struct loop *l, uint32_t slot)
{
    if (l->pace.interval_ns) {
        l->idle[l->idle_n++] = slot;
    } else if (l->left) {
        begin_io(l, slot);
    }
}

/* Hands out slots whose time has come. */
static void next_due(struct loop *l, uint64_t now)
{
    uint64_t due;
    while (l->idle_n && l->left && pace_due(&l->pace, now, &due)) {
        uint32_t slot = l->idle[--l->idle_n];
        begin_io(l, slot);
        l->ios[slot].start_ns = due;
    }
}

static const char *path_of(const struct loop *l, const struct io *io)
{
    return l->w->crew->target->files[io->file].path;
}

static bool loop_fail(struct loop *l, enum status status, const char *what, const struct io *io,
                      int error)
{
    const char *why = l->ops->why ? l->ops->why(l->engine) : NULL;
    if (!why)
        why = strerror(error);
    if (io)
        return err_set(&l->w->err, status,
                       "thread %u: %s: %s at offset %" PRIu64 ", %" PRIu32 " bytes: %s",
                       l->w->number, path_of(l, io), what, io->offset, io->bytes, why);
    return err_set(&l->w->err, status, "thread %u: engine %s: %s: %s", l->w->number, l->ops->name,
                   what, why);
}

/* I/Os that go out in one call have one time stamp, from before the call: it is early by what the
 * loop below takes, a nanosecond or two an I/O. */
static void stamp(struct loop *l, unsigned n, uint64_t start)
{
    struct io *const ios = l->ios;
    const uint32_t *slot = l->ready, *const end = slot + n;
    if (l->pace.open_loop)
        return;
    if (!l->rests_n) {
        for (; slot < end; slot++)
            ios[*slot].start_ns = start;
        return;
    }
    for (; slot < end; slot++)
        if (ios[*slot].done == 0)
            ios[*slot].start_ns = start;
}

static bool submit(struct loop *l, struct phase_counters *pc)
{
    uint64_t start = now_ns();
    unsigned n = l->ready_n < l->w->crew->batch ? l->ready_n : l->w->crew->batch, rests = 0;
    stamp(l, n, start);
    int taken = l->ops->submit(l->engine, l->ios, l->ready, n);
    if (taken < 0)
        return loop_fail(l, STATUS_FAILED, "submit", &l->ios[l->ready[0]], -taken);
    for (int i = 0; i < taken && l->rests_n; i++)
        rests += l->ios[l->ready[i]].done != 0;
    l->rests_n -= rests;
    l->outstanding += (unsigned)taken;
    counter_add(&pc->submitted, (unsigned)taken - rests);
    counter_add(&pc->submits, 1);
    counter_add(&pc->depth_sum, l->outstanding);
    if (!l->ops->call_in_reap) {
        l->submitted_ns = now_ns();
        counter_add(&pc->submit_ns, l->submitted_ns - start);
    }
    l->ready_n -= (unsigned)taken;
    if (l->ready_n)
        memmove(l->ready, l->ready + taken, l->ready_n * sizeof(*l->ready));
    return true;
}

/* An I/O that did not come back whole: failed, at the end of the file, or short, in which case the
 * rest is queued. False when it fails the run. */
static bool finish_part(struct loop *l, const struct completion *c)
{
    struct io *io = &l->ios[c->slot];
    if (c->result < 0)
        return loop_fail(l, STATUS_FAILED, io->write ? "write failed" : "read failed", io,
                         -c->result);
    if (c->result == 0 && io->write)
        return loop_fail(l, STATUS_FAILED, "write moved nothing", io, ENOSPC);
    if (c->result == 0)
        return err_set(&l->w->err, STATUS_FAILED,
                       "thread %u: %s: end of file at offset %" PRIu64 ", where %" PRIu32
                       " more bytes were there when the run began: the file was truncated",
                       l->w->number, path_of(l, io), io->offset, io->want - io->done);
    /* The latency goes on from the first part. */
    io->done += (uint32_t)c->result;
    io->buf = (char *)io->buf + c->result;
    io->offset += (uint64_t)c->result;
    io->bytes -= (uint32_t)c->result;
    l->ready[l->ready_n++] = c->slot;
    l->rests_n++;
    return true;
}

/* What the completions of one reap add up to. They share one time stamp, that of the reap: what a
 * completion waits to be counted is not the server's. The counters, which others read, are written
 * once a batch. */
struct tally {
    uint64_t ios, bytes, write_ios, write_bytes;
    uint64_t latency_sum_ns, latency_min_ns, latency_max_ns;
};

static inline void tally_add(struct tally *t, counter *hist, const struct io *io, uint64_t now)
{
    uint64_t latency = now - io->start_ns;
    t->bytes += io->want;
    t->latency_sum_ns += latency;
    t->latency_min_ns = latency < t->latency_min_ns ? latency : t->latency_min_ns;
    t->latency_max_ns = latency > t->latency_max_ns ? latency : t->latency_max_ns;
    counter_add(&hist[hist_bucket(latency)], 1);
}

static void tally_write(const struct tally *t, struct phase_counters *pc)
{
    if (!t->ios)
        return;
    if (t->latency_min_ns < counter_get(&pc->latency_min_ns) || counter_get(&pc->ios) == 0)
        counter_set(&pc->latency_min_ns, t->latency_min_ns);
    if (t->latency_max_ns > counter_get(&pc->latency_max_ns))
        counter_set(&pc->latency_max_ns, t->latency_max_ns);
    counter_add(&pc->ios, t->ios);
    counter_add(&pc->bytes, t->bytes);
    counter_add(&pc->write_ios, t->write_ios);
    counter_add(&pc->write_bytes, t->write_bytes);
    counter_add(&pc->latency_sum_ns, t->latency_sum_ns);
}

/* Compares a block with what prepare, or a write, put there. */
static void verify(struct loop *l, struct phase_counters *pc, uint32_t slot)
{
    const struct io *io = &l->ios[slot];
    const char *buf = l->buffers + slot * l->block_bytes;
    uint64_t offset = io->offset - (uint64_t)((char *)io->buf - buf);
    size_t right = pattern_check(buf, io->want, offset, l->salt);
    counter_add(&pc->verified, 1);
    if (right == io->want)
        return;
    counter_add(&pc->wrong, 1);
    struct wrong_byte *first = &l->w->wrong;
    uint64_t at = offset + right;
    if (first->found &&
        (first->file < io->file || (first->file == io->file && first->offset <= at)))
        return;
    unsigned char word[8];
    pattern_fill(word, sizeof(word), at / 8 * 8, l->salt);
    *first = (struct wrong_byte){true, io->file, at, word[at % 8], (unsigned char)buf[right]};
}

/* The amount is done: notes it, the first worker with what all had done by then, and waits for the
 * drain. */
static void amount_done(struct loop *l, uint64_t now)
{
    struct crew *crew = l->w->crew;
    const struct worker *all = l->w - l->w->number;
    uint64_t none = 0;
    bool idle = counter_get(&worker_phase(l->w, 1)->ios) == 0; /* it had no part */
    if (!idle && atomic_compare_exchange_strong(&crew->first_done_ns, &none, now)) {
        uint64_t bytes = 0, ios = 0;
        for (unsigned i = 0; i < crew->threads; i++) {
            bytes += counter_get(&worker_phase(&all[i], 1)->bytes);
            ios += counter_get(&worker_phase(&all[i], 1)->ios);
        }
        atomic_store(&crew->first_done_bytes, bytes);
        atomic_store(&crew->first_done_ios, ios);
    } else if (!idle) {
        now = now_ns(); /* after the first, also when both came at once */
    }
    counter_set(&l->w->done_ns, now);
    counter_set(&l->w->outstanding, 0);
    atomic_fetch_add(&crew->done_n, 1);
    while (atomic_load_explicit(&crew->phase, memory_order_relaxed) != crew->phases - 1)
        nanosleep(&(struct timespec){.tv_nsec = DONE_POLL_NS}, NULL);
}

/* The age of the oldest outstanding I/O, found by a scan a few times a second. */
static void note_oldest(struct loop *l, uint64_t now)
{
    if (now - l->oldest_checked_ns < REAP_TIMEOUT_NS)
        return;
    l->oldest_checked_ns = now;
    uint64_t oldest = now;
    stamp(l, l->ready_n, now); /* these have the time of the I/O before */
    for (unsigned i = 0; i < l->iodepth; i++)
        if (l->ios[i].start_ns && l->ios[i].start_ns < oldest)
            oldest = l->ios[i].start_ns;
    counter_set(&l->w->oldest_start_ns, l->outstanding ? oldest : 0);
}

/* True when every I/O that comes back is only counted, and followed by another one at once. */
static bool is_plain(const struct loop *l, unsigned n, bool draining)
{
    return !draining && !l->verify && !l->writes && !l->pace.interval_ns && l->left > n &&
           l->walk.order != WALK_SHUFFLED;
}

/* The plain part of finish(): completions of whole reads, each counted and followed by the slot's
 * next read, up to the first one that is not whole. Returns where it stopped. What an I/O needs is
 * kept in registers, and of its slot only what changes is written. */
static inline __attribute__((always_inline)) const struct completion *
finish_plain(struct loop *l, const struct completion *c, const struct completion *end, uint64_t now,
             struct tally *tally, const enum walk_order order)
{
    const struct completion *const begin = c;
    struct io *const ios = l->ios;
    counter *const hist = l->w->hist;
    const uint64_t block_bytes = l->block_bytes;
    struct walk walk = l->walk;
    struct tally t = *tally;
    uint32_t *ready = l->ready + l->ready_n;
    for (; c < end; c++) {
        struct io *io = &ios[c->slot];
        if (__builtin_expect(c->result < (int64_t)io->want || io->done, false))
            break;
        tally_add(&t, hist, io, now);
        struct place_in_file at = next_place(&walk, order, block_bytes);
        io->offset = at.offset;
        io->want = at.want;
        io->file = at.file;
        *ready++ = c->slot;
    }
    t.ios += (uint64_t)(c - begin);
    l->left -= (uint64_t)(c - begin);
    l->walk = walk;
    *tally = t;
    l->ready_n = (unsigned)(ready - l->ready);
    return c;
}

/* Not inlined: each has the registers to itself. */
static __attribute__((noinline)) const struct completion *
finish_random(struct loop *l, const struct completion *c, const struct completion *end,
              uint64_t now, struct tally *t)
{
    return finish_plain(l, c, end, now, t, WALK_RANDOM);
}

static __attribute__((noinline)) const struct completion *
finish_in_order(struct loop *l, const struct completion *c, const struct completion *end,
                uint64_t now, struct tally *t)
{
    return finish_plain(l, c, end, now, t, WALK_IN_ORDER);
}

/* One completion of any kind. */
static bool finish_one(struct loop *l, struct phase_counters *pc, const struct completion *c,
                       uint64_t now, bool draining, struct tally *t)
{
    struct io *io = &l->ios[c->slot];
    if (c->result < (int64_t)(io->want - io->done))
        return finish_part(l, c);
    tally_add(t, l->w->hist, io, now);
    t->ios++;
    t->write_ios += io->write;
    t->write_bytes += io->write ? io->want : 0;
    io->start_ns = 0;
    if (l->verify && !io->write)
        verify(l, pc, c->slot);
    if (!draining)
        next_slot(l, c->slot);
    return true;
}

/* What came back: counted, checked, and each slot given its next I/O. */
static bool finish(struct loop *l, struct phase_counters *pc, unsigned n, uint64_t now,
                   bool draining)
{
    const struct completion *c = l->done, *const end = c + n;
    struct tally t = {.latency_min_ns = UINT64_MAX};
    const bool plain = is_plain(l, n, draining);
    bool ok = true;
    while (c < end && ok) {
        if (plain)
            c = l->walk.order == WALK_RANDOM ? finish_random(l, c, end, now, &t)
                                             : finish_in_order(l, c, end, now, &t);
        if (c < end)
            ok = finish_one(l, pc, c++, now, draining, &t);
    }
    tally_write(&t, pc);
    return ok;
}

/* How long to wait for completions: not at all with something to submit, else until the next I/O is
 * due or it is time to look at the phase. */
static uint64_t patience(const struct loop *l, uint64_t now)
{
    if (l->ready_n)
        return 0;
    if (!l->pace.interval_ns || !l->idle_n || !l->left || l->pace.next_ns > now + REAP_TIMEOUT_NS)
        return REAP_TIMEOUT_NS;
    return l->pace.next_ns > now ? l->pace.next_ns - now : 0;
}

/* Completions, or with nothing outstanding the time that is left until there is something to do. */
static int reap(struct loop *l, uint64_t now)
{
    uint64_t wait = patience(l, now);
    if (l->outstanding)
        return l->ops->reap(l->engine, l->done, l->iodepth, wait);
    nanosleep(&(struct timespec){.tv_nsec = (long)wait}, NULL);
    return 0;
}

/* For how long completions that wait now may have been there: since the last look, which was at
 * `last`. 0: none wait, or the engine cannot tell. */
static uint64_t waited(const struct loop *l, uint64_t last)
{
    if (!l->ops->waiting || !l->outstanding || !l->ops->waiting(l->engine))
        return 0;
    return l->submitted_ns > last ? l->submitted_ns - last : 0;
}

/* The latencies since the last call belong to the phase that the worker was in. */
static void book_latencies(struct worker *w)
{
    counter *to = w->crew->latencies + counter_get(&w->counts_into) * HIST_BUCKETS;
    for (unsigned b = 0; b < HIST_BUCKETS; b++) {
        uint64_t all = counter_get(&w->hist[b]), more = all - counter_get(&w->booked[b]);
        if (!more)
            continue;
        atomic_fetch_add_explicit(&to[b], more, memory_order_relaxed);
        counter_set(&w->booked[b], all);
    }
}

static bool load(struct loop *l)
{
    struct crew *crew = l->w->crew;
    const unsigned drain = crew->phases - 1;
    unsigned phase = atomic_load_explicit(&crew->phase, memory_order_relaxed);
    uint64_t now = now_ns();
    counter_set(&l->w->counts_into, phase);
    pace_begin(&l->pace, now);
    for (unsigned i = 0; i < l->iodepth; i++)
        next_slot(l, i);
    if (l->ready_n || l->idle_n)
        counter_set(&l->w->first_io_ns, now_ns());
    if (l->ready_n) {
        if (!submit(l, worker_phase(l->w, phase)))
            return false;
        sched_yield(); /* all threads are under way before one goes on */
    }
    for (;;) {
        struct phase_counters *pc = worker_phase(l->w, phase);
        if (l->idle_n && phase != drain)
            next_due(l, now);
        if (l->ready_n && !submit(l, pc))
            return false;
        counter_set(&l->w->outstanding, l->outstanding);
        uint64_t unreaped_ns = waited(l, now);
        int n = reap(l, now);
        now = now_ns();
        unsigned phase_now = atomic_load_explicit(&crew->phase, memory_order_relaxed);
        if (phase_now != phase) {
            book_latencies(l->w);
            phase = phase_now;
            counter_set(&l->w->counts_into, phase);
        }
        if (n < 0)
            return loop_fail(l, STATUS_FAILED, "waiting for completions", NULL, -n);
        pc = worker_phase(l->w, phase);
        l->outstanding -= (unsigned)n;
        counter_add(&pc->parts, (unsigned)n);
        counter_add(&pc->unreaped_ns, unreaped_ns * (unsigned)n);
        if (!finish(l, pc, (unsigned)n, now, phase == drain))
            return false;
        int cpu = sched_getcpu();
        if (cpu >= 0 && (unsigned)cpu < crew->cpus_n)
            counter_add(&pc->cpu_hits[cpu], 1);
        note_oldest(l, now);
        if (l->outstanding || l->ready_n)
            continue;
        if (!l->left)
            amount_done(l, now);
        if (!l->left || phase == drain)
            return true;
    }
}

/* With own-files a worker opens those of its part only. */
static bool is_mine(const struct loop *l, const struct target_file *f)
{
    return !l->w->crew->profile->own_files ||
           (f->first_block < l->walk.end && f->end_block > l->walk.first);
}

static bool open_files(struct loop *l, struct err *err)
{
    const struct target *t = l->w->crew->target;
    if (l->w->crew->shared_fds)
        return true;
    l->fds = malloc(t->files_n * sizeof(*l->fds));
    if (!l->fds)
        return err_set(err, STATUS_FAILED, "out of memory");
    for (unsigned i = 0; i < t->files_n; i++)
        l->fds[i] = -1;
    for (unsigned i = 0; i < t->files_n; i++) {
        if (!is_mine(l, &t->files[i]))
            continue;
        l->fds[i] = target_fd(t, i, l->w->crew->profile, err);
        if (l->fds[i] < 0)
            return false;
    }
    return true;
}

static void close_files(struct loop *l)
{
    for (unsigned i = 0; l->fds && i < l->w->crew->target->files_n; i++)
        if (l->fds[i] >= 0)
            close(l->fds[i]);
    free(l->fds);
}

static size_t slot_bytes(const struct loop *l)
{
    return l->iodepth * (sizeof(*l->ios) + sizeof(*l->done) + sizeof(*l->ready) + sizeof(*l->idle));
}

/* In pages of their own: on the thread's node, since it touches them first, and on lines that no
 * other thread writes. 80 bytes a slot, so that huge pages have nothing to win. */
static bool make_slots(struct loop *l, struct err *err)
{
    const size_t n = l->iodepth, bytes = slot_bytes(l);
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return err_set(err, STATUS_FAILED, "slots: %zu bytes: %s", bytes, strerror(errno));
    l->ios = at;
    l->done = (struct completion *)(l->ios + n);
    l->ready = (uint32_t *)(l->done + n);
    l->idle = l->ready + n;
    return true;
}

static bool setup(struct loop *l, struct err *err)
{
    struct worker *w = l->w;
    struct crew *crew = w->crew;
    const struct profile *p = crew->profile;
    l->ops = crew->engine;
    l->iodepth = crew->iodepth;
    l->block_bytes = p->block_bytes;
    l->salt = p->salt;
    l->writes = profile_writes(p);
    l->verify = p->verify;
    l->read_share = (uint32_t)((p->mix_read_percent << 32) / 100);
    walk_init(&l->walk, crew->target, p, w->number, crew->threads);
    l->left = walk_amount(&l->walk, p, w->number, crew->threads);
    pace_init(&l->pace, p, w->number, crew->threads);
    if (!place_bind_thread(crew->place, w->number, err))
        return false;

    const size_t hist_bytes = HIST_BUCKETS * sizeof(counter);
    const size_t bytes = 2 * hist_bytes + crew->phases * crew->phase_bytes;
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return err_set(err, STATUS_FAILED, "counters: %zu bytes: %s", bytes, strerror(errno));
    memset(at, 0, bytes <= COUNTERS_TOUCHED / crew->threads ? bytes : 2 * hist_bytes);
    w->counter_bytes = bytes;
    w->hist = (counter *)at;
    w->booked = (counter *)(at + hist_bytes);
    w->phase_memory = at + 2 * hist_bytes;
    if (!make_slots(l, err))
        return false;

    uint64_t began = now_ns();
    if (!buffers_make(&w->buffers, crew->place, w->number, l->iodepth * l->block_bytes,
                      &w->faulted_bytes, err))
        return false;
    counter_set(&w->fault_in_ns, now_ns() - began);
    l->buffers = w->buffers.addr;
    if (!l->ops->locate && !open_files(l, err))
        return false;
    struct engine_setup setup = {
        .profile = p,
        .target = crew->target,
        .place = crew->place,
        .thread = w->number,
        .fds = crew->shared_fds ? crew->shared_fds : l->fds,
        .files_n = crew->target->files_n,
        .write = l->writes,
        .iodepth = l->iodepth,
        .buffers = w->buffers.addr,
        .block_bytes = l->block_bytes,
        .register_buffers = crew->register_buffers,
        .cpus = place_thread_cpus(crew->place, w->number),
    };
    l->engine = l->ops->open(&setup, err);
    if (!l->engine)
        return false;
    w->features = l->ops->features(l->engine);
    return true;
}

/* Tells the coordinator, then waits for its decision. */
static bool report_and_wait(struct worker *w, enum worker_state state)
{
    struct crew *crew = w->crew;
    pthread_mutex_lock(&crew->lock);
    atomic_store(&w->state, state);
    crew->ready++;
    pthread_cond_signal(&crew->readied);
    while (state == WORKER_READY && !crew->go && !crew->giveup)
        pthread_cond_wait(&crew->changed, &crew->lock);
    bool go = crew->go;
    pthread_mutex_unlock(&crew->lock);
    return go;
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct loop l = {.w = w};
    atomic_store(&w->tid, gettid());
    enum worker_state end = WORKER_DONE;
    if (!setup(&l, &w->err)) {
        report_and_wait(w, WORKER_FAILED);
        end = WORKER_FAILED;
    } else if (report_and_wait(w, WORKER_READY)) {
        atomic_store(&w->state, WORKER_RUNNING);
        bool well = load(&l);
        book_latencies(w);
        if (!well) {
            end = WORKER_FAILED;
            atomic_store(&w->crew->failed, true);
        }
    }
    /* Closing cancels or waits for what is outstanding; only then may the buffers go. */
    if (l.engine) {
        w->facts = l.ops->facts ? l.ops->facts(l.engine) : NULL;
        l.ops->close(l.engine);
    }
    counter_set(&w->outstanding, 0);
    close_files(&l);
    if (l.ios)
        munmap(l.ios, slot_bytes(&l));
    atomic_store(&w->state, end);
    return NULL;
}

bool worker_start(struct worker *w, struct err *err)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 << 10);
    atomic_store(&w->state, WORKER_SETUP);
    int r = pthread_create(&w->thread, &attr, worker_main, w);
    pthread_attr_destroy(&attr);
    if (r == 0)
        return true;
    return err_set(err, STATUS_FAILED,
                   "thread %u of %u could not be started: %s (limits: ulimit -u, the cgroup's "
                   "pids.max)",
                   w->number, w->crew->threads, strerror(r));
}
