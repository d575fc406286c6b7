#define _GNU_SOURCE
#include "prepare.h"

#include "../asking.h"
#include "../front.h"
#include "crew.h"
#include "end_signals.h"
#include "live.h"
#include "window.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POLL_NS 100000000
/* A disk may flush for a while; a minute without a single block is a hung one. */
#define HUNG_NS UINT64_C(60000000000)

struct writing {
    struct target target;
    struct topo *topo;
    struct place *place;
    struct crew crew;
    struct worker *workers;
    uint64_t bytes; /* of all files */
    sigset_t signals;
    bool interrupted;
};

static bool poll_signals(void *arg)
{
    struct writing *w = arg;
    if (sigtimedwait(&w->signals, NULL, &(struct timespec){0}) > 0)
        w->interrupted = true;
    return !w->interrupted;
}

static bool poll_drain(void *arg)
{
    (void)arg;
    return true;
}

/* What an earlier, longer file held is emptied first: the end of the new one is no part of a block
 * of it, as it is for a load. */
static bool cut(struct target *t, const struct profile *p, struct err *err)
{
    for (unsigned i = 0; i < t->files_n; i++)
        if (!t->files[i].device)
            t->files[i].bytes = p->size_bytes;
    return target_cut(t, p, err);
}

static bool set_up(struct writing *w, const struct profile *p, struct err *err)
{
    const struct engine_ops *engine = engine_find(p->engine, err);
    if (!engine)
        return false;
    if (engine->locate)
        return err_set(err, STATUS_USAGE, "engine %s only reads; prepare with aio, uring or sync",
                       engine->name);
    unsigned threads = (unsigned)p->threads;
    struct place_ask ask = ask_of_profile(p, threads, p->iodepth * p->block_bytes);
    if (!topo_load(&w->topo, err) || !place_plan(&w->place, w->topo, &ask, err) ||
        !target_open(&w->target, p, err) || !cut(&w->target, p, err) ||
        !target_check_room(&w->target, err) || !engine->check(threads, (unsigned)p->iodepth, err) ||
        !buffers_check(threads, ask.bytes_per_thread, err))
        return false;
    for (unsigned i = 0; i < w->target.files_n; i++) {
        w->target.files[i].noted = false; /* all is written anew */
        w->bytes += w->target.files[i].load_bytes;
    }
    w->workers = aligned_alloc(CACHE_LINE, threads * sizeof(*w->workers));
    if (!w->workers)
        return err_set(err, STATUS_FAILED, "out of memory");
    memset(w->workers, 0, threads * sizeof(*w->workers));
    w->crew = (struct crew){
        .profile = p,
        .target = &w->target,
        .place = w->place,
        .engine = engine,
        .threads = threads,
        .iodepth = (unsigned)p->iodepth,
        .batch = 1,
        .phases = 3,
        .cpus_n = w->topo->cpus_n,
        .phase = 1,
    };
    return true;
}

/* Files begin empty, so that what an earlier, longer one held is gone. */
static bool empty_files(const struct target *t, struct err *err)
{
    for (unsigned i = 0; i < t->files_n; i++)
        if (!t->files[i].device && truncate(t->files[i].path, 0))
            return err_set(err, STATUS_FAILED, "%s: %s", t->files[i].path, strerror(errno));
    return true;
}

static bool sync_files(const struct target *t, struct err *err)
{
    for (unsigned i = 0; i < t->files_n; i++) {
        live_line("syncing %u of %u files", i + 1, t->files_n);
        int fd = open(t->files[i].path, O_WRONLY | O_CLOEXEC);
        int error = fd < 0 || fsync(fd) ? errno : 0;
        if (fd >= 0 && close(fd) && !error)
            error = errno;
        if (error)
            return err_set(err, STATUS_FAILED, "%s: syncing: %s", t->files[i].path,
                           strerror(error));
    }
    return true;
}

static void watch(struct writing *w)
{
    char a[32], b[32];
    while (atomic_load(&w->crew.done_n) < w->crew.threads && !atomic_load(&w->crew.failed) &&
           poll_signals(w)) {
        uint64_t done =
            window_sum(w->workers, &w->crew, 1, 1, offsetof(struct phase_counters, bytes));
        live_line("writing %s of %s", format_size(done, a, sizeof(a)),
                  format_size(w->bytes, b, sizeof(b)));
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
    }
}

/* Returns false also when threads hang; *hung says so, and then nothing may be freed. */
static bool write_all(struct writing *w, bool *hung, struct err *err)
{
    enum crew_wait started = crew_start(&w->crew, w->workers, poll_signals, w, err);
    if (started == CREW_OK) {
        crew_go(&w->crew);
        watch(w);
        atomic_store(&w->crew.phase, w->crew.phases - 1);
    } else {
        crew_giveup(&w->crew);
    }
    live_clear();
    *hung = crew_drain(&w->crew, w->workers, HUNG_NS, poll_drain, w) != CREW_OK;
    const struct err *e = crew_error(&w->crew, w->workers);
    if (e)
        *err = *e;
    else if (w->interrupted)
        return err_set(err, STATUS_FAILED, "interrupted: the files are not whole");
    else if (*hung)
        return err_set(err, STATUS_FAILED,
                       "writes do not come back: the storage stopped answering");
    return started == CREW_OK && !e;
}

bool prepare_files(struct profile *p, struct prepared *done, struct err *err)
{
    /* On the heap: threads that hang may wake up after this function has returned. */
    struct writing *w = aligned_alloc(CACHE_LINE, sizeof(*w));
    if (!w)
        return err_set(err, STATUS_FAILED, "out of memory");
    *w = (struct writing){0};
    sigset_t old;
    bool ok = false, hung = false;
    end_signals(&w->signals);
    pthread_sigmask(SIG_BLOCK, &w->signals, &old);
    if (!set_up(w, p, err) || !target_begin_write(&w->target, p, err) ||
        !empty_files(&w->target, err)) {
        target_unmake(&w->target);
        goto out;
    }
    uint64_t began = now_ns();
    if (!write_all(w, &hung, err) || !sync_files(&w->target, err))
        goto out;
    *done = (struct prepared){w->target.files_n, w->bytes, now_ns() - began};
    ok = target_end_write(&w->target, p, true, err);
out:
    live_clear();
    if (!hung) {
        if (w->workers && w->crew.phase_bytes)
            crew_free(&w->crew, w->workers);
        free(w->workers);
        place_free(w->place);
        topo_free(w->topo);
        target_free(&w->target);
        free(w);
    } else {
        front_leave_behind();
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return ok;
}
