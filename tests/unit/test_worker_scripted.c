/* loadgen/run/worker.c against an engine that answers from a script: short parts, errors that no
 * test can order from storage, words of the engine's own, and I/O that never comes back. */
#include "../../loadgen/run/crew.h"
#include "../../loadgen/run/window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { BLOCK = 4096, BLOCKS = 8 };

/* What the n-th request is answered with; after the script all is well. */
static struct {
    const int32_t *results;
    unsigned n, at;
    const char *why;
    _Atomic bool silent; /* nothing comes back */
    bool wrote_beyond;
} script;

struct engine {
    struct completion done[64];
    unsigned n;
};

static bool check(unsigned threads, unsigned iodepth, struct err *err)
{
    (void)threads, (void)iodepth, (void)err;
    return true;
}

static bool locate(const struct profile *p, struct target *t, struct err *err)
{
    (void)p;
    return target_add(t, "scripted:/file", (uint64_t)BLOCKS * BLOCK, "scripted", err);
}

static struct engine *open_engine(const struct engine_setup *setup, struct err *err)
{
    (void)err;
    assert_null(setup->fds);
    assert_int_equal(setup->files_n, 1);
    return calloc(1, sizeof(struct engine));
}

static int submit(struct engine *e, const struct io *ios, const uint32_t *slots, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct io *io = &ios[slots[i]];
        int32_t r = script.at < script.n ? script.results[script.at] : (int32_t)io->bytes;
        script.at++;
        script.wrote_beyond |= io->offset + io->bytes > (uint64_t)BLOCKS * BLOCK;
        e->done[e->n++] = (struct completion){slots[i], r};
    }
    return (int)n;
}

static int reap(struct engine *e, struct completion *done, unsigned max, uint64_t timeout_ns)
{
    unsigned n = e->n < max ? e->n : max;
    if (atomic_load(&script.silent)) {
        nanosleep(&(struct timespec){.tv_nsec = timeout_ns ? 10000000 : 0}, NULL);
        return 0;
    }
    memcpy(done, e->done, n * sizeof(*done));
    e->n = 0;
    return (int)n;
}

static json_t *features(const struct engine *e)
{
    (void)e;
    return json_object();
}

static const char *why(struct engine *e)
{
    (void)e;
    return script.why;
}

static void close_engine(struct engine *e)
{
    free(e);
}

static const struct engine_ops scripted = {
    .name = "scripted",
    .check = check,
    .locate = locate,
    .open = open_engine,
    .submit = submit,
    .reap = reap,
    .features = features,
    .why = why,
    .close = close_engine,
};

struct fixture {
    struct profile profile;
    struct topo *topo;
    struct place *place;
    struct target target;
    struct crew crew;
    struct worker *workers;
};

static bool keep_waiting(void *arg)
{
    (void)arg;
    return true;
}

static void begin_profile(struct fixture *f, struct profile profile, unsigned iodepth)
{
    struct err err;
    *f = (struct fixture){.profile = profile};
    struct place_ask ask = {.threads = 1, .bytes_per_thread = iodepth * BLOCK};
    assert_true(topo_load(&f->topo, &err));
    if (!place_plan(&f->place, f->topo, &ask, &err))
        fail_msg("%s", err.text);
    assert_true(locate(&f->profile, &f->target, &err));
    assert_true(target_cut(&f->target, &f->profile, &err));
    f->workers = aligned_alloc(CACHE_LINE, sizeof(*f->workers));
    memset(f->workers, 0, sizeof(*f->workers));
    f->crew = (struct crew){.profile = &f->profile,
                            .target = &f->target,
                            .place = f->place,
                            .engine = &scripted,
                            .threads = 1,
                            .iodepth = iodepth,
                            .batch = 4,
                            .phases = 3,
                            .cpus_n = f->topo->cpus_n,
                            .phase = 1};
    enum crew_wait wait = crew_start(&f->crew, f->workers, keep_waiting, NULL, &err);
    if (wait != CREW_OK)
        fail_msg("%s", err.text);
    crew_go(&f->crew);
}

static void begin(struct fixture *f, const char *rw, unsigned iodepth)
{
    begin_profile(
        f,
        (struct profile){
            .rw = (char *)rw, .once = true, .block_bytes = BLOCK, .threads = 1, .salt = 1},
        iodepth);
}

static void wait_until_over(struct fixture *f)
{
    while (!atomic_load(&f->crew.done_n) && !atomic_load(&f->crew.failed))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    atomic_store(&f->crew.phase, 2);
    assert_int_equal(crew_drain(&f->crew, f->workers, 60000000000u, keep_waiting, NULL), CREW_OK);
}

static void end(struct fixture *f)
{
    crew_free(&f->crew, f->workers);
    free(f->workers);
    place_free(f->place);
    topo_free(f->topo);
    target_free(&f->target);
    memset(&script, 0, sizeof(script));
}

