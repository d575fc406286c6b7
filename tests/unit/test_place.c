/* Planning on recorded trees; test_place_live.c binds for real. */
#include "check.h"

#include "../../placement/place.h"

static bool plan(struct place **p, const struct topo *t, const char *cpus, const char *mem,
                 unsigned threads, struct err *err)
{
    const struct place_ask ask = {.cpus = cpus, .mem = mem, .threads = threads};
    return place_plan(p, t, &ask, err);
}

/* The CPUs that each thread gets, one list a thread, separated by '|'. */
static void gives(const char *tree, const char *cpus, unsigned threads, const char *want)
{
    struct topo *t = load_tree(tree);
    struct place *p;
    struct err err = {0};
    char got[512] = "";
    if (!plan(&p, t, cpus, NULL, threads, &err))
        fail_msg("%s, %s: %s", tree, cpus, err.text);
    for (unsigned i = 0; i < threads; i++) {
        char *list = set_format(place_thread_cpus(p, i));
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? "|" : "", list);
        free(list);
    }
    assert_string_equal(got, want);
    place_free(p);
    topo_free(t);
}

static void refuses(const char *tree, const char *cpus, const char *mem, enum status status,
                    const char *reason)
{
    struct topo *t = load_tree(tree);
    struct place *p;
    struct err err = {0};
    if (plan(&p, t, cpus, mem, 4, &err))
        fail_msg("%s: %s / %s was taken", tree, cpus, mem);
    assert_null(p);
    assert_contains(err.text, reason);
    assert_int_equal(err.status, status);
    topo_free(t);
}

