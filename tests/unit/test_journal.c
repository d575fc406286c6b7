/* Values live in plain files here. All have the same length, since a write(2) to a plain file does
 * not replace it as one to sysfs does. */
#include "check.h"

#include "../../placement/journal.h"
#include "../../placement/setting.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define VALUES 8

static char dir[PATH_MAX], run[PATH_MAX], said[4096];

static void hear(void *ctx, const char *text)
{
    (void)ctx;
    snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", text);
}

static const char *value_path(int i)
{
    static char path[PATH_MAX + 16];
    FORMAT(path, "%s/value%d", dir, i);
    return path;
}

static void put_value(int i, const char *text)
{
    char name[16];
    FORMAT(name, "value%d", i);
    put_file(dir, name, text);
}

static void assert_value(int i, const char *want)
{
    char *text;
    assert_true(sysroot_read(value_path(i), &text) >= 0);
    assert_string_equal(text, want);
    free(text);
}

static int setup(void **state)
{
    (void)state;
    sysroot_set(NULL);
    FORMAT(dir, "%s", make_dir());
    FORMAT(run, "%s/run", dir);
    for (int i = 0; i < VALUES; i++)
        put_value(i, "old\n");
    said[0] = '\0';
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    remove_dir(dir);
    return 0;
}

static bool journal_there(void)
{
    char path[PATH_MAX + 16];
    FORMAT(path, "%s/journal", run);
    return access(path, F_OK) == 0;
}

static void nap(long ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

static void wait_until_gone(void)
{
    for (int i = 0; i < 1000 && journal_there(); i++)
        nap(5);
    assert_false(journal_there());
}

/* In a child: takes the machine, says so through the pipe, then changes values until killed. */
static void owner(int ready, bool forever)
{
    struct journal *j;
    struct err err;
    struct setting s[VALUES];
    if (!journal_begin(&j, run, NULL, NULL, &err)) {
        fprintf(stderr, "%s\n", err.text);
        _exit(1);
    }
    for (int i = 0; i < VALUES; i++)
        if (setting_open(&s[i], value_path(i)))
            _exit(2);
    if (!forever && setting_write(&s[0], "new\n", j))
        _exit(3);
    if (write(ready, "r", 1) != 1)
        _exit(4);
    if (!forever)
        pause();
    for (int n = 0;; n++)
        if (setting_write(&s[n % VALUES], n / VALUES % 2 ? "one\n" : "two\n", j))
            _exit(5);
}

static pid_t start_owner(bool forever, int *out)
{
    int p[2];
    char c;
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        owner(p[1], forever);
    }
    close(p[1]);
    assert_int_equal(read(p[0], &c, 1), 1);
    if (out)
        *out = p[0];
    else
        close(p[0]);
    return pid;
}

