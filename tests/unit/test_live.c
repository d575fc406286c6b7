/* The live view: rates from counters over ramp, windows and drain, and the lines of the screen. */
#include "check.h"

#include "../../loadgen/run/live_meter.h"
#include "../../loadgen/run/live_paint.h"

enum { THREADS = 2, CPUS = 4, PHASES = 4 };

struct scene {
    struct topo *topo;
    struct crew crew;
    struct worker *workers;
    struct live_meter meter;
};

static struct phase_counters *at(struct scene *s, unsigned worker, unsigned phase)
{
    return worker_phase(&s->workers[worker], phase);
}

/* n I/Os of 1 MiB that took `ns` each, seen on one CPU. */
static void load(struct scene *s, unsigned worker, unsigned phase, unsigned n, uint64_t ns,
                 unsigned cpu)
{
    struct phase_counters *pc = at(s, worker, phase);
    counter_add(&pc->ios, n);
    counter_add(&pc->bytes, (uint64_t)n << 20);
    counter_add(&s->workers[worker].hist[hist_bucket(ns)], n);
    counter_add(&pc->cpu_hits[cpu], n);
}

static void set_counter(const char *dir, const char *text)
{
    put_file(dir, "sys/kernel/slab/nfs_page/free_slowpath", text);
}

/* Workers point to the crew, so a scene stays where it is. */
static void make_scene(struct scene *s, const char *dir)
{
    *s = (struct scene){0};
    s->topo = load_tree("two-nodes");
    assert_true(sysroot_set(dir));
    set_counter(dir, "1000 C0=1000\n");
    put_file(dir, "sys/kernel/slab/nfs_page/alloc_slowpath", "0 C0=0\n");
    put_file(dir, "sys/kernel/slab/nfs_page/order", "0\n");
    put_file(dir, "proc/interrupts",
             "           CPU0       CPU1       CPU2       CPU3\n"
             "  24:        100          0          0          0  PCI 1-edge mlx5_comp0\n"
             " LOC:         50         50         50         50  Local timer interrupts\n");
    s->crew = (struct crew){.threads = THREADS,
                            .phases = PHASES,
                            .cpus_n = CPUS,
                            .phase_bytes = worker_phase_bytes(CPUS)};
    s->workers = aligned_alloc(CACHE_LINE, THREADS * sizeof(*s->workers));
    assert_non_null(s->workers);
    memset(s->workers, 0, THREADS * sizeof(*s->workers));
    for (unsigned i = 0; i < THREADS; i++) {
        s->workers[i].crew = &s->crew;
        s->workers[i].phase_memory = aligned_alloc(CACHE_LINE, PHASES * s->crew.phase_bytes);
        assert_non_null(s->workers[i].phase_memory);
        memset(s->workers[i].phase_memory, 0, PHASES * s->crew.phase_bytes);
        s->workers[i].hist = calloc(HIST_BUCKETS, sizeof(counter));
        assert_non_null(s->workers[i].hist);
        atomic_store(&s->workers[i].state, WORKER_RUNNING);
    }
}

static void end_scene(struct scene *s)
{
    for (unsigned i = 0; i < THREADS; i++) {
        free(s->workers[i].phase_memory);
        free(s->workers[i].hist);
    }
    free(s->workers);
    topo_free(s->topo);
    sysroot_set(NULL);
}

static uint64_t bytes_of(const struct live_meter *m)
{
    return (uint64_t)(m->rates.bytes_per_s * m->rates.seconds + 0.5);
}

static uint64_t node_bytes(const struct live_meter *m, unsigned node)
{
    return (uint64_t)(m->node_bytes_per_s[node] * m->rates.seconds + 0.5);
}

