#define _GNU_SOURCE
#include "run.h"

#include "instrument.h"

#include "../asking.h"
#include "../front.h"

#include "../engine/engine.h"
#include "../record/hostfacts.h"
#include "../record/notes.h"
#include "../record/punctual.h"
#include "../record/slab_shrink.h"
#include "end_signals.h"
#include "launch.h"
#include "limits.h"
#include "live.h"
#include "live_view.h"
#include "outcome.h"
#include "walk.h"
#include "window.h"

#include "../../placement/sysroot.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICK_NS UINT64_C(250000000)
#define IDLE_TICK_NS (4 * TICK_NS)
/* Where reading takes longer than a window, the threads that load get the CPU for so long. */
#define BREATH_NS UINT64_C(1000000)
/* How often a run with an amount is looked at; its end is the time that the last thread noted. */
#define ONCE_POLL_NS UINT64_C(10000000)
/* From this length on each window has the samplers look at every thread. */
#define THOROUGH_WINDOW_NS UINT64_C(5000000000)
/* Bytes handed to the kernel in one call. libaio and NFS submit inline: each I/O of a call waits
 * for the ones before it, which would count as their latency. */
#define BATCH_BYTES (UINT64_C(256) << 10)

enum wait_end { WAIT_DONE, WAIT_INTERRUPTED, WAIT_FAILED };

/* ---- signals and waiting ---- */

static void give_up_now(struct run *r)
{
    struct err e;
    live_clear();
    live_screen_end();
    if (!place_restore(r->place, &e))
        live_say("%s", e.text);
    live_say("interrupted twice: nothing was saved");
    _exit(STATUS_FAILED);
}

/* Takes a pending signal that ends the run, waiting up to timeout_ns for one. */
static bool take_signal(struct run *r, uint64_t timeout_ns)
{
    struct timespec ts = {.tv_sec = (time_t)(timeout_ns / 1000000000),
                          .tv_nsec = (long)(timeout_ns % 1000000000)};
    siginfo_t info;
    if (sigtimedwait(&r->signals, &info, &ts) < 0)
        return false;
    if (end_wish_again(&r->wishes, &info, now_ns()))
        give_up_now(r);
    return true;
}

static uint64_t total_bytes(const struct run *r, unsigned first, unsigned last)
{
    return window_sum(r->workers, &r->crew, first, last, offsetof(struct phase_counters, bytes));
}

static void show_progress(struct run *r, unsigned phase, uint64_t since_ns, uint64_t now,
                          uint64_t until_ns)
{
    double seconds = (double)(now - since_ns) / 1e9;
    uint64_t bytes = total_bytes(r, phase, phase);
    double rate = (double)bytes / seconds / 1e9;
    char moved[32];
    if (until_ns == UINT64_MAX)
        live_line("%s moved in %.0f s: %.2f GB/s", format_size(bytes, moved, sizeof(moved)),
                  seconds, rate);
    else if (phase == 0)
        live_line("ramp: %.2f GB/s, %.0f s to the window", rate, (double)(until_ns - now) / 1e9);
    else
        live_line("window %u of %" PRIu64 ": %.2f GB/s, %.0f of %.0f s", phase, r->profile->windows,
                  rate, seconds, (double)(until_ns - since_ns) / 1e9);
}

static uint64_t tick_ns(const struct run *r)
{
    return sampling_watches(r->sampling) ? TICK_NS : IDLE_TICK_NS;
}

/* Waits for a deadline, ticking the samplers and the live line. */
static enum wait_end wait_until(struct run *r, uint64_t deadline, unsigned phase)
{
    uint64_t since = now_ns(), breath = since >= deadline ? BREATH_NS : 0;
    r->next_tick_ns = since + tick_ns(r);
    r->next_line_ns = since + IDLE_TICK_NS;
    for (;;) {
        uint64_t now = now_ns();
        if (now >= deadline) { /* windows may be late: still look */
            if (take_signal(r, breath))
                return WAIT_INTERRUPTED;
            return atomic_load(&r->crew.failed) ? WAIT_FAILED : WAIT_DONE;
        }
        if (atomic_load(&r->crew.done_n) == r->crew.threads)
            return WAIT_DONE;
        uint64_t next = r->next_tick_ns < deadline ? r->next_tick_ns : deadline;
        if (profile_once(r->profile) && next > now + ONCE_POLL_NS)
            next = now + ONCE_POLL_NS;
        if (take_signal(r, next > now ? next - now : 0))
            return WAIT_INTERRUPTED;
        if (atomic_load(&r->crew.failed))
            return WAIT_FAILED;
        now = now_ns();
        if (now >= r->next_tick_ns && now < deadline) {
            sampling_tick(r->sampling);
            r->next_tick_ns = now + tick_ns(r);
            if (now >= r->next_line_ns) {
                show_progress(r, phase, since, now, deadline);
                r->next_line_ns += IDLE_TICK_NS;
            }
        }
    }
}

