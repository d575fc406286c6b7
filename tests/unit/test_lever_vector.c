/* Which completion vector each thread of an engine with its own completion queues takes, on the
 * tree of devices: mlx5_0 has vectors 0..3 that fire on CPUs 0..3, CPUs 0-1 are node 0. */
#include "check.h"

#include "../../placement/behind.h"
#include "../../placement/place.h"
#include "../../placement/vectors.h"

static struct topo *topo;
static struct place *place;

static void plan(struct place_ask ask)
{
    struct err err = {0};
    topo = load_tree("devices");
    ask.own_cqs = true;
    ask.threads = 8;
    if (!place_plan(&place, topo, &ask, &err))
        fail_msg("%s", err.text);
}

static void done(void)
{
    place_free(place);
    topo_free(topo);
}

/* "2 3 2 3 ..." of all eight threads, asked in reverse order: the answer is the thread's. */
static void takes(struct place_ask ask, const char *device, unsigned vectors, const char *want)
{
    unsigned got[8];
    char text[64] = "";
    struct err err = {0};
    plan(ask);
    for (unsigned t = 8; t-- > 0;)
        if (!place_comp_vector(place, t, device, vectors, &got[t], &err))
            fail_msg("%s", err.text);
    for (unsigned t = 0; t < 8; t++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u", t ? " " : "", got[t]);
    assert_string_equal(text, want);
    done();
}

static void refuses(struct place_ask ask, const char *device, unsigned vectors, enum status status,
                    const char *why)
{
    unsigned vector;
    struct err err = {0};
    plan(ask);
    assert_false(place_comp_vector(place, 0, device, vectors, &vector, &err));
    assert_contains(err.text, why);
    assert_int_equal(err.status, status);
    done();
}

static void the_word_decides(void **state)
{
    (void)state;
    takes((struct place_ask){.cq = "node:1", .device = "mlx5_0"}, "mlx5_0", 4, "2 3 2 3 2 3 2 3");
    takes((struct place_ask){.cq = "node:0", .device = "mlx5_0"}, "mlx5_0", 4, "0 1 0 1 0 1 0 1");
    takes((struct place_ask){.cq = "nic", .device = "mlx5_0"}, "mlx5_0", 4, "2 3 2 3 2 3 2 3");
    takes((struct place_ask){.cq = "remote", .device = "mlx5_0"}, "mlx5_0", 4, "0 1 0 1 0 1 0 1");
    takes((struct place_ask){.cq = "cpus:1-2", .device = "mlx5_0"}, "mlx5_0", 4, "1 2 1 2 1 2 1 2");
    takes((struct place_ask){.cq = "leave", .device = "mlx5_0"}, "mlx5_0", 4, "0 1 2 3 0 1 2 3");
    takes((struct place_ask){.cq = "balanced", .device = "mlx5_0"}, "mlx5_0", 4, "0 2 1 3 0 2 1 3");
    /* As many of one node as of the other, also when one has fewer vectors. */
    takes((struct place_ask){.cq = "balanced", .device = "mlx5_0"}, "mlx5_0", 3, "0 2 1 2 0 2 1 2");
    takes((struct place_ask){.cq = "node:1", .device = "mlx5_0"}, "mlx5_0", 3, "2 2 2 2 2 2 2 2");
    takes((struct place_ask){.comp_vector = "1,3", .device = "mlx5_0"}, "mlx5_0", 4,
          "1 3 1 3 1 3 1 3");
    /* irdma's are numbered in their names, here from 1: both are on node 1. */
    takes((struct place_ask){.cq = "node:1", .device = "rocep23s0"}, "rocep23s0", 8,
          "1 2 1 2 1 2 1 2");
}

static void soft_devices_have_vectors_that_are_all_alike(void **state)
{
    (void)state;
    takes((struct place_ask){.cq = "node:1", .device = "rxe0"}, "rxe0", 3, "0 1 2 0 1 2 0 1");
    plan((struct place_ask){.cq = "node:1", .device = "rxe0"});
    unsigned vector;
    assert_true(place_comp_vector(place, 7, "rxe0", 3, &vector, NULL));
    place_edge(place, 0);
    place_edge(place, 1);
    json_t *levers = json_array();
    place_observe(place, NULL, 0, 0, 1, levers);
    json_t *l = lever_of(levers, "comp_vector");
    assert_contains(text_of(l, "reason"), "rxe0 is a soft device without interrupts");
    assert_string_equal(text_of(l, "applied"), "1 threads on 1 of 3 completion vectors of rxe0");
    assert_true(json_is_null(json_object_get(l, "reached")));
    json_t *taken = json_object_get(json_object_get(l, "detail"), "taken");
    assert_int_equal(json_array_size(taken), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(taken, 0), "vector")), 1);
    assert_true(json_is_null(json_object_get(json_array_get(taken, 0), "irq")));
    json_decref(levers);
    done();
}