static void words_that_do_not_parse(void **state)
{
    (void)state;
    const char *const bad[] = {"",           "node",           "node:",  "node:x", "node:-1",
                               "node:0 ",    "node:0,1",       "Node:0", "cpus:",  "cpus:a",
                               "cpus:3-1",   "socket:",        "local",  "all",    "0-3",
                               "node:65536", "node:4294967296"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        refuses("two-nodes", bad[i], NULL, STATUS_USAGE, "cpus");
    refuses("two-nodes", "nodes:1", NULL, STATUS_USAGE,
            "cpus = 'nodes:1' is none of unpinned | node:N | socket:N");
    refuses("two-nodes", NULL, "spread", STATUS_USAGE,
            "mem = 'spread' is none of default | node:N | local | interleave");
}

static void cpus_by_node(void **state)
{
    (void)state;
    gives("two-nodes", "node:1", 2, "2-3|2-3");
    gives("memory-less", "node:0", 1, "0-5,24-29");
    gives("sparse", "node:5", 1, "4-7");
    gives("offline", "node:1", 1, "4-5");
    gives("cpuset", "node:0", 1, "0-1,3");
    gives("comma-mask", "node:1", 1, "26-51,78-103");
    gives("no-numa", "node:0", 1, "0-3");
}

static void cpus_by_socket(void **state)
{
    (void)state;
    gives("snc", "socket:1", 1, "8-15,24-31");
    refuses("snc", "socket:2", NULL, STATUS_FAILED, "there is no socket 2; this machine has 0-1");
    refuses("one-node", "socket:0", NULL, STATUS_FAILED, "does not say which socket");
}

static void cpus_spread(void **state)
{
    (void)state;
    gives("two-nodes", "spread", 3, "0-1|2-3|0-1");
    gives("sparse", "spread", 4, "0-3|4-7|0-3|4-7");
    gives("cpu-less", "spread", 2, "0-3|0-3");
    gives("offline", "spread", 3, "0-3|4-5|0-3");
}

static void cpus_by_list(void **state)
{
    (void)state;
    gives("two-nodes", "cpus:1-2", 1, "1-2");
    gives("stray-cpus", "cpus:4-5", 1, "4-5");
    refuses("cpuset", "cpus:0-3", NULL, STATUS_FAILED,
            "CPU 2 is outside the cpuset of this process; --allow-partial takes the rest, 0-1,3");
    refuses("cpuset", "cpus:1-4", NULL, STATUS_FAILED, "CPUs 2,4 are outside the cpuset");
    refuses("cpuset", "cpus:2,4-5", NULL, STATUS_FAILED, "usable are 0-1,3,6-7");
    refuses("offline", "cpus:5-8,20", NULL, STATUS_FAILED,
            "CPU 20 does not exist, CPUs 6-8 are offline; --allow-partial takes the rest, 5");
}

static void partial_list_trimmed_on_request(void **state)
{
    (void)state;
    struct topo *t = load_tree("cpuset");
    struct place *p;
    const struct place_ask ask = {.cpus = "cpus:0-3", .threads = 1, .allow_partial = true};
    assert_true(place_plan(&p, t, &ask, NULL));
    assert_set(place_thread_cpus(p, 0), "0-1,3");
    json_t *levers = json_array();
    assert_true(place_observe(p, NULL, 0, 0, 1, levers));
    json_t *detail = json_object_get(lever_of(levers, "cpus"), "detail");
    assert_string_equal(json_string_value(json_object_get(detail, "cpus_left_out")), "2");
    json_decref(levers);
    place_free(p);
    topo_free(t);
}

static void why_a_node_has_no_cpus(void **state)
{
    (void)state;
    refuses("two-nodes", "node:2", NULL, STATUS_FAILED,
            "there is no node 2; this machine has nodes 0-1");
    refuses("sparse", "node:0", NULL, STATUS_FAILED,
            "there is no node 0; this machine has nodes 2,5");
    refuses("cpu-less", "node:1", NULL, STATUS_FAILED,
            "node 1 has no CPUs; nodes with usable CPUs: 0");
    refuses("cpu-less", "node:2", NULL, STATUS_FAILED, "node 2 has no CPUs");
    refuses("offline", "node:2", NULL, STATUS_FAILED, "all CPUs of node 2 (8-11) are offline");
    refuses("cpuset", "node:1", NULL, STATUS_FAILED,
            "the CPUs of node 1 (4-5) are outside the cpuset of this process, which allows "
            "0-1,3,6-7");
}

static void isolated_cpus_one_a_thread(void **state)
{
    (void)state;
    /* Isolated are 2-3 of node 0, 6-7 of node 1 and all of node 2. Cores are 0-1, 2-3 and so on:
     * the first CPU of each core comes first. */
    gives("isolated", "cpus:2-3,6-7", 5, "2|6|3|7|2");
    gives("isolated", "cpus:1-2", 2, "2|1");
    gives("isolated", "cpus:0-1", 2, "0-1|0-1");
    gives("isolated", "node:0", 2, "0-1|0-1");
    gives("isolated", "node:2", 3, "8|9|8");
    gives("isolated", "socket:1", 1, "4-5");
    gives("isolated", "spread", 6, "0-1|4-5|8|0-1|4-5|9");
}

static void unpinned_is_no_set(void **state)
{
    (void)state;
    struct topo *t = load_tree("two-nodes");
    struct place *p;
    assert_true(plan(&p, t, NULL, NULL, 2, NULL));
    assert_null(place_thread_cpus(p, 0));
    assert_int_equal(place_thread_mem_node(p, 0), -1);
    place_free(p);
    struct err err;
    assert_false(plan(&p, t, NULL, NULL, 0, &err));
    assert_int_equal(err.status, STATUS_USAGE);
    topo_free(t);
}

static int mem_node(const char *tree, const char *cpus, const char *mem, unsigned thread)
{
    struct topo *t = load_tree(tree);
    struct place *p;
    struct err err = {0};
    if (!plan(&p, t, cpus, mem, 4, &err))
        fail_msg("%s, %s / %s: %s", tree, cpus, mem, err.text);
    int node = place_thread_mem_node(p, thread);
    place_free(p);
    topo_free(t);
    return node;
}

static void memory_nodes(void **state)
{
    (void)state;
    assert_int_equal(mem_node("two-nodes", "node:0", "node:1", 3), 1);
    assert_int_equal(mem_node("two-nodes", "node:1", "local", 0), 1);
    assert_int_equal(mem_node("two-nodes", "spread", "local", 2), 0);
    assert_int_equal(mem_node("two-nodes", "spread", "local", 3), 1);
    assert_int_equal(mem_node("two-nodes", "cpus:1-2", "local", 0), -1);
    assert_int_equal(mem_node("two-nodes", "unpinned", "local", 0), -1);
    assert_int_equal(mem_node("two-nodes", "node:0", "interleave", 0), -1);
    assert_int_equal(mem_node("cpu-less", "node:0", "node:1", 0), 1);
    assert_int_equal(mem_node("one-node", "node:0", "interleave", 0), 0);
}

static void nodes_without_memory_are_refused(void **state)
{
    (void)state;
    refuses("memory-less", "node:0", "node:0", STATUS_FAILED,
            "node 0 has no memory; nodes with memory, nearest first: 1 (distance 12), 2 (distance "
            "12)");
    refuses("memory-less", "node:3", "local", STATUS_FAILED, "node 3 has no memory");
    refuses("memory-less-asymmetric", "node:0", "node:0", STATUS_FAILED,
            "nearest first: 2 (distance 17), 1 (distance 31)");
    refuses("cpuset", "node:0", "node:0", STATUS_FAILED,
            "the memory of node 0 is outside the cpuset of this process (Mems_allowed)");
    refuses("cpuset", "node:0", "local", STATUS_FAILED, "nearest first: 1 (distance 20)");
    refuses("sparse", NULL, "node:0", STATUS_FAILED,
            "there is no node 0; this machine has nodes 2,5");
    refuses("stray-cpus", "cpus:4", "local", STATUS_FAILED, "CPU 4 belongs to no node");
}

static bool plan_bytes(const struct topo *t, const char *cpus, const char *mem, unsigned threads,
                       uint64_t bytes, struct err *err)
{
    struct place *p;
    const struct place_ask ask = {
        .cpus = cpus, .mem = mem, .threads = threads, .bytes_per_thread = bytes};
    bool ok = place_plan(&p, t, &ask, err);
    place_free(p);
    return ok;
}

static void too_little_memory_is_refused(void **state)
{
    (void)state;
    const uint64_t mib = 1 << 20;
    struct topo *t = load_tree("two-nodes");
    struct err err;
    /* Node 0: 2048 MiB free and 768 MiB of page cache, less 4096/64 = 64 MiB: 2752 MiB. */
    assert_true(plan_bytes(t, "node:0", "node:0", 4, 688 * mib, &err));
    assert_false(plan_bytes(t, "node:0", "node:0", 4, 688 * mib + 1, &err));
    assert_int_equal(err.status, STATUS_FAILED);
    assert_contains(err.text,
                    "4 threads need 2.7 GiB (688.0 MiB each), node 0 can give 2.7 GiB: 2.0 "
                    "GiB free and 768.0 MiB of page cache, less a reserve of 64.0 MiB");
    /* Two of four threads on each node; node 0 is the smaller one. */
    assert_true(plan_bytes(t, "spread", "local", 4, 1376 * mib, &err));
    assert_false(plan_bytes(t, "spread", "local", 4, 1377 * mib, &err));
    assert_contains(err.text, "2 threads need");
    /* Both nodes: 2752 + 3072 - 64 MiB. */
    assert_true(plan_bytes(t, "node:0", "interleave", 4, 1440 * mib, &err));
    assert_false(plan_bytes(t, "node:0", "interleave", 4, 1441 * mib, &err));
    assert_true(plan_bytes(t, "node:0", "default", 4, UINT64_MAX, &err));
    assert_false(plan_bytes(t, "node:0", "node:0", 4, UINT64_MAX, &err));
    topo_free(t);
}

static void recorded_trees_cannot_be_run_on(void **state)
{
    (void)state;
    struct topo *t = load_tree("two-nodes");
    struct place *p;
    struct err err;
    assert_true(plan(&p, t, "node:0", NULL, 1, NULL));
    assert_false(place_apply(p, &err));
    assert_int_equal(err.status, STATUS_USAGE);
    assert_contains(err.text, "can be planned for, not run on");
    assert_false(place_bind_thread(p, 0, &err));
    assert_contains(err.text, "can be planned for, not run on");
    place_free(p);
    assert_true(plan(&p, t, NULL, NULL, 1, NULL));
    assert_true(place_apply(p, &err));
    assert_true(place_bind_thread(p, 0, &err));
    assert_true(place_restore(p, &err));
    place_free(p);
    topo_free(t);
}

/* Observes two threads with these samples on CPUs 0-3. */
static bool observe(const char *cpus, const uint64_t a[4], const uint64_t b[4], json_t **out)
{
    struct topo *t = load_tree("two-nodes");
    struct place *p;
    assert_true(plan(&p, t, cpus, NULL, 2, NULL));
    const struct place_thread_seen seen[] = {{.cpu_hits = a, .tid = 11},
                                             {.cpu_hits = b, .tid = 12}};
    *out = json_array();
    bool ok = place_observe(p, seen, 2, 0, 1, *out);
    place_free(p);
    topo_free(t);
    return ok;
}

static void every_lever_has_the_same_keys(void **state)
{
    (void)state;
    static const char *const keys[] = {"lever",   "asked",  "applied", "observed",
                                       "reached", "reason", "detail"};
    struct topo *t = load_tree("two-nodes");
    struct place *p;
    assert_true(plan(&p, t, NULL, NULL, 1, NULL));
    json_t *levers = json_array();
    assert_true(place_observe(p, NULL, 0, 0, 1, levers));
    assert_int_equal(json_array_size(levers), 9);
    size_t i;
    json_t *l;
    json_array_foreach(levers, i, l) for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++)
        assert_non_null(json_object_get(l, keys[k]));
    json_decref(levers);
    place_free(p);
    topo_free(t);
}

