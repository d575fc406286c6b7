/* Binding for real, on whatever machine this is; what it lacks is skipped with a reason. */
#include "check.h"

#include "../../placement/pages.h"
#include "../../placement/place.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define BYTES (4u << 20)
#define MASK_FILE "/sys/devices/virtual/workqueue/cpumask"

static struct topo *t;

static char run_dir[64];

static int load(void **state)
{
    (void)state;
    snprintf(run_dir, sizeof(run_dir), "%s", make_dir());
    sysroot_set(NULL);
    return topo_load(&t, NULL) ? 0 : -1;
}

static int unload(void **state)
{
    (void)state;
    topo_free(t);
    remove_dir(run_dir);
    return 0;
}

static bool run_in_thread_result;

static void *bind_and_sample(void *arg)
{
    struct err err = {0};
    run_in_thread_result = place_bind_thread(arg, 0, &err);
    return (void *)(intptr_t)sched_getcpu();
}

static void thread_stays_on_its_cpu(void **state)
{
    (void)state;
    int cpu = hwloc_bitmap_last(t->nodes[0].cpus);
    char word[32];
    snprintf(word, sizeof(word), "cpus:%d", cpu);
    const struct place_ask ask = {.cpus = word, .threads = 1};
    struct place *p;
    struct err err = {0};
    if (!place_plan(&p, t, &ask, &err))
        fail_msg("%s", err.text);
    assert_true(place_apply(p, &err));
    pthread_t thread;
    void *ran_on;
    pthread_create(&thread, NULL, bind_and_sample, p);
    pthread_join(thread, &ran_on);
    assert_true(run_in_thread_result);
    assert_int_equal((intptr_t)ran_on, cpu);

    uint64_t *hits = calloc(t->cpus_n, sizeof(*hits));
    hits[cpu] = 1;
    const struct place_thread_seen seen = {.cpu_hits = hits, .tid = getpid()};
    json_t *levers = json_array();
    assert_true(place_observe(p, &seen, 1, 0, 1, levers));
    assert_true(json_is_true(json_object_get(lever_of(levers, "cpus"), "reached")));
    json_decref(levers);
    free(hits);
    assert_true(place_restore(p, &err));
    assert_true(place_restore(p, &err));
    place_free(p);
}

static void buffer_pages_are_counted(void **state)
{
    (void)state;
    hwloc_bitmap_t nodes = topo_nodes_with_memory(t);
    int node = hwloc_bitmap_first(nodes);
    hwloc_bitmap_free(nodes);
    if (t->numa && pages_policy_probe() != 0) {
        print_message("skipped: set_mempolicy is not available here\n");
        skip();
    }
    char word[32];
    snprintf(word, sizeof(word), "node:%d", node);
    const struct place_ask ask = {.mem = word, .threads = 1, .bytes_per_thread = BYTES};
    struct place *p;
    struct err err = {0};
    if (!place_plan(&p, t, &ask, &err))
        fail_msg("%s", err.text);
    assert_int_equal(place_thread_mem_node(p, 0), node);
    char *buf = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(buf, MAP_FAILED);
    if (!place_bind_memory(p, 0, buf, BYTES, &err))
        fail_msg("%s", err.text);
    memset(buf, 1, BYTES / 2);
    const struct place_buffer b = {.addr = buf, .bytes = BYTES, .page_bytes = 4096};
    place_query_pages(p, &b, 1);
    json_t *levers = json_array();
    assert_true(place_observe(p, NULL, 0, 0, 1, levers));
    json_t *l = lever_of(levers, "mem");
    assert_true(json_is_true(json_object_get(l, "reached")));
    if (t->numa) {
        char id[16];
        json_t *detail = json_object_get(l, "detail");
        snprintf(id, sizeof(id), "%d", node);
        json_int_t on =
            json_integer_value(json_object_get(json_object_get(detail, "pages_by_node"), id));
        json_int_t unmapped = json_integer_value(json_object_get(detail, "pages_unmapped"));
        /* A huge page can only make the touched half larger. */
        assert_true(on >= BYTES / 2 / 4096);
        assert_int_equal(on + unmapped, BYTES / 4096);
    }
    json_decref(levers);
    munmap(buf, BYTES);
    place_free(p);
}

static void pages_elsewhere_are_noticed(void **state)
{
    (void)state;
    if (!t->numa || pages_policy_probe() != 0) {
        print_message("skipped: no move_pages here\n");
        skip();
    }
    /* The same machine seen with another node id: all pages are then on a node not asked for. */
    struct topo other = *t;
    struct topo_node nodes[] = {t->nodes[0], t->nodes[0]};
    nodes[0].id = 900;
    int distance[] = {10, 20};
    nodes[0].distance = nodes[1].distance = distance;
    other.nodes = nodes;
    other.nodes_n = 2;
    struct place *p;
    struct err err = {0};
    const struct place_ask ask = {.mem = "node:900", .threads = 1};
    if (!place_plan(&p, &other, &ask, &err))
        fail_msg("%s", err.text);
    char *buf = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(buf, 1, BYTES);
    const struct place_buffer b = {.addr = buf, .bytes = BYTES, .page_bytes = 4096};
    place_query_pages(p, &b, 1);
    json_t *levers = json_array();
    assert_false(place_observe(p, NULL, 0, 0, 1, levers));
    json_t *l = lever_of(levers, "mem");
    assert_true(json_is_false(json_object_get(l, "reached")));
    assert_contains(json_string_value(json_object_get(l, "reason")), "only 0 % of the pages");
    json_decref(levers);
    munmap(buf, BYTES);
    place_free(p);
}