static void what_cannot_be(void **state)
{
    (void)state;
    refuses((struct place_ask){.comp_vector = "8", .device = "rxe0"}, "rxe0", 8, STATUS_USAGE,
            "comp-vector = 8: vector 8: rxe0 has 0..7");
    refuses((struct place_ask){.cq = "node:1", .device = "mlx5_0"}, "mlx5_0", 2, STATUS_FAILED,
            "cq = node:1: no completion vector of mlx5_0 fires on one of those CPUs "
            "(0: CPU 0, 1: CPU 1)");
    refuses((struct place_ask){.cq = "node:1", .device = "mlx5_0"}, "rxe0", 2, STATUS_FAILED,
            "is about mlx5_0, but the connection goes through rxe0");

    struct err err = {0};
    struct place_ask ask = {.comp_vector = "2", .threads = 1};
    topo = load_tree("devices");
    assert_false(place_plan(&place, topo, &ask, &err));
    assert_contains(err.text, "only for engines that make completion queues of their own");
    ask = (struct place_ask){.comp_vector = "1-x", .own_cqs = true, .threads = 1};
    assert_false(place_plan(&place, topo, &ask, &err));
    assert_contains(err.text, "comp-vector = '1-x' is neither auto nor a list of vectors");
    topo_free(topo);
}

static void count_write(void *ctx, const char *path, const char *now, const char *want)
{
    (void)path;
    (void)now;
    (void)want;
    ++*(unsigned *)ctx;
}

/* Interrupts are moved only where no vector fires as asked. */
static void interrupts_that_are_where_asked_stay(void **state)
{
    (void)state;
    unsigned n = 0;
    plan((struct place_ask){.cq = "node:1", .device = "mlx5_0"});
    place_each_write(place, count_write, &n);
    assert_int_equal(n, 0);
    done();
    plan((struct place_ask){.cq = "node:0", .device = "rocep23s0"});
    place_each_write(place, count_write, &n);
    assert_int_equal(n, 2);
    done();
    n = 0; /* all of irdma's fire on node 1 */
    plan((struct place_ask){.cq = "balanced", .device = "rocep23s0"});
    place_each_write(place, count_write, &n);
    assert_int_equal(n, 2);
    done();
    n = 0; /* vectors named by the user are brought there */
    plan((struct place_ask){.cq = "node:1", .comp_vector = "0", .device = "mlx5_0"});
    place_each_write(place, count_write, &n);
    assert_int_equal(n, 4);
    done();
}

static void fires(unsigned on_0, unsigned on_1)
{
    char text[512];
    FORMAT(text,
           "           CPU0       CPU1\n"
           " 10:  %8u  %8u  IR-PCI-MSIX-0000:81:00.0  1-edge  mlx5_comp0@pci:0000:81:00.0\n"
           " 11:  %8u  %8u  IR-PCI-MSIX-0000:81:00.0  2-edge  mlx5_comp1@pci:0000:81:00.0\n",
           7u, 0u, on_0, on_1);
    put_file(sysroot_get(), "proc/interrupts", text);
}

