/* placement/irqbalance.h against a scripted peer of its socket, and a stand-in for the program that
 * is stopped and started. */
#include "check.h"

#include "../../placement/irqbalance.h"
#include "../../placement/setting.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

/* ---- the socket ---- */

static void parses(const char *answer, const char *list)
{
    char *text = irqbalance_parse_setup(answer);
    assert_string_equal(text, list);
    free(text);
}

static void answers_to_setup(void **state)
{
    (void)state;
    parses("SLEEP 10 BANNED 00000000", "\n");
    parses("SLEEP 10 IRQ 41 LOAD 0 DIFF 0 CLASS 0 IRQ 11 LOAD 7 DIFF 0 CLASS 0 BANNED 00000000",
           "11 41\n");
    parses("IRQ 5 IRQ 5 IRQ x IRQ ", "5\n");
    parses("IRQ 99999999", "\n"); /* no interrupt has such a number */
    parses("", "\n");
}

/* irqbalance as its source has it: one message of at most 500 bytes a connection, credentials
 * wanted, the list replaced as a whole. Serves until it is killed. */
static void serve(int listener)
{
    char list[4096] = "IRQ 7 LOAD 0 DIFF 0 CLASS 0 ";
    for (;;) {
        char buf[501], control[256];
        int fd = accept(listener, NULL, NULL), on = 1;
        setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
        struct iovec iov = {buf, 500};
        struct msghdr m = {
            .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = 256};
        ssize_t n = recvmsg(fd, &m, 0);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        if (n <= 0 || !c || c->cmsg_type != SCM_CREDENTIALS)
            _exit(1);
        buf[n] = '\0';
        if (strcmp(buf, "setup") == 0) {
            dprintf(fd, "SLEEP 10 ");
            usleep(20000); /* an answer may come in pieces */
            dprintf(fd, "%sBANNED 00000000", list);
        } else if (strncmp(buf, "settings ban irqs ", 18) == 0) {
            list[0] = '\0';
            for (char *at = buf + 18; *at && strcmp(buf + 18, "NONE") != 0;)
                snprintf(list + strlen(list), sizeof(list) - strlen(list),
                         "IRQ %ld LOAD 0 DIFF 0 CLASS 0 ", strtol(at, &at, 10));
        }
        close(fd);
    }
}

/* A child that serves, or (silent) only listens; its pid. */
static pid_t start_peer(bool silent)
{
    int ready[2];
    char c;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct sockaddr_un to = {.sun_family = AF_UNIX};
        int n = snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, "irqbalance%d.sock", getpid());
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (bind(fd, (struct sockaddr *)&to,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) ||
            listen(fd, 1) || write(ready[1], "r", 1) != 1)
            _exit(1);
        if (silent)
            pause();
        serve(fd);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    return pid;
}

static void end_peer(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void banned_is(const char *path, const char *want)
{
    char *text;
    assert_true(irqbalance_read(path, &text) >= 0);
    assert_string_equal(text, want);
    free(text);
}

static void a_list_is_replaced_and_put_back(void **state)
{
    (void)state;
    char path[64], many[2048] = "";
    struct setting s;
    struct err err = {0};
    pid_t pid = start_peer(false);
    FORMAT(path, IRQBALANCE_BANNED, pid);
    assert_true(irqbalance_owns(path));
    assert_int_equal(setting_open(&s, path), 0);
    assert_string_equal(s.before, "7\n");
    assert_int_equal(setting_write(&s, "7 25 26\n", NULL), 0);
    assert_string_equal(s.after, "7 25 26\n");
    setting_edge(&s, 0);
    assert_string_equal(setting_at(&s, 0), "7 25 26\n");
    assert_true(setting_restore(&s, &err));
    banned_is(path, "7\n");

    /* Somebody else's list is kept. */
    assert_int_equal(setting_write(&s, "7 25\n", NULL), 0);
    assert_int_equal(irqbalance_write(path, "9\n"), 0);
    assert_false(setting_restore(&s, &err));
    assert_contains(err.text, "somebody else changed it to '9'");
    banned_is(path, "9\n");
    setting_close(&s);

    assert_int_equal(irqbalance_write(path, "\n"), 0);
    banned_is(path, "\n");
    for (int i = 100; i < 260; i++)
        snprintf(many + strlen(many), sizeof(many) - strlen(many), "%d ", i);
    assert_int_equal(irqbalance_write(path, many), -E2BIG);
    banned_is(path, "\n");

    end_peer(pid);
    char *text;
    assert_int_equal(irqbalance_read(path, &text), -ENOENT);
    assert_int_equal(setting_put_back(path, "7\n", "7 25\n", false, &err), PUT_BACK_GONE);
}

static void one_that_does_not_answer(void **state)
{
    (void)state;
    char path[64], *text;
    pid_t pid = start_peer(true);
    FORMAT(path, IRQBALANCE_BANNED, pid);
    assert_int_equal(irqbalance_read(path, &text), -ETIMEDOUT);
    end_peer(pid);
    FORMAT(path, IRQBALANCE_BANNED, getpid()); /* runs, but has no such socket */
    assert_int_equal(irqbalance_read(path, &text), -ECONNREFUSED);
    assert_int_equal(irqbalance_read("irqbalance:1:other", &text), -EINVAL);
}

/* ---- the process ---- */

static bool own_world;
static char stand_in[PATH_MAX];

/* A program of that name which sleeps; it is to be found by its name alone. */
static pid_t start_stand_in(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        setenv("IRQBALANCE_TEST", "a b", 1);
        execl(stand_in, "irqbalance", "100", NULL);
        _exit(1);
    }
    for (int i = 0; i < 500 && irqbalance_pid() != pid; i++)
        usleep(10000);
    assert_int_equal(irqbalance_pid(), pid);
    return pid;
}