static void test_rates(void **state)
{
    (void)state;
    char dir[PATH_MAX];
    FORMAT(dir, "%s", make_dir());
    struct scene s;
    make_scene(&s, dir);
    struct live_meter *m = &s.meter;
    assert_true(live_meter_open(m, &s.crew, s.workers, s.topo, "nfs_page"));
    assert_int_equal(m->sources.counters_n, 2); /* "order" is no statistic */

    /* Ramp: worker 0 on node 0, worker 1 on both, three quarters on node 1 (CPUs 2-3). */
    load(&s, 0, 0, 8, 1000000, 0);
    load(&s, 1, 0, 1, 1000000, 1);
    load(&s, 1, 0, 3, 1000000, 3);
    usleep(20000);
    live_meter_read(m);
    assert_int_equal(bytes_of(m), 12 << 20);
    assert_int_equal(node_bytes(m, 0), 9 << 20);
    assert_int_equal(node_bytes(m, 1), 3 << 20);
    assert_int_equal(m->rates.fastest, 0);
    assert_int_equal(m->rates.slowest, 1);
    assert_int_equal(m->rates.states[WORKER_RUNNING], 2);
    assert_true(m->rates.p50_ns > 990000 && m->rates.p50_ns < 1010000);

    /* Two phases later: late I/Os of the ramp count, and none counts twice. */
    load(&s, 0, 0, 1, 1000000, 0);
    load(&s, 0, 1, 2, 4000000, 0);
    load(&s, 0, 2, 5, 4000000, 0);
    atomic_store(&s.crew.phase, 2);
    set_counter(dir, "1500 C0=1100 C2=400\n");
    put_file(dir, "proc/interrupts",
             "           CPU0       CPU1       CPU2       CPU3\n"
             "  24:        100          0         30          0  PCI 1-edge mlx5_comp0\n"
             " LOC:         90         90         90         90  Local timer interrupts\n");
    usleep(20000);
    live_meter_read(m);
    assert_int_equal(bytes_of(m), 8 << 20);
    assert_int_equal(m->rates.phase, 2);
    assert_true(m->rates.p50_ns > 3950000 && m->rates.p50_ns < 4050000);
    assert_int_equal((int)(m->node_interrupts_per_s[0] * m->rates.seconds + 0.5), 0);
    assert_int_equal((int)(m->node_interrupts_per_s[1] * m->rates.seconds + 0.5), 30);
    int slow = strcmp(m->sources.names[0], "free_slowpath") == 0 ? 0 : 1;
    assert_int_equal((int)(m->counter_per_s[slow] * m->rates.seconds + 0.5), 500);
    assert_int_equal((int)m->counter_per_s[!slow], 0);

    /* Late ones of window 2 after the change to the drain, then nothing at all. */
    load(&s, 1, 2, 1, 1000, 3);
    atomic_store(&s.crew.phase, 3);
    usleep(20000);
    live_meter_read(m);
    assert_int_equal(bytes_of(m), 1 << 20);
    usleep(20000);
    live_meter_read(m);
    assert_int_equal(bytes_of(m), 0);
    assert_int_equal(m->rates.p50_ns, 0);
    live_meter_close(m);
    end_scene(&s);
    remove_dir(dir);
}

static void test_lines(void **state)
{
    (void)state;
    char dir[PATH_MAX];
    FORMAT(dir, "%s", make_dir());
    struct scene s;
    make_scene(&s, dir);
    struct live_meter *m = &s.meter;
    struct profile p;
    assert_true(profile_init(&p, NULL));
    assert_true(live_meter_open(m, &s.crew, s.workers, s.topo, "nfs_page"));
    load(&s, 0, 0, 8, 1000000, 0);
    set_counter(dir, "9001000 C0=9001000\n");
    usleep(20000);
    live_meter_read(m);
    m->counter_per_s[0] = m->counter_per_s[1] = 1234567.4;
    static const unsigned sizes[][2] = {{80, 24}, {40, 10}, {20, 3}, {1, 1}};
    for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
        char *lines[64], all[8192] = "";
        unsigned rows = sizes[k][1];
        size_t n = live_paint_lines(m, &p, "window 1", "a message", sizes[k][0], rows, lines);
        assert_true(n <= rows);
        for (size_t i = 0; i < n; i++) {
            strncat(all, lines[i], sizeof(all) - strlen(all) - 2);
            strcat(all, "\n");
        }
        if (rows > 1) /* what was said is in the last row, however small the screen */
            assert_string_equal(lines[n - 1], "a message");
        if (rows == 24) {
            assert_contains(all, "160 threads x 64 x 1 MiB");
            assert_contains(all, "node1");
            assert_contains(all, "threads      2 running");
            assert_contains(all, "free_slowpath           1,234,567");
        }
        for (size_t i = 0; i < n; i++)
            free(lines[i]);
    }
    live_meter_close(m);
    profile_free(&p);
    end_scene(&s);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
