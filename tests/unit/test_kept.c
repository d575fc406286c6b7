/* placement/kept.h and loadgen/record/tasks.h, on the live machine: on a tree nothing is kept. */
#define _GNU_SOURCE
#include "record_util.h"

#include "../../loadgen/record/tasks.h"
#include "../../placement/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static char path[] = "/tmp/numaload-kept.XXXXXX";

static void put(const char *text)
{
    int fd = open(path, O_WRONLY | O_TRUNC);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void test_reads_what_is_there_now(void **state)
{
    (void)state;
    struct kept_file f = {0};
    char buf[8];
    int64_t value;
    close(mkstemp(path));
    put("12\n");
    assert_int_equal(kept_read(&f, path, buf, sizeof(buf)), 3);
    assert_true(f.fd_plus_1 > 0);
    put("345\n");
    assert_int_equal(kept_read(&f, path, buf, sizeof(buf)), 4);
    assert_string_equal(buf, "345\n");
    assert_int_equal(kept_read_piece(&f, path, buf, sizeof(buf)), 4);
    assert_int_equal(kept_read_i64(&f, path, &value), 0);
    assert_int_equal(value, 345);
    put("x");
    assert_int_equal(kept_read_i64(&f, path, &value), -EINVAL);
    put("1234567");
    assert_int_equal(kept_read(&f, path, buf, sizeof(buf)), 7);
    put("12345678");
    assert_int_equal(kept_read(&f, path, buf, sizeof(buf)), -EOVERFLOW);
    assert_string_equal(buf, "1234567");
    assert_true(f.fd_plus_1 > 0);
    kept_close(&f);
    assert_int_equal(f.fd_plus_1, 0);
    unlink(path);
    assert_int_equal(kept_read(&f, path, buf, sizeof(buf)), -ENOENT);
    assert_int_equal(f.fd_plus_1, 0);
}

/* The descriptor of a process that ended must not stand for the next one with its number. */
static void test_lets_go_of_what_is_gone(void **state)
{
    (void)state;
    struct kept_file f = {0};
    char name[64], buf[1024];
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    snprintf(name, sizeof(name), "/proc/%d/stat", child);
    assert_true(kept_read_piece(&f, name, buf, sizeof(buf)) > 0);
    assert_true(f.fd_plus_1 > 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(kept_read_piece(&f, name, buf, sizeof(buf)), -ESRCH);
    assert_int_equal(f.fd_plus_1, 0);
}

static void test_leaves_descriptors_to_others(void **state)
{
    (void)state;
    struct kept_file f[3] = {0};
    char buf[4096];
    kept_allow(2);
    for (int i = 0; i < 3; i++)
        assert_true(kept_read(&f[i], "/proc/self/status", buf, sizeof(buf)) > 0);
    assert_true(f[0].fd_plus_1 > 0 && f[1].fd_plus_1 > 0);
    assert_int_equal(f[2].fd_plus_1, 0);
    kept_close(&f[0]);
    assert_true(kept_read(&f[2], "/proc/self/status", buf, sizeof(buf)) > 0);
    assert_true(f[2].fd_plus_1 > 0);
    kept_close(&f[1]);
    kept_close(&f[2]);
}

static pthread_barrier_t both;

static void *stay(void *arg)
{
    *(long *)arg = gettid();
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
    return NULL;
}

static bool listed(const struct task_list *l, long tid)
{
    for (size_t i = 0; i < l->tids.n; i++)
        if (l->tids.all[i] == tid)
            return true;
    return false;
}

static void test_threads(void **state)
{
    (void)state;
    struct task_list l;
    pthread_t thread;
    long tid = 0;
    assert_int_equal(task_list_open(&l), 0);
    assert_true(task_list_refresh(&l));
    assert_true(listed(&l, gettid()));
    size_t before = l.tids.n;
    assert_false(task_list_refresh(&l));
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&thread, NULL, stay, &tid);
    pthread_barrier_wait(&both);
    assert_true(task_list_refresh(&l));
    /* the thread sanitizer begins one of its own with the first */
    assert_in_range(l.tids.n, before + 1, before + 2);
    assert_true(listed(&l, tid));
    for (size_t i = 1; i < l.tids.n; i++)
        assert_true(l.tids.all[i - 1] < l.tids.all[i]);
    assert_false(task_list_refresh(&l));
    task_list_doubt(&l);
    assert_true(task_list_refresh(&l));
    pthread_barrier_wait(&both);
    pthread_join(thread, NULL);
    task_list_close(&l);
    assert_int_equal(l.tids.n, 0);
    pthread_barrier_destroy(&both);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_what_is_there_now),
        cmocka_unit_test(test_lets_go_of_what_is_gone),
        cmocka_unit_test(test_leaves_descriptors_to_others),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