static bool poll_setup(void *arg)
{
    struct run *r = arg;
    uint64_t done = 0, all = 0;
    for (unsigned i = 0; i < r->crew.threads; i++)
        done += counter_get(&r->workers[i].faulted_bytes);
    all = r->crew.threads * (uint64_t)r->crew.iodepth * r->profile->block_bytes;
    char a[32], b[32];
    live_line("faulting in buffers: %s of %s", format_size(done, a, sizeof(a)),
              format_size(all, b, sizeof(b)));
    return !take_signal(r, 0);
}

static bool poll_drain(void *arg)
{
    take_signal(arg, 0); /* a second one does not come back */
    return true;
}

/* ---- before the load ---- */

static bool share_files(struct run *r, struct err *err)
{
    if (!r->profile->fd_sharing)
        return true;
    r->shared_fds = malloc(r->target.files_n * sizeof(int));
    if (!r->shared_fds)
        return err_set(err, STATUS_FAILED, "out of memory");
    memset(r->shared_fds, -1, r->target.files_n * sizeof(int));
    for (unsigned i = 0; i < r->target.files_n; i++) {
        r->shared_fds[i] = target_fd(&r->target, i, r->profile, err);
        if (r->shared_fds[i] < 0)
            return false;
    }
    r->crew.shared_fds = r->shared_fds;
    return true;
}

static void close_shared(struct run *r)
{
    for (unsigned i = 0; r->shared_fds && i < r->target.files_n; i++)
        if (r->shared_fds[i] >= 0)
            close(r->shared_fds[i]);
    free(r->shared_fds);
}

/* Did every thread write each block of its part? */
static bool wrote_all(const struct run *r)
{
    struct walk walk;
    if (profile_reads(r->profile))
        return false;
    for (unsigned i = 0; i < r->crew.threads; i++) {
        uint64_t ios = 0;
        walk_init(&walk, &r->target, r->profile, i, r->crew.threads);
        for (unsigned p = 0; p < r->crew.phases; p++)
            ios += counter_get(&worker_phase(&r->workers[i], p)->write_ios);
        if (walk.order == WALK_RANDOM || ios < walk.end - walk.first)
            return false;
    }
    return true;
}

/* One file of each NFS mount but that of the first file; ends with NULL. What has one device number
 * has one set of counters, wherever it is mounted. To be freed; NULL when memory is out. */
static const char **on_more_mounts(const struct target *t)
{
    const char **paths = calloc(t->files_n + 1, sizeof(*paths));
    dev_t *seen = calloc(t->files_n + 1, sizeof(*seen));
    unsigned n = 0;
    for (unsigned i = 0; paths && seen && i < t->files_n; i++) {
        const struct target_file *f = &t->files[i];
        unsigned k = 0;
        while (k < n && seen[k] != f->dev)
            k++;
        if (k < n || (i && strncmp(f->filesystem, "nfs", 3) != 0))
            continue;
        if (i)
            paths[n - 1] = f->path;
        seen[n++] = f->dev;
    }
    if (!seen) {
        free(paths);
        paths = NULL;
    }
    free(seen);
    return paths;
}

static bool open_samplers(struct run *r, bool local, struct err *err)
{
    const char **more = local ? on_more_mounts(&r->target) : NULL;
    if (local && !more)
        return err_set(err, STATUS_FAILED, "out of memory");
    struct sample_ctx ctx = {
        .topo = r->topo,
        .path = local ? r->target.files[0].path : NULL,
        .more_paths = more,
        .slab = r->profile->slab,
        .allow_merged = r->profile->allow_merged,
        .edges_max = r->edges,
        .notes = r->notes,
    };
    r->sampling = sampling_open(&ctx, err);
    free(more);
    return r->sampling != NULL;
}

