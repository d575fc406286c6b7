/* What the kernel answers to the write of an affinity, each answer told apart: on this machine,
 * with a seccomp filter that answers in the kernel's place, so that nothing is moved. */
#include "check.h"

#include "../../placement/place.h"
#include "../../placement/vectors.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static struct topo *topo;
static char *run_dir;
static char name[DEVICE_NAME_MAX];

/* The first network device with interrupts. */
static bool find_device(void)
{
    char **names;
    bool found = false;
    if (geteuid() != 0 || sysroot_list("/sys/class/net", &names) < 0)
        return false;
    for (char **n = names; *n && !found; n++) {
        struct device d;
        struct vectors v = {0};
        found = device_find(&d, *n, NULL) && vectors_of_device(&v, &d, NULL);
        if (found)
            FORMAT(name, "%s", *n);
        vectors_free(&v);
        device_free(&d);
    }
    sysroot_list_free(names);
    return found;
}

/* write(2) of few bytes, as an affinity is and a line of the journal is not, fails with `error`. */
static bool answer(int error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 16, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof(code) / sizeof(*code), .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* In a child, since a filter stays: 0 when every vector is refused with `why`. */
static int try_it(int error, bool strict, const char *why)
{
    struct place *p;
    struct err err = {0};
    char cpus[32];
    FORMAT(cpus, "cpus:%d", hwloc_bitmap_first(topo->online));
    const struct place_ask ask = {.cq = cpus,
                                  .device = name,
                                  .irqbalance = "ignore",
                                  .strict = strict,
                                  .threads = 1,
                                  .journal_dir = run_dir};
    if (!answer(error))
        return 77;
    if (!place_plan(&p, topo, &ask, &err))
        return 2;
    bool applied = place_apply(p, &err);
    if (strict)
        return !applied && strstr(err.text, why) ? 0 : 3;
    if (!applied)
        return 4;
    place_edge(p, 0);
    place_edge(p, 1);
    json_t *levers = json_array(), *v;
    place_observe(p, NULL, 0, 0, 1, levers);
    json_t *vectors = json_object_get(json_object_get(lever_of(levers, "cq"), "detail"), "vectors");
    size_t i;
    int result = json_array_size(vectors) ? 0 : 5;
    json_array_foreach(vectors, i, v)
    {
        const char *refused = text_of(v, "refused");
        if (!refused || strcmp(refused, why) != 0)
            result = 6;
    }
    json_decref(levers);
    place_free(p);
    return result;
}

static void refused(int error, const char *why)
{
    for (int strict = 0; strict < 2; strict++) {
        int status;
        pid_t pid = fork();
        if (pid == 0)
            _exit(try_it(error, strict, why));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77)
            skip();
        if (WEXITSTATUS(status))
            fail_msg("%s%s: %d", strerror(error), strict ? ", strict" : "", WEXITSTATUS(status));
    }
}

static void each_answer_is_told_apart(void **state)
{
    (void)state;
    if (!find_device()) {
        print_message("skipped: needs root and a network device with interrupts\n");
        skip();
    }
    refused(EIO, "managed by the kernel, its affinity cannot be set");
    refused(EPERM, "managed by the kernel, its affinity cannot be set");
    refused(ENOSPC, "no interrupt vector is left on the CPU");
    refused(EROFS, "/proc/irq is read-only");
    refused(EINVAL, "the kernel takes none of these CPUs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_answer_is_told_apart),
    };
    struct err err;
    if (!topo_load(&topo, &err))
        return 1;
    run_dir = make_dir();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    topo_free(topo);
    remove_dir(run_dir);
    return failed;
}