static void samples_decide_whether_cpus_were_reached(void **state)
{
    (void)state;
    json_t *levers;
    assert_true(observe("node:0", (uint64_t[]){60, 40, 0, 0}, (uint64_t[]){0, 100, 0, 0}, &levers));
    json_t *l = lever_of(levers, "cpus");
    assert_string_equal(text_of(l, "asked"), "node:0");
    assert_string_equal(text_of(l, "applied"), "2 threads on CPUs 0-1");
    assert_string_equal(text_of(l, "observed"), "node0 100 %");
    assert_true(json_is_true(json_object_get(l, "reached")));
    assert_true(json_is_null(json_object_get(l, "reason")));
    json_decref(levers);

    /* One sample of 1000 outside is one too many: the binding is strict. */
    assert_false(
        observe("node:0", (uint64_t[]){999, 0, 0, 1}, (uint64_t[]){1000, 0, 0, 0}, &levers));
    l = lever_of(levers, "cpus");
    assert_true(json_is_false(json_object_get(l, "reached")));
    assert_string_equal(text_of(l, "reason"),
                        "0.05 % of the samples are outside what was asked (thread 0)");
    json_decref(levers);

    assert_true(observe("node:0", (uint64_t[4]){0}, (uint64_t[4]){0}, &levers));
    l = lever_of(levers, "cpus");
    assert_true(json_is_null(json_object_get(l, "reached")));
    assert_contains(text_of(l, "reason"), "no thread gave a sample");
    json_decref(levers);

    assert_true(observe("node:0", (uint64_t[]){5, 0, 0, 0}, (uint64_t[4]){0}, &levers));
    l = lever_of(levers, "cpus");
    assert_true(json_is_null(json_object_get(l, "reached")));
    assert_contains(text_of(l, "reason"), "thread 1 gave no sample");
    json_decref(levers);

    assert_true(observe("unpinned", (uint64_t[]){51, 0, 0, 0}, (uint64_t[]){0, 0, 49, 0}, &levers));
    l = lever_of(levers, "cpus");
    assert_string_equal(text_of(l, "observed"), "node0 51 %, node1 49 %");
    assert_true(json_is_null(json_object_get(l, "reached")));
    assert_true(json_is_null(json_object_get(l, "applied")));
    json_decref(levers);
}