static bool find_target(struct run *r, const struct engine_ops *engine)
{
    const struct profile *p = r->profile;
    if (engine->locate && profile_writes(p))
        return err_set(&r->err, STATUS_USAGE, "engine %s only reads; --rw %s is not for it",
                       engine->name, p->rw);
    bool found = engine->locate ? engine->locate(p, &r->target, &r->err)
                                : target_open(&r->target, p, &r->err);
    return found && target_cut(&r->target, p, &r->err) &&
           (!profile_writes(p) || target_check_room(&r->target, &r->err));
}

static unsigned batch_of(const struct profile *p)
{
    if (p->batch)
        return (unsigned)p->batch;
    return p->block_bytes < BATCH_BYTES ? (unsigned)(BATCH_BYTES / p->block_bytes) : 1;
}

static bool prepare(struct run *r)
{
    const struct profile *p = r->profile;
    struct err *err = &r->err;
    if (!sysroot_set(p->sysroot))
        return err_set(err, STATUS_USAGE, "--sysroot %s: %s", p->sysroot, strerror(errno));
    const struct engine_ops *engine = engine_find(p->engine, err);
    if (!engine || !topo_load(&r->topo, err))
        return false;
    uint64_t depth = strcmp(p->engine, "sync") == 0 ? 1 : p->iodepth;
    struct place_ask ask = ask_of_profile(p, (unsigned)p->threads, depth * p->block_bytes);
    ask.own_cqs = engine->own_cqs;
    /* First the files: ranges are expanded then, and what is behind a new file can be found. */
    if (!find_target(r, engine))
        return false;
    const char *file = r->target.files[0].path;
    if (!engine->locate)
        ask.path = file;
    if (!place_plan(&r->place, r->topo, &ask, err) ||
        !engine->check(ask.threads, (unsigned)depth, err) ||
        !buffers_check(ask.threads, ask.bytes_per_thread, err))
        return false;
    json_object_set_new(r->record, "host", hostfacts_read(r->topo, r->notes));
    json_object_set_new(r->record, "files", target_json(&r->target));

    r->edges = (unsigned)p->windows + 3;
    r->edge_ns = calloc(r->edges, sizeof(*r->edge_ns));
    r->workers = aligned_alloc(CACHE_LINE, ask.threads * sizeof(*r->workers));
    if (!r->edge_ns || !r->workers)
        return err_set(err, STATUS_FAILED, "out of memory");
    memset(r->workers, 0, ask.threads * sizeof(*r->workers));
    r->crew = (struct crew){
        .profile = p,
        .target = &r->target,
        .place = r->place,
        .engine = engine,
        .threads = ask.threads,
        .iodepth = (unsigned)depth,
        .batch = batch_of(p),
        .phases = (unsigned)p->windows + 2,
        .cpus_n = r->topo->cpus_n,
    };
    r->crew.register_buffers = limits_may_register(&r->crew, r->notes);
    if (!engine->locate && (!limits_descriptors(p, r->target.files_n, err) || !share_files(r, err)))
        return false;
    limits_allow_kept(p, r->target.files_n);
    if (r->target.blocks < p->threads && !profile_once(p))
        note_add(r->notes, NOTE_WARNING, "file",
                 "%" PRIu64 " blocks for %" PRIu64 " threads: threads read the same blocks",
                 r->target.blocks, p->threads);

    return open_samplers(r, !engine->locate, err) &&
           instrument_open(&r->instrument, p->instrument, p->record, err) &&
           live_view_open(&r->live, p, err) && place_apply(r->place, err) &&
           (!profile_writes(p) || target_begin_write(&r->target, p, err));
}

static void begin_clean(struct run *r)
{
    if (r->profile->slab_shrink)
        json_object_set_new(r->record, "slab_shrink", slab_shrink(r->profile->slab, r->notes));
}

/* ---- the load ---- */

static void edge_at(struct run *r, unsigned number, unsigned phase, uint64_t ns)
{
    r->edge_ns[number] = ns;
    atomic_store_explicit(&r->crew.phase, phase, memory_order_relaxed);
    bool between = number > 1 && phase != r->crew.phases - 1;
    sampling_edge(r->sampling, number, r->edge_ns[number],
                  !between || r->profile->window_ns >= THOROUGH_WINDOW_NS);
    place_edge(r->place, number);
}

static void edge(struct run *r, unsigned number, unsigned phase)
{
    edge_at(r, number, phase, now_ns());
}

/* The instrument covers the windows, from just before the first to just after the last. */
static bool look_on(struct run *r)
{
    return instrument_begin(r->instrument, &r->err);
}

