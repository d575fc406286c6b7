#define _GNU_SOURCE
#include "guardian.h"

#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DISMISSED 'd'
#define KILLED_MS 3000

static int lifeline = -1;

void guardian_lifeline(int fd)
{
    lifeline = fd;
}

static int open_pidfd(pid_t pid)
{
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    (void)pid;
    errno = ENOSYS;
    return -1;
#endif
}

/* Closes every descriptor but those that are kept (-1: none); the standard ones become /dev/null,
 * so that no pipe of the owner's waits for us. */
static void shed_files(int a, int b, int c, int d)
{
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        dup2(null, fd);
    int limit = (int)sysconf(_SC_OPEN_MAX);
    int keep[] = {a, b, c, d}, last = 2;
    for (;;) {
        int next = INT_MAX;
        for (int i = 0; i < 4; i++)
            if (keep[i] > last && keep[i] < next)
                next = keep[i];
        if (close_range((unsigned)last + 1, next == INT_MAX ? ~0u : (unsigned)next - 1, 0))
            for (int fd = last + 1; fd < limit && fd < next; fd++)
                close(fd);
        if (next == INT_MAX)
            return;
        last = next;
    }
}

static void become_independent(void)
{
    static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE,
                                  SIGTSTP, SIGUSR1, SIGUSR2, SIGALRM};
    for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
        signal(ignored[i], SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (chdir("/"))
        return;
    prctl(PR_SET_NAME, "numaload-guard");
    int fd = open("/proc/self/oom_score_adj", O_WRONLY);
    if (fd >= 0) {
        /* The kernel should take the owner first; without the right to say so it stays as it is. */
        if (write(fd, "-1000", 5) < 0)
            errno = 0;
        close(fd);
    }
}

static void say_to_log(void *ctx, const char *text)
{
    fprintf(ctx, "%s\n", text);
}

/* True when the owner is gone, false when it sent us away. */
static bool wait_for_owner(int socket, int pidfd)
{
    struct pollfd fds[] = {{.fd = socket, .events = POLLIN},
                           {.fd = pidfd, .events = POLLIN},
                           {.fd = lifeline, .events = POLLIN}};
    int wait_ms = -1;
    for (;;) {
        int ready = poll(fds, 3, wait_ms);
        if (ready < 0)
            continue;
        if (ready == 0)
            return true;
        char c;
        if (fds[0].revents) {
            ssize_t n = recv(socket, &c, 1, MSG_DONTWAIT);
            if (n == 1 && c == DISMISSED)
                return false;
            /* The socket ends a moment before the process does; a write may still be under way. */
            if (n == 0 && pidfd < 0)
                return true;
            if (n == 0)
                fds[0].fd = -1;
        }
        if (fds[1].revents)
            return true;
        if (fds[2].revents) {
            fds[2].fd = -1;
            wait_ms = KILLED_MS;
        }
    }
}

static void guard(const char *dir, int socket, int pidfd)
{
    if (!wait_for_owner(socket, pidfd))
        return;
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/guardian.log", dir);
    FILE *log = fopen(path, "we");
    struct err err;
    unsigned done;
    if (!log)
        log = fopen("/dev/null", "w");
    if (log && !journal_replay(dir, false, say_to_log, log, &done, &err))
        say_to_log(log, err.text);
    if (log)
        fclose(log);
}

/* Runs in the child: forks once more, so that the owner never has to reap the guardian. */
static void child(const char *dir, int socket, int pidfd, int lock_fd)
{
    setsid();
    pid_t pid = fork();
    if (pid)
        _exit(pid < 0 ? 1 : 0);
    shed_files(socket, pidfd, lock_fd, lifeline);
    become_independent();
    if (send(socket, "r", 1, MSG_NOSIGNAL) == 1)
        guard(dir, socket, pidfd);
    _exit(0);
}

bool guardian_start(struct guardian *g, const char *dir, int lock_fd, struct err *err)
{
    g->socket = -1;
    int pair[2], status = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return err_set(err, STATUS_FAILED, "guardian: socketpair: %s", strerror(errno));
    int pidfd = open_pidfd(getpid());
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        child(dir, pair[1], pidfd, lock_fd);
    }
    int fork_errno = errno;
    close(pair[1]);
    if (pidfd >= 0)
        close(pidfd);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    char ready;
    ssize_t n = -1;
    while (pid > 0 && status == 0 && (n = recv(pair[0], &ready, 1, 0)) < 0 && errno == EINTR)
        ;
    if (n != 1) {
        close(pair[0]);
        return err_set(err, STATUS_FAILED, "guardian: cannot be started: %s",
                       pid < 0 ? strerror(fork_errno) : "it ended at once");
    }
    g->socket = pair[0];
    return true;
}

void guardian_dismiss(struct guardian *g)
{
    if (g->socket < 0)
        return;
    char c = DISMISSED;
    if (send(g->socket, &c, 1, MSG_NOSIGNAL) == 1)
        while (recv(g->socket, &c, 1, 0) < 0 && errno == EINTR)
            ;
    close(g->socket);
    g->socket = -1;
}
