/* The commands topo, place and restore, called as main() does. */
#include "check.h"

#include "../../loadgen/cmd.h"
#include "../../placement/err.h"

#include <fcntl.h>

static char work[PATH_MAX], out[65536];

static int setup(void **state)
{
    (void)state;
    snprintf(work, sizeof(work), "%s", make_dir());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sysroot_set(NULL);
    remove_dir(work);
    return 0;
}

/* Runs a command with stdout and stderr in `out`; arguments end with NULL. */
static int run(int (*command)(int, char **), const char *const *args)
{
    char *argv[32], path[PATH_MAX + 8];
    int argc = 0;
    for (; args[argc]; argc++)
        argv[argc] = (char *)(uintptr_t)args[argc];
    argv[argc] = NULL;
    snprintf(path, sizeof(path), "%s/out", work);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), old_out = dup(1), old_err = dup(2);
    assert_true(fd >= 0);
    fflush(NULL);
    dup2(fd, 1);
    dup2(fd, 2);
    int status = command(argc, argv);
    fflush(NULL);
    dup2(old_out, 1);
    dup2(old_err, 2);
    close(old_out);
    close(old_err);
    ssize_t n = pread(fd, out, sizeof(out) - 1, 0);
    out[n > 0 ? n : 0] = '\0';
    close(fd);
    return status;
}

#define RUN(command, ...) run(command, (const char *const[]){__VA_ARGS__, NULL})
#define TREE(name) TEST_DATA "/trees/" name

static void topo_of_a_tree(void **state)
{
    (void)state;
    assert_int_equal(RUN(cmd_topo, "topo", "--sysroot", TREE("devices")), 0);
    assert_contains(out, "mlx5_0: RDMA device, node 1, local CPUs 2-3, on eth1");
    assert_contains(out, "rxe0: RDMA device, in software");
    assert_contains(out, "eth0: network device, node unknown");
    assert_contains(out, "warning: eth9: numa_node says node 0");
    assert_contains(out, "irqbalance runs (pid 4711)");
    assert_int_equal(RUN(cmd_topo, "topo", "--sysroot", TREE("stray-cpus")), 0);
    assert_contains(out, "CPUs in no node: 4-5");
    assert_int_equal(RUN(cmd_topo, "topo", "--sysroot", TREE("offline")), 0);
    assert_contains(out, "of 4-7; the others are offline or outside the cpuset");
}

static void topo_as_json(void **state)
{
    (void)state;
    assert_int_equal(
        RUN(cmd_topo, "topo", "--json", "--device", "eth1", "--sysroot", TREE("devices")), 0);
    json_t *doc = json_loads(out, 0, NULL);
    assert_non_null(doc);
    json_t *device = json_array_get(json_object_get(doc, "devices"), 0);
    assert_int_equal(json_array_size(json_object_get(doc, "devices")), 1);
    assert_int_equal(json_array_size(json_object_get(device, "vectors")), 5);
    assert_int_equal(json_integer_value(json_object_get(device, "vectors_not_in_use")), 1);
    json_t *comp3 = json_array_get(json_object_get(device, "vectors"), 4);
    assert_int_equal(json_integer_value(json_object_get(comp3, "node")), 1);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(comp3, "count_by_node"), "1")), 1000);
    json_decref(doc);
    /* A node that the kernel does not know is null, not 0 and not -1. */
    assert_int_equal(
        RUN(cmd_topo, "topo", "--json", "--device", "eth0", "--sysroot", TREE("devices")), 0);
    doc = json_loads(out, 0, NULL);
    assert_true(json_is_null(
        json_object_get(json_array_get(json_object_get(doc, "devices"), 0), "numa_node")));
    json_decref(doc);
}

static void topo_refusals(void **state)
{
    (void)state;
    assert_int_equal(RUN(cmd_topo, "topo", "--device", "eth", "--sysroot", TREE("devices")),
                     STATUS_FAILED);
    assert_contains(out, "no RDMA, network or block device of that name");
    assert_int_equal(RUN(cmd_topo, "topo", "--sysroot", "/nonexistent"), STATUS_USAGE);
    assert_int_equal(RUN(cmd_topo, "topo", "--cpus", "node:0"), STATUS_USAGE);
    assert_contains(out, "--cpus has no meaning for 'numaload topo'");
}

static void dry_run_lists_each_write(void **state)
{
    (void)state;
    assert_int_equal(RUN(cmd_place, "place", "apply", "--dry-run", "--cq", "node:1", "--device",
                         "eth10", "--numa-balancing", "off", "--sysroot", TREE("devices")),
                     0);
    assert_string_equal(out, "/proc/irq/111/smp_affinity_list: 0-3 -> 2\n"
                             "/proc/irq/112/smp_affinity_list: 0-3 -> 3\n"
                             "/proc/sys/kernel/numa_balancing: 1 -> 0\n");
    assert_int_equal(RUN(cmd_place, "place", "apply", "--dry-run", "--json", "--unbound", "node:1",
                         "--sysroot", TREE("devices")),
                     0);
    json_t *doc = json_loads(out, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(doc, "writes")), 2);
    assert_true(json_is_true(json_object_get(doc, "dry_run")));
    json_decref(doc);
    assert_int_equal(RUN(cmd_place, "place", "apply", "--dry-run", "--sysroot", TREE("devices")),
                     0);
    assert_string_equal(out, "nothing would be written\n");
}