static void look_away(struct run *r, unsigned last_edge)
{
    struct err e;
    if (!instrument_end(r->instrument, &e))
        note_add(r->notes, NOTE_INVALID, "instrument", "%s", e.text);
    instrument_edges(r->instrument, r->edge_ns[1], r->edge_ns[last_edge]);
}

/* A run with an amount: one window from before the first I/O to when the last thread was done. */
static unsigned measure_amount(struct run *r, bool *cut)
{
    const struct profile *p = r->profile;
    edge(r, 0, 1);
    if (!look_on(r))
        return 0;
    edge(r, 1, 1);
    crew_go(&r->crew);
    uint64_t limit = profile_is_set(p, "window") ? r->edge_ns[1] + p->window_ns : UINT64_MAX;
    enum wait_end end = wait_until(r, limit, 1);
    uint64_t last = 0;
    for (unsigned i = 0; i < r->crew.threads; i++) {
        uint64_t done = counter_get(&r->workers[i].done_ns);
        last = done > last ? done : last;
    }
    bool all = atomic_load(&r->crew.done_n) == r->crew.threads;
    edge_at(r, 2, r->crew.phases - 1, all ? last : now_ns());
    look_away(r, 2);
    *cut = end != WAIT_DONE;
    return !*cut;
}

/* Runs ramp and windows. Returns the number of windows that ended by their time; *cut says that one
 * more was ended early. */
static unsigned measure(struct run *r, bool *cut)
{
    const struct profile *p = r->profile;
    const unsigned drain = r->crew.phases - 1;
    *cut = false;
    if (profile_once(p))
        return measure_amount(r, cut);
    edge(r, 0, 0);
    crew_go(&r->crew);
    if (wait_until(r, r->edge_ns[0] + p->ramp_ns, 0) != WAIT_DONE || !look_on(r)) {
        atomic_store(&r->crew.phase, drain);
        return 0;
    }
    unsigned w = 1;
    edge(r, w, w);
    for (; w <= p->windows; w++) {
        enum wait_end end = wait_until(r, r->edge_ns[w] + p->window_ns, w);
        edge(r, w + 1, w < p->windows && end == WAIT_DONE ? w + 1 : drain);
        if (end != WAIT_DONE) {
            *cut = true;
            look_away(r, w + 1);
            return w - 1;
        }
    }
    look_away(r, w);
    return (unsigned)p->windows;
}

static void query_pages(struct run *r)
{
    struct place_buffer *b = calloc(r->crew.threads, sizeof(*b));
    if (!b)
        return;
    for (unsigned i = 0; i < r->crew.threads; i++)
        b[i] = (struct place_buffer){r->workers[i].buffers.addr, r->workers[i].buffers.bytes,
                                     r->workers[i].buffers.page_bytes};
    place_query_pages(r->place, b, r->crew.threads);
    free(b);
}

/* Set up, load, drain, and the windows of the record. Returns false when threads hang: then nothing
 * that they use may be freed. */
static bool load(struct run *r)
{
    bool cut = false;
    unsigned whole = 0;
    r->threads_ns = now_ns();
    enum crew_wait setup = crew_start(&r->crew, r->workers, poll_setup, r, &r->err);
    if (setup != CREW_OK) {
        if (setup == CREW_GAVE_UP)
            err_set(&r->err, STATUS_FAILED,
                    "interrupted while the threads were set up: nothing was measured");
        note_add(r->notes, NOTE_ERROR, "setup", "%s", r->err.text);
        crew_giveup(&r->crew);
        bool over = crew_drain(&r->crew, r->workers, HUNG_NS, poll_drain, r) == CREW_OK;
        if (!over)
            front_leave_behind();
        return over;
    }
    r->ready_ns = now_ns();
    live_view_watch(r->live, &r->crew, r->workers, r->topo);
    begin_clean(r);
    struct punctual punctual = {0};
    if (punctual_helps(r->crew.threads))
        punctual_begin(&punctual); /* where it may not, each window says so */
    whole = measure(r, &cut);
    unsigned measured = whole + cut, last_edge = measured + 2;
    live_line("waiting for the last I/Os");
    bool drained = crew_drain(&r->crew, r->workers, HUNG_NS, poll_drain, r) == CREW_OK;
    live_clear();
    const struct err *e = crew_error(&r->crew, r->workers);
    if (e) {
        r->err = *e;
        note_add(r->notes, NOTE_ERROR, "engine", "%s", e->text);
    } else if (!measured && r->err.text[0]) {
        note_add(r->notes, NOTE_ERROR, "instrument", "%s", r->err.text);
    } else if (!measured) {
        err_set(&r->err, STATUS_FAILED, "interrupted in the ramp: nothing was measured");
        note_add(r->notes, NOTE_ERROR, "interrupt", "%s", r->err.text);
    } else if (cut) {
        note_add(r->notes, NOTE_WARNING, "interrupt",
                 "interrupted: window %u was ended early, %u of %" PRIu64 " windows are whole",
                 measured, whole, r->profile->windows);
    }
    if (!drained) {
        front_leave_behind();
        outcome_outstanding(r);
    } else if (measured)
        edge(r, last_edge, r->crew.phases - 1);
    punctual_end(&punctual);
    outcome_setup(r);
    outcome_engine(r);
    query_pages(r);
    if (drained && r->profile->verify)
        outcome_verify(r);
    struct err write_err;
    if (drained && profile_writes(r->profile) &&
        !target_end_write(&r->target, r->profile, !e && wrote_all(r), &write_err)) {
        r->err = write_err;
        note_add(r->notes, NOTE_ERROR, "write", "%s", write_err.text);
    }
    json_t *looked = drained ? instrument_finish(r->instrument) : NULL;
    if (looked)
        json_object_set_new(r->record, "instrument", looked);
    for (unsigned w = 1; w <= measured; w++)
        outcome_window(r, w, cut && w == measured);
    if (drained && measured)
        outcome_whole_run(r, last_edge);
    json_object_set_new(r->record, "cut_short", json_boolean(cut));
    return drained;
}