static void stopped_and_started_again(void **state)
{
    (void)state;
    if (!own_world)
        skip();
    char *dir = make_dir(), *text, command[2 * PATH_MAX];
    FORMAT(stand_in, "%s/irqbalance", dir);
    FORMAT(command, "cp \"$(command -v sleep)\" %s", stand_in);
    assert_int_equal(system(command), 0);
    pid_t pid = start_stand_in();

    struct setting s;
    struct err err = {0};
    assert_int_equal(setting_open(&s, IRQBALANCE_PROCESS), 0);
    assert_contains(s.before, "\"argv\":[\"irqbalance\",\"100\"]");
    assert_contains(s.before, "\"env\":[\"IRQBALANCE_TEST=a b\"]");
    assert_contains(s.before, stand_in);
    assert_int_equal(setting_write(&s, IRQBALANCE_STOPPED, NULL), 0);
    assert_int_equal(irqbalance_pid(), 0);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), pid);

    /* Started again with the same arguments and environment, and as nobody's child. */
    assert_true(setting_restore(&s, &err));
    pid_t second = irqbalance_pid();
    assert_true(second > 0 && second != pid);
    assert_int_equal(waitpid(second, NULL, WNOHANG), -1);
    assert_true(irqbalance_read(IRQBALANCE_PROCESS, &text) > 0);
    assert_string_equal(text, s.before);
    free(text);

    /* Somebody was quicker: theirs stays, whether the same or another. */
    assert_int_equal(setting_write(&s, IRQBALANCE_STOPPED, NULL), 0);
    FORMAT(command, "setsid -f %s 200 >/dev/null", stand_in);
    assert_int_equal(system(command), 0);
    for (int i = 0; i < 500 && !irqbalance_pid(); i++)
        usleep(10000);
    second = irqbalance_pid();
    assert_false(setting_restore(&s, &err));
    assert_contains(err.text, "somebody else changed it to");
    assert_int_equal(irqbalance_pid(), second);
    assert_int_equal(irqbalance_write(IRQBALANCE_PROCESS, IRQBALANCE_STOPPED), 0);

    assert_int_equal(irqbalance_write(IRQBALANCE_PROCESS, "{\"exe\":\"relative\"}"), -EINVAL);
    assert_int_equal(irqbalance_write(IRQBALANCE_PROCESS, "nonsense"), -EINVAL);
    setting_close(&s);
    remove_dir(dir);
}

static void how_it_runs_on_a_recorded_tree(void **state)
{
    (void)state;
    char *dir = make_dir(), link[PATH_MAX], *text;
    put_file(dir, "proc/12/comm", "irqbalance\n");
    put_file(dir, "proc/12/stat", "12 (irqbalance) Z 1 1\n"); /* has ended */
    put_file(dir, "proc/31/comm", "irqbalance\n");
    put_file(dir, "proc/31/stat", "31 (irqbalance) S 1 1\n");
    put_file(dir, "proc/31/cmdline", "/usr/sbin/irqbalance"); /* one string, no NUL behind */
    put_file(dir, "proc/31/cgroup", "1:name=x:/a.slice\n0::/system.slice/irqbalance.service\n");
    put_file(dir, "run/systemd/system/x", "");
    FORMAT(link, "%s/proc/31/exe", dir);
    assert_int_equal(symlink("/usr/sbin/irqbalance (deleted)", link), 0);
    assert_true(sysroot_set(dir));
    assert_int_equal(irqbalance_pid(), 31);
    assert_true(irqbalance_read(IRQBALANCE_PROCESS, &text) > 0);
    assert_string_equal(text,
                        "{\"exe\":\"/usr/sbin/irqbalance\",\"argv\":[\"/usr/sbin/irqbalance\"],"
                        "\"env\":[],\"unit\":\"irqbalance.service\"}\n");
    assert_int_equal(irqbalance_write(IRQBALANCE_PROCESS, IRQBALANCE_STOPPED), -EROFS);
    free(text);
    sysroot_set(NULL);
    remove_dir(dir);
}

