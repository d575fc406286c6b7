/* The thread that samples goes first: loadgen/record/punctual.h. */
#define _GNU_SOURCE
#include "check.h"

#include "../../loadgen/record/punctual.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void *policy_of_new_thread(void *arg)
{
    *(int *)arg = sched_getscheduler(0);
    return NULL;
}

static void goes_first_and_back(void **state)
{
    (void)state;
    struct punctual p;
    assert_false(punctual_now());
    if (!punctual_begin(&p))
        skip();
    assert_int_equal(sched_getscheduler(0), SCHED_FIFO | SCHED_RESET_ON_FORK);
    assert_true(punctual_now());
    pthread_t thread;
    int policy = -1;
    assert_int_equal(pthread_create(&thread, NULL, policy_of_new_thread, &policy), 0);
    pthread_join(thread, NULL);
    assert_int_equal(policy, SCHED_OTHER);
    punctual_end(&p);
    assert_int_equal(sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, SCHED_OTHER);
    assert_false(punctual_now());
}

static void helps_where_no_cpu_is_idle(void **state)
{
    (void)state;
    cpu_set_t mine;
    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof(mine), &mine))
        skip();
    unsigned cpus = (unsigned)CPU_COUNT(&mine);
    assert_false(punctual_helps(cpus - 1));
    assert_true(punctual_helps(cpus));
    assert_true(punctual_helps(cpus + 1));
}

/* A priority that whoever started numaload chose is theirs. */
static void leaves_a_real_time_thread_alone(void **state)
{
    (void)state;
    struct sched_param five = {.sched_priority = 5}, other = {0};
    if (sched_setscheduler(0, SCHED_RR, &five))
        skip();
    struct punctual p;
    assert_true(punctual_begin(&p));
    assert_int_equal(sched_getscheduler(0), SCHED_RR);
    punctual_end(&p);
    assert_int_equal(sched_getscheduler(0), SCHED_RR);
    assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &other), 0);
}

/* As with RLIMIT_RTPRIO alone: SCHED_RESET_ON_FORK cannot be taken back without CAP_SYS_NICE. */
static void back_without_capability(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct punctual p;
        if (!punctual_begin(&p) || geteuid() || seteuid(65534))
            _exit(2);
        punctual_end(&p);
        _exit(punctual_now() ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void not_allowed(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct punctual p;
        struct rlimit none = {0};
        if (setrlimit(RLIMIT_RTPRIO, &none) || (geteuid() == 0 && seteuid(65534)))
            _exit(2);
        bool began = punctual_begin(&p), same = sched_getscheduler(0) == SCHED_OTHER;
        punctual_end(&p);
        _exit(!began && same && sched_getscheduler(0) == SCHED_OTHER ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_first_and_back),
        cmocka_unit_test(leaves_a_real_time_thread_alone),
        cmocka_unit_test(helps_where_no_cpu_is_idle),
        cmocka_unit_test(back_without_capability),
        cmocka_unit_test(not_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
