/* What the recorder writes is what schema.json describes. Needs Debian's python3-jsonschema. */
#include "record_util.h"

#include "../../loadgen/record/derived.h"
#include "../../loadgen/record/hostfacts.h"
#include "../../loadgen/record/notes.h"
#include "../../loadgen/record/record.h"

#include <time.h>

static char file[64];

/* Exit status of the check; its complaints appear in the output of the test. */
static int check(const json_t *record)
{
    struct err err;
    char command[PATH_MAX];
    if (!record_write(record, file, &err))
        fail_msg("%s", err.text);
    snprintf(command, sizeof(command), TEST_DATA "/../schema_check.py %s", file);
    return system(command);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A window with what samplers and derived figures put into it, and the run loop's part by hand. */
static json_t *window(const struct sampling *s)
{
    json_t *notes = json_array();
    json_t *w = json_pack("{s:i, s:i, s:i, s:i, s:b, s:b, s:{s:i, s:i, s:i, s:f, s:f}}", "index", 0,
                          "t0_ns", 0, "t1_ns", 50, "window_ns", 50, "cut_short", 0, "valid", 1,
                          "throughput", "bytes", 1 << 20, "ios", 1, "submitted_ios", 1,
                          "bytes_per_s", 1e6, "ios_per_s", 1.0);
    json_object_set_new(w, "latency",
                        json_pack("{s:i, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:f, s:s}",
                                  "count", 0, "min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns",
                                  "p99_9_ns", "p99_99_ns", "max_ns", "error_bound", 0.01, "reason",
                                  "no I/O ended in the window"));
    json_object_set_new(w, "threads",
                        json_pack("{s:i, s:i, s:{s:i, s:f}, s:n, s:[i]}", "count", 1, "without_io",
                                  0, "slowest", "thread", 0, "bytes_per_s", 1e6, "fastest", "bytes",
                                  1 << 20));
    json_object_set_new(w, "placement",
                        json_pack("[{s:s, s:s, s:n, s:n, s:n, s:s, s:{}}]", "lever", "cpus",
                                  "asked", "unpinned", "applied", "observed", "reached", "reason",
                                  "not asked for", "detail"));
    sampling_window(s, 0, 1, w, notes);
    json_object_set_new(w, "derived", derived_from_window(w));
    json_object_set_new(w, "notes", notes);
    return w;
}

static json_t *record(const struct topo *topo, bool allow_merged)
{
    struct err err;
    json_t *r = record_new(), *notes = json_object_get(r, "notes");
    struct sample_ctx ctx = {.topo = topo,
                             .path = "/mnt/file",
                             .slab = "nfs_page",
                             .allow_merged = allow_merged,
                             .edges_max = 2,
                             .notes = notes};
    json_object_set_new(r, "label", json_null());
    json_object_set_new(r, "status", json_string("valid"));
    json_object_set_new(r, "exit_status", json_integer(0));
    json_object_set_new(r, "cut_short", json_false());
    json_object_set_new(r, "profile",
                        json_pack("{s:s, s:i, s:i, s:i, s:i}", "engine", "aio", "block_bytes",
                                  1 << 20, "threads", 1, "iodepth", 1, "window_ns", 50));
    json_object_set_new(r, "host", hostfacts_read(topo, notes));
    struct sampling *s = sampling_open(&ctx, &err);
    if (!s)
        fail_msg("%s", err.text);
    sampling_edge(s, 0, now_ns(), true);
    usleep(30000);
    sampling_tick(s);
    sampling_edge(s, 1, now_ns(), true);
    json_array_append_new(json_object_get(r, "windows"), window(s));
    sampling_close(s);
    return r;
}

static void need_jsonschema(void)
{
    if (system("/usr/bin/python3 -c 'import jsonschema' 2>/dev/null") != 0)
        skip();
}

static void test_live(void **state)
{
    (void)state;
    need_jsonschema();
    struct topo *topo = topo_make(1, (unsigned)sysconf(_SC_NPROCESSORS_CONF));
    json_t *r = record(topo, true);
    assert_int_equal(check(r), 0);
    json_decref(r);
    topo_unmake(topo);
}

/* The richest case and the poorest. */
static void test_trees(void **state)
{
    (void)state;
    need_jsonschema();
    struct topo *topo = topo_make(2, 2);
    tree_new();
    json_t *r = record(topo, false);
    assert_int_equal(check(r), 0);
    json_decref(r);
    tree_put("/proc/stat", "cpu  0\ncpu0 1 1 1 1\ncpu9 1 1 1 1\n");
    tree_put("/proc/interrupts", "  CPU0 CPU1\n 24: 1 2 PCI-MSI 1-edge eth0\nERR: 0\n");
    tree_put("/proc/softirqs", "  CPU0 CPU1\n NET_RX: 1 2\n");
    tree_put("/proc/net/dev", "  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
    tree_put("/proc/self/mountstats", "device s:/e mounted on /mnt with fstype nfs statvers=1.1\n"
                                      "\topts:\trw,vers=3,rsize=1048576,proto=rdma\n"
                                      "\txprt:\trdma 0 1 2 3 4 5 6 7\n\txprt:\tnew 1\n"
                                      "\t READ: 1 1 0 1 1 1 1 1 0\n");
    tree_put("/sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts", "7\n");
    tree_put("/sys/devices/system/node/node0/meminfo", "Node 0 MemFree: 7 kB\n");
    tree_put("/proc/self/task/1/status",
             "Name:\tx\nvoluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t1\n");
    tree_put("/sys/kernel/slab/:0000128/free_fastpath", "9 C0=9\n");
    tree_put("/sys/kernel/slab/:0000128/sheaf_capacity", "60\n");
    tree_link("/sys/kernel/slab/nfs_page", ":0000128");
    tree_link("/sys/kernel/slab/uid_cache", ":0000128");
    r = record(topo, true);
    assert_int_equal(check(r), 0);
    json_decref(r);
    tree_remove();
    topo_unmake(topo);
}

/* The check notices drift. */
static void test_refuses(void **state)
{
    (void)state;
    need_jsonschema();
    struct topo *topo = topo_make(1, 1);
    tree_new();
    json_t *r = record(topo, false);
    json_t *w = json_array_get(json_object_get(r, "windows"), 0);
    json_object_set_new(w, "bytes", json_integer(1));
    assert_int_not_equal(check(r), 0);
    json_object_del(w, "bytes");
    assert_int_equal(check(r), 0);
    json_object_set_new(json_object_get(w, "cpu"), "reason", json_integer(1));
    assert_int_not_equal(check(r), 0);
    json_decref(r);
    tree_remove();
    topo_unmake(topo);
}

static void test_published(void **state)
{
    (void)state;
    need_jsonschema();
    assert_int_equal(system(TEST_DATA "/../schema_check.py " TEST_DATA "/published/*.json"), 0);
}

static int setup(void **state)
{
    (void)state;
    snprintf(file, sizeof(file), "/tmp/numaload-test-%ld.json", (long)getpid());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(file);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_live),
        cmocka_unit_test(test_trees),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_published),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