/* A control group of that name for the stand-in: what systemd gives its services. */
static bool make_service(char *group, size_t cap, pid_t pid)
{
    static const char *const roots[] = {"/sys/fs/cgroup/systemd", "/sys/fs/cgroup"};
    char path[PATH_MAX];
    for (size_t i = 0; i < 2; i++) {
        snprintf(group, cap, "%s/irqbalance-test.service", roots[i]);
        FORMAT(path, "%s/cgroup.procs", roots[i]);
        if (access(path, W_OK) || (mkdir(group, 0755) && errno != EEXIST))
            continue;
        FORMAT(path, "%s/cgroup.procs", group);
        FILE *f = fopen(path, "w");
        bool ok = f && fprintf(f, "%d", pid) > 0;
        if (f && fclose(f) == 0 && ok)
            return true;
        rmdir(group);
    }
    return false;
}

static void a_service_is_stopped_by_systemd(void **state)
{
    (void)state;
    if (!own_world || mount("tmpfs", "/run", "tmpfs", 0, NULL))
        skip();
    char *dir = make_dir(), group[PATH_MAX], command[3 * PATH_MAX], *text;
    struct setting s;
    struct err err = {0};
    FORMAT(stand_in, "%s/irqbalance", dir);
    /* Its stand-in as well: says what it was told, and does it. */
    FORMAT(command,
           "cp \"$(command -v sleep)\" %s && mkdir -p /run/systemd/system && printf '#!/bin/sh\n"
           "echo \"$@\" >>%s/said\n[ \"$1\" = stop ] && exec pkill -x irqbalance\n"
           "setsid -f sh -c \"echo \\$\\$ >$GROUP/cgroup.procs; exec %s 300\" >/dev/null\n' "
           ">%s/systemctl && chmod 755 %s/systemctl",
           stand_in, dir, stand_in, dir, dir);
    assert_int_equal(system(command), 0);
    pid_t pid = start_stand_in();
    if (!make_service(group, sizeof(group), pid)) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        remove_dir(dir);
        skip();
    }
    setenv("GROUP", group, 1);
    FORMAT(command, "%s:%s", dir, getenv("PATH"));
    setenv("PATH", command, 1);
    assert_int_equal(setting_open(&s, IRQBALANCE_PROCESS), 0);
    assert_contains(s.before, "\"unit\":\"irqbalance-test.service\"");
    assert_int_equal(setting_write(&s, IRQBALANCE_STOPPED, NULL), 0);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), pid);
    setting_restore(&s, &err); /* reads back with the arguments that the stand-in was given */
    assert_true(irqbalance_pid() > 0);
    FORMAT(command, "%s/said", dir);
    assert_true(sysroot_read(command, &text) > 0);
    assert_string_equal(text, "stop irqbalance-test.service\nstart irqbalance-test.service\n");
    free(text);
    kill(irqbalance_pid(), SIGKILL);
    for (int i = 0; i < 500 && rmdir(group); i++)
        usleep(10000);
    setting_close(&s);
    remove_dir(dir);
}

/* Process numbers, a /proc and socket names of our own, where no irqbalance of the machine is seen,
 * nor by it.
 * Returns in a process that is not the first of them; the first one waits for all others. False,
 * in the process as it was, where that is not allowed. */
static bool in_a_world_of_our_own(void)
{
    if (unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET))
        return false;
    pid_t first = fork(), ended;
    int status = 0;
    if (first) {
        waitpid(first, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("proc", "/proc", "proc", 0, NULL))
        _exit(77);
    pid_t tests = fork();
    if (tests == 0)
        return true;
    while ((ended = wait(&status)) > 0 && ended != tests)
        ;
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

int main(void)
{
    own_world = in_a_world_of_our_own();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_to_setup),
        cmocka_unit_test(a_list_is_replaced_and_put_back),
        cmocka_unit_test(one_that_does_not_answer),
        cmocka_unit_test(how_it_runs_on_a_recorded_tree),
        cmocka_unit_test(stopped_and_started_again),
        cmocka_unit_test(a_service_is_stopped_by_systemd),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (!own_world)
        return failed;
    fflush(NULL);
    _exit(failed); /* the leak check of a sanitizer cannot start its helper in here */
}