static uint64_t sum(const struct fixture *f, size_t offset)
{
    return window_sum(f->workers, &f->crew, 0, 2, offset);
}

#define SUM(field) sum(&f, offsetof(struct phase_counters, field))

static void short_parts_are_continued(void **state)
{
    (void)state;
    /* The first request brings 100 bytes, its rest is asked for at once or after others. */
    static const int32_t results[] = {100, BLOCK, 1};
    script.results = results;
    script.n = 3;
    struct fixture f;
    begin(&f, "read", 2);
    wait_until_over(&f);
    assert_null(crew_error(&f.crew, f.workers));
    assert_int_equal(SUM(ios), BLOCKS);
    assert_int_equal(SUM(bytes), BLOCKS * BLOCK);
    assert_int_equal(SUM(parts), BLOCKS + 2);
    assert_int_equal(SUM(submitted), BLOCKS);
    assert_false(script.wrote_beyond);
    end(&f);
}

/* The fourth request fails; the message has the file, the offset and the reason. */
static void fails_with(int error, const char *rw, const char *engine_says, const char *want)
{
    const int32_t results[] = {BLOCK, BLOCK, BLOCK, -error};
    script.results = results;
    script.n = 4;
    script.why = engine_says;
    struct fixture f;
    begin(&f, rw, 1);
    wait_until_over(&f);
    const struct err *e = crew_error(&f.crew, f.workers);
    assert_non_null(e);
    assert_int_equal(e->status, STATUS_FAILED);
    if (!strstr(e->text, want))
        fail_msg("'%s' is not in '%s'", want, e->text);
    assert_int_equal(SUM(ios), 3);
    end(&f);
}

static void errors_are_named(void **state)
{
    (void)state;
    fails_with(ESTALE, "read", NULL,
               "scripted:/file: read failed at offset 12288, 4096 bytes: Stale file handle");
    fails_with(EIO, "read", NULL, "read failed at offset 12288, 4096 bytes: Input/output error");
    fails_with(ENOSPC, "write", NULL, "write failed at offset 12288, 4096 bytes: No space left");
    fails_with(EIO, "read", "the server answered NFS3ERR_JUKEBOX",
               "offset 12288, 4096 bytes: the server answered NFS3ERR_JUKEBOX");
    fails_with(0, "read", NULL, "end of file at offset 12288, where 4096 more bytes were there");
    fails_with(0, "write", NULL, "write moved nothing at offset 12288");
}

static void what_never_comes_back_is_seen(void **state)
{
    (void)state;
    atomic_store(&script.silent, true);
    struct fixture f;
    begin(&f, "read", 4);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    atomic_store(&f.crew.phase, 2);
    assert_int_equal(crew_drain(&f.crew, f.workers, 500000000, keep_waiting, NULL), CREW_HUNG);
    assert_int_equal(counter_get(&f.workers[0].outstanding), 4);
    uint64_t oldest = counter_get(&f.workers[0].oldest_start_ns);
    assert_true(oldest > 0 && now_ns() - oldest >= 700000000);
    /* It comes back after all. */
    atomic_store(&script.silent, false);
    assert_int_equal(crew_drain(&f.crew, f.workers, 60000000000u, keep_waiting, NULL), CREW_OK);
    assert_int_equal(SUM(ios), 4);
    end(&f);
}

static uint64_t slower_than(const struct fixture *f, uint64_t ns)
{
    uint64_t n = 0;
    for (unsigned p = 0; p < 3; p++)
        for (unsigned b = hist_bucket(ns); b < HIST_BUCKETS; b++)
            n += counter_get(&f->crew.latencies[p * HIST_BUCKETS + b]);
    return n;
}

/* The engine is silent for half a second. A closed loop meets that with the one I/O that it has
 * out; an open one of 200 I/Os a second has 80 that were due at least 100 ms before the end of it.
 */
static void an_open_loop_counts_what_a_stall_held_back(void **state)
{
    (void)state;
    for (int open_loop = 0; open_loop < 2; open_loop++) {
        struct fixture f;
        begin_profile(&f,
                      (struct profile){.rw = (char *)"read",
                                       .amount_bytes = (uint64_t)200 * BLOCK,
                                       .iops = open_loop ? 200 : 0,
                                       .limit_bytes = open_loop ? 0 : (uint64_t)200 * BLOCK,
                                       .block_bytes = BLOCK,
                                       .threads = 1,
                                       .salt = 1},
                      1);
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        atomic_store(&script.silent, true);
        nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
        atomic_store(&script.silent, false);
        wait_until_over(&f);
        assert_int_equal(SUM(ios), 200);
        if (open_loop)
            assert_true(slower_than(&f, 100000000) >= 70);
        else
            assert_true(slower_than(&f, 400000000) >= 1 && slower_than(&f, 100000000) < 70);
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_parts_are_continued),
        cmocka_unit_test(errors_are_named),
        cmocka_unit_test(what_never_comes_back_is_seen),
        cmocka_unit_test(an_open_loop_counts_what_a_stall_held_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