/* What the taken vectors did is judged, whatever the others did. */
static void interrupts_of_taken_vectors_are_judged(void **state)
{
    (void)state;
    struct place_ask ask = {.cq = "node:1", .device = "mlx5_0", .own_cqs = true, .threads = 1};
    struct err err = {0};
    unsigned vector;
    char *dir = make_dir();
    assert_true(sysroot_set(dir));
    put_file(dir, "sys/devices/system/cpu/online", "0-1\n");
    put_file(dir, "sys/devices/system/cpu/present", "0-1\n");
    put_file(dir, "sys/devices/system/node/node0/cpulist", "0\n");
    put_file(dir, "sys/devices/system/node/node1/cpulist", "1\n");
    put_file(dir, "sys/class/infiniband/mlx5_0/device/msi_irqs/10", "msix\n");
    put_file(dir, "sys/class/infiniband/mlx5_0/device/msi_irqs/11", "msix\n");
    put_file(dir, "proc/irq/10/smp_affinity_list", "0\n");
    put_file(dir, "proc/irq/11/smp_affinity_list", "1\n");
    fires(0, 100);
    if (!topo_load(&topo, &err) || !place_plan(&place, topo, &ask, &err) ||
        !place_comp_vector(place, 0, "mlx5_0", 2, &vector, &err))
        fail_msg("%s", err.text);
    assert_int_equal(vector, 1);
    place_edge(place, 0);
    fires(4, 196); /* 96 % on node 1 */
    place_edge(place, 1);
    fires(10, 290); /* 94 % */
    place_edge(place, 2);
    json_t *levers = json_array();
    assert_true(place_observe(place, NULL, 0, 0, 1, levers));
    json_t *l = lever_of(levers, "comp_vector");
    assert_true(json_is_true(json_object_get(l, "reached")));
    assert_string_equal(text_of(l, "observed"), "node0 4 %, node1 96 %");
    assert_contains(text_of(lever_of(levers, "cq"), "reason"), "no interrupt is moved");
    json_array_clear(levers);
    assert_false(place_observe(place, NULL, 0, 1, 2, levers));
    l = lever_of(levers, "comp_vector");
    assert_contains(text_of(l, "reason"), "only 94 % of the interrupts of the vectors that were "
                                          "taken fired where asked, at least 95 % must");
    json_decref(levers);
    done();
    sysroot_set(NULL);
    remove_dir(dir);
}

static void numbers_in_names(void **state)
{
    (void)state;
    assert_int_equal(vector_number("mlx5_comp12@pci:0000:3b:00.0"), 12);
    assert_int_equal(vector_number("irdma-0000:17:00.0-CEQ-3"), 3);
    assert_int_equal(vector_number("bnxt_re-nq-0@pci:0000:65:00.0"), 0);
    assert_int_equal(vector_number("eth0"), 0);
    assert_int_equal(vector_number("timer"), -1);
    assert_int_equal(vector_number(""), -1);
    assert_int_equal(vector_number("x99999999999999"), -1);
}

static void server_is(const char *path, bool bare, const char *want)
{
    char host[32] = "";
    assert_int_equal(behind_server(path, bare, host, sizeof(host)), want != NULL);
    assert_string_equal(host, want ? want : "");
}

static void servers_in_paths(void **state)
{
    (void)state;
    server_is("nfs://10.0.0.1/export/f", false, "10.0.0.1");
    server_is("nfs://srv:20049/export/f?x=1", false, "srv");
    server_is("nfs://[fe80::1]:20049/f", false, "fe80::1");
    server_is("srv:18515", true, "srv");
    server_is("srv", true, "srv");
    server_is("/mnt/nfs/data", false, NULL);
    server_is("srv:18515", false, NULL);
    server_is("nfs:///export", false, NULL);
    server_is("nfs://a-name-that-is-longer-than-the-buffer/x", false, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_word_decides),
        cmocka_unit_test(soft_devices_have_vectors_that_are_all_alike),
        cmocka_unit_test(what_cannot_be),
        cmocka_unit_test(interrupts_that_are_where_asked_stay),
        cmocka_unit_test(interrupts_of_taken_vectors_are_judged),
        cmocka_unit_test(numbers_in_names),
        cmocka_unit_test(servers_in_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