static void unbound_plan(const char *tree, const char *word, const char *reason)
{
    struct topo *t = load_tree(tree);
    struct place *p;
    struct err err = {0};
    const struct place_ask ask = {.unbound = word, .threads = 1};
    bool ok = place_plan(&p, t, &ask, &err);
    if (reason) {
        assert_false(ok);
        assert_contains(err.text, reason);
    } else if (!ok) {
        fail_msg("%s: %s", word, err.text);
    }
    place_free(p);
    topo_free(t);
}

static void unbound_words(void **state)
{
    (void)state;
    unbound_plan("two-nodes", "leave", NULL);
    unbound_plan("two-nodes", "all", NULL);
    unbound_plan("two-nodes", "node:1", NULL);
    unbound_plan("two-nodes", "cpus:0,2", NULL);
    unbound_plan("two-nodes", "node:3", "unbound = node:3: there is no node 3");
    unbound_plan("two-nodes", "cpus:3-4", "CPU 4 does not exist");
    unbound_plan("two-nodes", "nic", "unbound = 'nic' is none of leave | node:N | all | cpus:LIST");
    unbound_plan("one-node", "all", "/sys/devices/virtual/workqueue/cpumask: No such file");
    unbound_plan("one-node", "leave", NULL);
}

static void unbound_mask_is_shown_as_a_list(void **state)
{
    (void)state;
    struct topo *t = load_tree("comma-mask");
    struct place *p;
    const struct place_ask ask = {.threads = 1};
    assert_true(place_plan(&p, t, &ask, NULL));
    place_edge(p, 0);
    place_edge(p, 40);
    json_t *levers = json_array();
    assert_true(place_observe(p, NULL, 0, 0, 40, levers));
    json_t *l = lever_of(levers, "unbound");
    assert_string_equal(text_of(l, "observed"), "26-51,78-103");
    assert_true(json_is_null(json_object_get(l, "reached")));
    json_decref(levers);
    place_free(p);
    topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_that_do_not_parse),
        cmocka_unit_test(cpus_by_node),
        cmocka_unit_test(cpus_by_socket),
        cmocka_unit_test(cpus_spread),
        cmocka_unit_test(cpus_by_list),
        cmocka_unit_test(partial_list_trimmed_on_request),
        cmocka_unit_test(why_a_node_has_no_cpus),
        cmocka_unit_test(isolated_cpus_one_a_thread),
        cmocka_unit_test(unpinned_is_no_set),
        cmocka_unit_test(memory_nodes),
        cmocka_unit_test(nodes_without_memory_are_refused),
        cmocka_unit_test(too_little_memory_is_refused),
        cmocka_unit_test(recorded_trees_cannot_be_run_on),
        cmocka_unit_test(every_lever_has_the_same_keys),
        cmocka_unit_test(samples_decide_whether_cpus_were_reached),
        cmocka_unit_test(unbound_words),
        cmocka_unit_test(unbound_mask_is_shown_as_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
