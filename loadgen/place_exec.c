#define _GNU_SOURCE
#include "place_exec.h"

#include "run/end_signals.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 100000000L
#define DEPTH_MAX 32 /* of a tree of processes; deeper ones are not watched */

struct task {
    pid_t tid;
    uint64_t ticks;
};

struct watch {
    struct task *tasks;
    size_t n, cap;
    uint64_t *hits;
    unsigned cpus_n;
};

static struct task *find_task(struct watch *w, pid_t tid)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->tasks[i].tid == tid)
            return &w->tasks[i];
    if (w->n == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 64;
        struct task *bigger = realloc(w->tasks, cap * sizeof(*bigger));
        if (!bigger)
            return NULL;
        w->tasks = bigger;
        w->cap = cap;
    }
    w->tasks[w->n] = (struct task){.tid = tid};
    return &w->tasks[w->n++];
}

static ssize_t read_proc(const char *path, char *buf, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, buf, cap - 1);
    close(fd);
    buf[n > 0 ? n : 0] = '\0';
    return n;
}

static void count_task(struct watch *w, pid_t pid, pid_t tid)
{
    char path[64], buf[1024];
    unsigned long long user, system;
    unsigned cpu;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    if (read_proc(path, buf, sizeof(buf)) <= 0)
        return;
    const char *p = strrchr(buf, ')');
    if (!p || sscanf(p + 1,
                     " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d "
                     "%*d %*u %*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %u",
                     &user, &system, &cpu) != 3)
        return;
    struct task *t = find_task(w, tid);
    uint64_t now = user + system;
    if (!t || cpu >= w->cpus_n)
        return;
    /* A smaller sum is another task that got the number of one that ended. */
    w->hits[cpu] += now >= t->ticks ? now - t->ticks : now;
    t->ticks = now;
}

static void count_process(struct watch *w, pid_t pid, unsigned depth)
{
    char path[64], children[4096];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *dir = depth < DEPTH_MAX ? opendir(path) : NULL;
    if (!dir)
        return;
    for (struct dirent *d; (d = readdir(dir));) {
        if (!isdigit((unsigned char)*d->d_name))
            continue;
        pid_t tid = (pid_t)atoi(d->d_name);
        count_task(w, pid, tid);
        snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)tid);
        if (read_proc(path, children, sizeof(children)) <= 0)
            continue;
        for (char *save, *c = strtok_r(children, " ", &save); c; c = strtok_r(NULL, " ", &save))
            count_process(w, (pid_t)atoi(c), depth + 1);
    }
    closedir(dir);
}

/* In the child. What goes wrong before the command runs is told through the pipe. */
static void become(const struct place *p, char **argv, int pipe_end, const sigset_t *mask)
{
    struct err err = {0};
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (place_bind_thread(p, 0, &err)) {
        execvp(argv[0], argv);
        err_set(&err, STATUS_FAILED, "%s: %s", argv[0], strerror(errno));
    }
    ssize_t n = write(pipe_end, &err, sizeof(err));
    _exit(n == sizeof(err) ? 127 : 126);
}

/* Waits for the command, counting every tenth of a second. */
static int watch_over(struct watch *w, pid_t pid, const sigset_t *signals)
{
    const struct timespec tick = {.tv_nsec = TICK_NS};
    for (;;) {
        int status, sig = sigtimedwait(signals, NULL, &tick);
        if (sig == SIGTERM || sig == SIGHUP)
            kill(pid, sig);
        count_process(w, pid, 0);
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
}

bool place_exec(struct place *p, char **argv, uint64_t *cpu_hits, unsigned cpus_n, int *status,
                struct err *err)
{
    struct watch w = {.hits = cpu_hits, .cpus_n = cpus_n};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return err_set(err, STATUS_FAILED, "pipe: %s", strerror(errno));
    sigset_t signals, before;
    end_signals(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGQUIT);
    sigprocmask(SIG_BLOCK, &signals, &before);
    place_edge(p, 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become(p, argv, ends[1], &before);
    close(ends[1]);
    struct err told;
    bool ok = pid > 0 || err_set(err, STATUS_FAILED, "fork: %s", strerror(errno));
    if (ok && read(ends[0], &told, sizeof(told)) == sizeof(told)) {
        ok = false;
        if (err)
            *err = told;
    }
    close(ends[0]);
    if (pid > 0)
        *status = watch_over(&w, pid, &signals);
    place_edge(p, 1);
    /* One that came too late for the command must not kill this process before its record is out.
     */
    while (sigtimedwait(&signals, NULL, &(struct timespec){0}) > 0)
        ;
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(w.tasks);
    return ok;
}