/* Answers EPERM to set_mempolicy, as container runtimes do. */
static bool forbid_set_mempolicy(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_set_mempolicy, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof(code) / sizeof(*code), .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void seccomp_is_named(void **state)
{
    (void)state;
    if (!t->numa || pages_policy_probe() != 0) {
        print_message("skipped: set_mempolicy is not available here anyway\n");
        skip();
    }
    pid_t pid = fork();
    if (pid == 0) {
        struct place *p;
        struct err err = {0};
        char word[32];
        hwloc_bitmap_t nodes = topo_nodes_with_memory(t);
        snprintf(word, sizeof(word), "node:%d", hwloc_bitmap_first(nodes));
        const struct place_ask ask = {.mem = word, .threads = 1};
        if (!forbid_set_mempolicy())
            _exit(77);
        if (place_plan(&p, t, &ask, &err))
            _exit(1);
        _exit(strstr(err.text, "seccomp profile") ? 0 : 2);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("skipped: no seccomp filters here\n");
        skip();
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static struct place *plan_unbound(const char *word)
{
    struct place *p;
    struct err err = {0};
    const struct place_ask ask = {.unbound = word, .threads = 1, .journal_dir = run_dir};
    if (access(MASK_FILE, W_OK) || hwloc_bitmap_weight(t->online) < 2) {
        print_message("skipped: needs root, two CPUs and %s\n", MASK_FILE);
        skip();
    }
    if (!place_plan(&p, t, &ask, &err))
        fail_msg("%s", err.text);
    return p;
}

static json_t *observe_unbound(struct place *p, unsigned to, bool reached)
{
    json_t *levers = json_array();
    assert_int_equal(place_observe(p, NULL, 0, 0, to, levers), reached);
    json_t *l = json_incref(lever_of(levers, "unbound"));
    json_decref(levers);
    return l;
}

static void work_queue_mask_is_set_and_put_back(void **state)
{
    (void)state;
    struct place *p = plan_unbound("cpus:0");
    struct err err = {0};
    char *before, *after;
    sysroot_read(MASK_FILE, &before);
    if (!place_apply(p, &err))
        fail_msg("%s", err.text);
    place_edge(p, 0);
    place_edge(p, 1);
    sysroot_read(MASK_FILE, &after);
    assert_true(place_restore(p, &err));
    assert_int_equal(strtoul(after, NULL, 16), 1);
    free(after);
    sysroot_read(MASK_FILE, &after);
    assert_string_equal(after, before);
    json_t *l = observe_unbound(p, 1, true);
    assert_true(json_is_true(json_object_get(l, "reached")));
    assert_string_equal(json_string_value(json_object_get(l, "observed")), "0");
    assert_string_equal(json_string_value(json_object_get(l, "applied")), "0");
    json_decref(l);
    free(before);
    free(after);
    place_free(p);
}

static void mask_changed_under_us_is_theirs(void **state)
{
    (void)state;
    struct place *p = plan_unbound("cpus:0");
    struct err err = {0};
    char *before, *after;
    sysroot_read(MASK_FILE, &before);
    assert_true(place_apply(p, &err));
    place_edge(p, 0);
    assert_int_equal(sysroot_write(MASK_FILE, "2"), 0);
    place_edge(p, 1);
    bool restored = place_restore(p, &err);
    sysroot_read(MASK_FILE, &after);
    sysroot_write(MASK_FILE, before);
    assert_int_equal(strtoul(after, NULL, 16), 2);
    assert_false(restored);
    assert_contains(err.text, "somebody else changed it");
    json_t *l = observe_unbound(p, 1, false);
    assert_true(json_is_false(json_object_get(l, "reached")));
    assert_string_equal(json_string_value(json_object_get(l, "reason")),
                        MASK_FILE ": somebody else changed the mask from 0 to 1 (seen at edge 1)");
    assert_string_equal(json_string_value(json_object_get(l, "observed")), "0, then 1");
    json_decref(l);
    free(before);
    free(after);
    place_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thread_stays_on_its_cpu),
        cmocka_unit_test(buffer_pages_are_counted),
        cmocka_unit_test(pages_elsewhere_are_noticed),
        cmocka_unit_test(seccomp_is_named),
        cmocka_unit_test(work_queue_mask_is_set_and_put_back),
        cmocka_unit_test(mask_changed_under_us_is_theirs),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