static enum status conclude(struct run *r)
{
    static const char *const names[] = {[STATUS_OK] = "valid",
                                        [STATUS_FAILED] = "failed",
                                        [STATUS_USAGE] = "failed",
                                        [STATUS_INVALID] = "invalid"};
    enum status status = STATUS_OK;
    bool cut = json_is_true(json_object_get(r->record, "cut_short"));
    size_t i;
    json_t *w;
    json_array_foreach(json_object_get(r->record, "windows"), i, w)
    {
        if (!json_is_true(json_object_get(w, "valid")))
            status = STATUS_INVALID;
    }
    if (note_worst(r->notes) == NOTE_INVALID || cut)
        status = STATUS_INVALID;
    if (note_worst(r->notes) == NOTE_ERROR)
        status = r->err.text[0] ? r->err.status : STATUS_FAILED;
    const char *name = status == STATUS_SKIP ? "failed" : names[status];
    if (status == STATUS_INVALID && cut)
        name = "cut-short";
    json_object_set_new(r->record, "status", json_string(name));
    json_object_set_new(r->record, "exit_status", json_integer(status));
    return status;
}

enum status run_execute(const struct profile *p, json_t *record)
{
    /* On the heap: threads that hang may wake up after this function has returned. */
    struct run *r = aligned_alloc(CACHE_LINE, sizeof(*r));
    if (!r) {
        note_add(json_object_get(record, "notes"), NOTE_ERROR, "setup", "out of memory");
        return STATUS_FAILED;
    }
    *r = (struct run){.profile = p,
                      .record = record,
                      .notes = json_object_get(record, "notes"),
                      .launched_ns = launch_ns()};
    end_signals(&r->signals);
    pthread_sigmask(SIG_BLOCK, &r->signals, &r->old_signals);

    bool free_all = true;
    if (prepare(r)) {
        free_all = load(r);
    } else {
        target_unmake(&r->target);
        note_add(r->notes, NOTE_ERROR, "setup", "%s", r->err.text);
    }
    instrument_free(r->instrument);
    json_t *live = live_view_close(r->live);
    if (live)
        json_object_set_new(record, "live", live);
    live_clear();
    struct err e;
    if (r->place && !place_restore(r->place, &e))
        note_add(r->notes, NOTE_WARNING, "placement", "%s", e.text);
    enum status status = conclude(r);
    if (free_all) {
        if (r->workers)
            crew_free(&r->crew, r->workers);
        free(r->workers);
        if (r->sampling)
            sampling_close(r->sampling);
        place_free(r->place);
        topo_free(r->topo);
        close_shared(r);
        target_free(&r->target);
    }
    free(r->edge_ns);
    /* One that came after the windows must not kill the process before the record is out. */
    while (sigtimedwait(&r->signals, NULL, &(struct timespec){0}) > 0)
        ;
    pthread_sigmask(SIG_SETMASK, &r->old_signals, NULL);
    if (free_all)
        free(r);
    launch_now(); /* of the next run in this process */
    return status;
}