static void show_on_a_tree(void **state)
{
    (void)state;
    assert_int_equal(
        RUN(cmd_place, "place", "show", "--device", "eth10", "--sysroot", TREE("devices")), 0);
    assert_contains(out, "111  CPUs 0-3      fires on 0");
    assert_contains(out, "unbound         leave        -       0-3");
}

static void place_refusals(void **state)
{
    (void)state;
    assert_int_equal(RUN(cmd_place, "place"), STATUS_USAGE);
    assert_int_equal(RUN(cmd_place, "place", "move"), STATUS_USAGE);
    assert_int_equal(RUN(cmd_place, "place", "exec", "--cpus", "node:0"), STATUS_USAGE);
    assert_contains(out, "needs a command after --");
    assert_int_equal(RUN(cmd_place, "place", "apply", "--", "true"), STATUS_USAGE);
    assert_int_equal(RUN(cmd_place, "place", "exec", "--json", "--", "true"), STATUS_USAGE);
    assert_int_equal(RUN(cmd_place, "place", "show", "--dry-run"), STATUS_USAGE);
    assert_int_equal(RUN(cmd_place, "place", "show", "--threads", "3"), STATUS_USAGE);
    assert_contains(out, "--threads has no meaning for 'numaload place'");
    assert_int_equal(RUN(cmd_place, "place", "apply", "--cq", "node:1", "--device", "eth1",
                         "--sysroot", TREE("devices")),
                     STATUS_USAGE);
    assert_contains(out, "can be planned for, not run on");
    assert_int_equal(RUN(cmd_place, "place", "apply", "--json", "--cq", "node:9", "--device",
                         "eth1", "--sysroot", TREE("devices")),
                     STATUS_FAILED);
    assert_contains(out, "there is no node 9");
}

static void exec_gives_the_status_of_the_command(void **state)
{
    (void)state;
    assert_int_equal(RUN(cmd_place, "place", "exec", "--", "sh", "-c", "exit 5"), 5);
    assert_int_equal(RUN(cmd_place, "place", "exec", "--", "sh", "-c", "kill -TERM $$"), 143);
    assert_int_equal(RUN(cmd_place, "place", "exec", "--", "/nonexistent"), STATUS_FAILED);
    assert_contains(out, "/nonexistent: No such file or directory");
}

static void exec_binds_and_observes(void **state)
{
    (void)state;
    char record[PATH_MAX + 16];
    snprintf(record, sizeof(record), "%s/record.json", work);
    assert_int_equal(
        RUN(cmd_place, "place", "exec", "--cpus", "cpus:0", "--record", record, "--", "sh", "-c",
            "grep Cpus_allowed_list /proc/self/status; i=0; while [ $i -lt 300000 ]; do "
            "i=$((i + 1)); done"),
        0);
    assert_contains(out, "Cpus_allowed_list:\t0\n");
    json_t *doc = json_load_file(record, 0, NULL);
    assert_non_null(doc);
    json_t *cpus = lever_of(json_object_get(doc, "levers"), "cpus");
    assert_string_equal(text_of(cpus, "asked"), "cpus:0");
    assert_true(json_is_true(json_object_get(cpus, "reached")));
    assert_int_equal(json_integer_value(json_object_get(doc, "command_exit_status")), 0);
    json_decref(doc);
    /* A command that leaves its place is found out. */
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        return;
    assert_int_equal(RUN(cmd_place, "place", "exec", "--cpus", "cpus:0", "--", "taskset", "-c", "1",
                         "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done"),
                     STATUS_INVALID);
}

static void restore_without_anything_to_do(void **state)
{
    (void)state;
    char dir[PATH_MAX + 16];
    snprintf(dir, sizeof(dir), "%s/none", work);
    assert_int_equal(RUN(cmd_restore, "restore", "--run-dir", dir), 0);
    assert_string_equal(out, "nothing to put back\n");
    assert_int_equal(RUN(cmd_place, "place", "restore", "--run-dir", dir), 0);
    assert_int_equal(RUN(cmd_restore, "restore", "--farce"), STATUS_USAGE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(topo_of_a_tree),
        TEST(topo_as_json),
        TEST(topo_refusals),
        TEST(dry_run_lists_each_write),
        TEST(show_on_a_tree),
        TEST(place_refusals),
        TEST(exec_gives_the_status_of_the_command),
        TEST(exec_binds_and_observes),
        TEST(restore_without_anything_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