static void reap(pid_t pid, int sig)
{
    int status;
    kill(pid, sig);
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void done_leaves_nothing(void **state)
{
    (void)state;
    struct journal *j;
    struct setting s;
    struct err err;
    if (!journal_begin(&j, run, hear, NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(setting_open(&s, value_path(0)), 0);
    assert_int_equal(setting_write(&s, "new\n", j), 0);
    assert_value(0, "new\n");
    assert_true(journal_there());
    assert_true(setting_restore(&s, &err));
    assert_value(0, "old\n");
    assert_true(journal_end(j, JOURNAL_DONE, &err));
    assert_false(journal_there());
    /* The lock is free at once: the guardian is gone as well. */
    assert_true(journal_begin(&j, run, hear, NULL, &err));
    assert_true(journal_end(j, JOURNAL_DONE, &err));
    assert_string_equal(said, "");
    setting_close(&s);
}

static void killed_owner_is_undone(void **state)
{
    static const int signals[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    (void)state;
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
        pid_t pid = start_owner(false, NULL);
        assert_value(0, "new\n");
        /* To the whole group, as a terminal does: the guardian is in a session of its own. */
        kill(-pid, signals[i]);
        reap(pid, signals[i]);
        wait_until_gone();
        assert_value(0, "old\n");
    }
}

static void killed_at_random_moments(void **state)
{
    (void)state;
    srand(1);
    for (int n = 0; n < 60; n++) {
        pid_t pid = start_owner(true, NULL);
        nap(rand() % 12);
        reap(pid, SIGKILL);
        wait_until_gone();
        for (int i = 0; i < VALUES; i++)
            assert_value(i, "old\n");
    }
}

static void guardian_holds_no_pipe(void **state)
{
    (void)state;
    int out;
    pid_t pid = start_owner(false, &out);
    kill(pid, SIGSTOP);
    reap(pid, SIGKILL);
    struct pollfd p = {.fd = out, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 5000), 1);
    char c;
    assert_int_equal(read(out, &c, 1), 0);
    close(out);
    wait_until_gone();
}

static void live_owner_is_named(void **state)
{
    (void)state;
    pid_t pid = start_owner(false, NULL);
    struct journal *j;
    struct err err;
    char want[64];
    FORMAT(want, "another placement is in force, of pid %d (", (int)pid);
    assert_false(journal_begin(&j, run, hear, NULL, &err));
    assert_contains(err.text, want);
    assert_int_equal(err.status, STATUS_FAILED);
    assert_false(journal_restore(run, false, hear, NULL, NULL, &err));
    assert_contains(err.text, want);
    assert_value(0, "new\n");
    reap(pid, SIGKILL);
    /* Waits for the guardian instead of refusing. */
    assert_true(journal_restore(run, false, hear, NULL, NULL, &err));
    assert_value(0, "old\n");
    assert_false(journal_there());
}

static char boot_id[64];

/* A journal whose owner and guardian are gone: pid 1 was never started at tick 1. */
static void put_journal(const char *lines)
{
    char *boot, text[4096];
    assert_true(sysroot_read("/proc/sys/kernel/random/boot_id", &boot) > 0);
    FORMAT(boot_id, "%.*s", (int)strcspn(boot, "\n"), boot);
    free(boot);
    FORMAT(text, "{\"journal\":1,\"pid\":1,\"start\":1,\"boot\":\"%s\",\"command\":\"x\"}\n%s",
           boot_id, lines);
    put_file(dir, "run/journal", text);
}

static char *change_line(int i, const char *after)
{
    static char line[3 * PATH_MAX];
    char changed[PATH_MAX + 64] = "";
    if (after)
        FORMAT(changed, "{\"changed\":\"%s\",\"after\":\"%s\\n\"}\n", value_path(i), after);
    FORMAT(line, "{\"change\":\"%s\",\"before\":\"old\\n\",\"wrote\":\"new\"}\n%s", value_path(i),
           changed);
    return line;
}

static void dead_journal_is_put_back_first(void **state)
{
    (void)state;
    struct journal *j;
    struct err err;
    put_value(0, "new\n");
    put_journal(change_line(0, "new"));
    assert_true(journal_begin(&j, run, hear, NULL, &err));
    assert_value(0, "old\n");
    assert_contains(said, "a journal of pid 1, which is gone");
    assert_contains(said, "value0: put back to 'old'");
    assert_true(journal_end(j, JOURNAL_DONE, &err));
}

static void killed_between_journal_and_write(void **state)
{
    (void)state;
    unsigned done;
    struct err err;
    /* The write did not happen. */
    put_journal(change_line(0, NULL));
    assert_true(journal_restore(run, false, hear, NULL, &done, &err));
    assert_int_equal(done, 0);
    assert_value(0, "old\n");
    /* It happened, but how it reads back was not noted any more. */
    put_value(0, "n,w\n");
    put_journal(change_line(0, NULL));
    assert_true(journal_restore(run, false, hear, NULL, &done, &err));
    assert_int_equal(done, 1);
    assert_value(0, "old\n");
}

static void value_of_somebody_else_is_kept(void **state)
{
    (void)state;
    unsigned done;
    struct err err;
    put_value(0, "foe\n");
    put_journal(change_line(0, "new"));
    assert_true(journal_restore(run, false, hear, NULL, &done, &err));
    assert_int_equal(done, 0);
    assert_value(0, "foe\n");
    assert_contains(said, "somebody else changed it to 'foe' after 'new' was set here");
    assert_false(journal_there());

    put_journal(change_line(0, "new"));
    assert_true(journal_restore(run, true, hear, NULL, &done, &err));
    assert_int_equal(done, 1);
    assert_value(0, "old\n");
}

static void torn_and_broken_lines(void **state)
{
    (void)state;
    struct err err;
    char text[3 * PATH_MAX];
    put_value(0, "new\n");
    FORMAT(text, "%s{\"change\":\"/proc/sys/ker", change_line(0, "new"));
    put_journal(text);
    assert_true(journal_restore(run, false, hear, NULL, NULL, &err));
    assert_value(0, "old\n");

    /* A broken line in the middle: what can be read is put back, and the journal stays. */
    put_value(0, "new\n");
    FORMAT(text, "rubbish\n%s", change_line(0, "new"));
    put_journal(text);
    assert_false(journal_restore(run, false, hear, NULL, NULL, &err));
    assert_contains(err.text, "journal:2: not a line of a journal");
    assert_value(0, "old\n");
    assert_true(journal_there());
    assert_true(journal_restore(run, true, hear, NULL, NULL, &err));
    assert_false(journal_there());
}

static void file_that_is_gone(void **state)
{
    (void)state;
    struct err err;
    put_journal(change_line(0, "new"));
    unlink(value_path(0));
    assert_true(journal_restore(run, false, hear, NULL, NULL, &err));
    assert_contains(said, "is not there any more");
    assert_false(journal_there());
}

static void earlier_boot_is_ignored(void **state)
{
    (void)state;
    struct err err;
    char text[3 * PATH_MAX];
    put_value(0, "new\n");
    FORMAT(text, "{\"journal\":1,\"pid\":1,\"start\":1,\"boot\":\"other\",\"command\":\"x\"}\n%s",
           change_line(0, "new"));
    put_file(dir, "run/journal", text);
    assert_true(journal_restore(run, false, hear, NULL, NULL, &err));
    assert_contains(said, "of an earlier boot");
    assert_value(0, "new\n");
    assert_false(journal_there());
}

static void kept_until_restore(void **state)
{
    (void)state;
    struct journal *j;
    struct setting s;
    struct err err;
    assert_true(journal_begin(&j, run, hear, NULL, &err));
    assert_int_equal(setting_open(&s, value_path(0)), 0);
    assert_int_equal(setting_write(&s, "new\n", j), 0);
    setting_close(&s);
    assert_true(journal_end(j, JOURNAL_KEEP, &err));
    assert_value(0, "new\n");
    assert_false(journal_begin(&j, run, hear, NULL, &err));
    assert_contains(err.text, "'numaload restore' puts it back");
    assert_value(0, "new\n");
    assert_true(journal_restore(run, false, hear, NULL, NULL, &err));
    assert_value(0, "old\n");
    assert_true(journal_begin(&j, run, hear, NULL, &err));
    assert_true(journal_end(j, JOURNAL_DONE, &err));
}

static void nothing_to_restore(void **state)
{
    (void)state;
    struct err err;
    unsigned done = 7;
    assert_true(journal_restore(run, false, hear, NULL, &done, &err));
    assert_int_equal(done, 0);
    assert_string_equal(said, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(done_leaves_nothing),
        TEST(killed_owner_is_undone),
        TEST(killed_at_random_moments),
        TEST(guardian_holds_no_pipe),
        TEST(live_owner_is_named),
        TEST(dead_journal_is_put_back_first),
        TEST(killed_between_journal_and_write),
        TEST(value_of_somebody_else_is_kept),
        TEST(torn_and_broken_lines),
        TEST(file_that_is_gone),
        TEST(earlier_boot_is_ignored),
        TEST(kept_until_restore),
        TEST(nothing_to_restore),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
