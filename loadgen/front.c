#define _GNU_SOURCE
#include "front.h"

#include "run/live.h"

#include "../placement/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { PASSED_ON = sizeof(passed_on) / sizeof(*passed_on) };

static bool hangs;

void front_leave_behind(void)
{
    hangs = true;
}

/* Whoever reads our output must see its end although this process stays: a dying process waits for
 * its requests before it closes its files. */
static void let_go(int pipe, int status)
{
    fflush(NULL);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        dup2(null, fd);
    char byte = (char)status;
    if (write(pipe, &byte, 1) != 1)
        status = 1;
    _exit(status);
}

int front_end_output(int status)
{
    bool bad = ferror(stdout) != 0;
    int error = fflush(stdout) ? errno : 0;
    if (!bad && !error)
        return status;
    live_say("error: cannot write the output: %s", error ? strerror(error) : "it was cut short");
    clearerr(stdout);
    return status ? status : 1;
}

static void worker(int (*work)(int, char **), int argc, char **argv, int pipe, int life,
                   pid_t front, const sigset_t *mask)
{
    guardian_lifeline(life);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != front)
        _exit(1);
    sigprocmask(SIG_SETMASK, mask, NULL);
    int status = front_end_output(work(argc, argv));
    if (hangs)
        let_go(pipe, status);
    exit(status);
}

/* As the worker ended, so does this process. */
static int ended(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    int sig = WTERMSIG(status);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, sig);
    signal(sig, SIG_DFL);
    prctl(PR_SET_DUMPABLE, 0); /* one core is enough */
    raise(sig);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    return 128 + sig;
}

static int wait_for(pid_t pid, int pipe, int signals)
{
    struct pollfd fds[] = {{.fd = signals, .events = POLLIN}, {.fd = pipe, .events = POLLIN}};
    for (;;) {
        struct signalfd_siginfo info;
        unsigned char left;
        int status;
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return 1;
        if ((fds[1].revents & POLLIN) && read(pipe, &left, 1) == 1) {
            live_say("warning: process %ld stays behind until its requests come back", (long)pid);
            return left;
        }
        if (fds[1].revents)
            fds[1].fd = -1;
        while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
            if (info.ssi_signo != SIGCHLD)
                kill(pid, (int)info.ssi_signo);
        if (waitpid(pid, &status, WNOHANG) == pid)
            return ended(status);
    }
}

int front_run(int (*work)(int, char **), int argc, char **argv)
{
    sigset_t mine, old;
    int ends[2], life[2];
    if (pipe2(ends, O_CLOEXEC))
        return work(argc, argv);
    if (pipe2(life, O_CLOEXEC)) {
        close(ends[0]);
        close(ends[1]);
        return work(argc, argv);
    }
    signal(SIGCHLD, SIG_DFL); /* ignored, children would vanish with their status */
    sigemptyset(&mine);
    sigaddset(&mine, SIGCHLD);
    for (int i = 0; i < PASSED_ON; i++)
        sigaddset(&mine, passed_on[i]);
    sigprocmask(SIG_BLOCK, &mine, &old);
    int signals = signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK);
    pid_t front = getpid();
    fflush(NULL);
    pid_t pid = signals >= 0 ? fork() : -1;
    if (pid == 0) {
        close(ends[0]);
        close(signals);
        close(life[1]);
        worker(work, argc, argv, ends[1], life[0], front, &old);
    }
    close(ends[1]);
    close(life[0]);
    int status;
    if (pid < 0) {
        sigprocmask(SIG_SETMASK, &old, NULL);
        status = work(argc, argv);
    } else {
        status = wait_for(pid, ends[0], signals);
    }
    close(ends[0]);
    close(life[1]);
    if (signals >= 0)
        close(signals);
    return status;
}
