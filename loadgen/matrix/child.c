#define _GNU_SOURCE
#include "child.h"

#include "series.h"

#include "../label.h"
#include "../record/notes.h"
#include "../record/record.h"
#include "../run/launch.h"
#include "../run/live.h"
#include "../run/run.h"
#include "../run/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAID_DONE = 'd', SAID_FULL = 'f', SAID_WHY = 'w' };

static void tell(int fd, char what, const char *text)
{
    char message[1024];
    int n = snprintf(message, sizeof(message), "%c%.1000s", what, text);
    if (write(fd, message, (size_t)n) != n)
        live_say("error: %s", text);
}

_Noreturn static void run_here(const struct profile *p, json_t *matrix, const char *folder,
                               const char *file, int fd)
{
    struct err err = {0};
    bool full = false;
    json_t *record = record_new();
    json_object_set_new(record, "profile", profile_json(p));
    label_set(record, p);
    json_object_set(record, "matrix", matrix);
    struct profile with_file = *p; /* an instrument's output stays beside the record */
    with_file.record = (char *)file;
    enum status status = run_execute(&with_file, record);
    live_clear();
    if (!series_write(folder, record, file, &full, &err))
        tell(fd, SAID_WHY, err.text);
    else
        tell(fd, full ? SAID_FULL : SAID_DONE, "");
    fflush(NULL);
    _exit((int)status);
}

bool child_start(struct child *c, const struct profile *p, json_t *matrix, const char *folder,
                 const char *file, struct err *err)
{
    int fds[2];
    pid_t parent = getpid();
    if (pipe2(fds, O_CLOEXEC))
        return err_set(err, STATUS_FAILED, "no pipe: %s", strerror(errno));
    live_clear();
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) {
        err_set(err, STATUS_FAILED, "no process for the run: %s", strerror(errno));
        close(fds[0]);
        close(fds[1]);
        return false;
    }
    if (pid == 0) {
        launch_now();
        close(fds[0]);
        signal(SIGPIPE, SIG_IGN);
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(STATUS_FAILED);
        run_here(p, matrix, folder, file, fds[1]);
    }
    setpgid(pid, pid);
    close(fds[1]);
    *c = (struct child){.pid = pid, .pipe = fds[0]};
    return true;
}

static void hear(struct child *c)
{
    struct pollfd p = {.fd = c->pipe, .events = POLLIN};
    if (c->said[0] || poll(&p, 1, 0) <= 0)
        return;
    ssize_t n = read(c->pipe, c->said, sizeof(c->said) - 1);
    c->said[n > 0 ? n : 0] = '\0';
}

bool child_ended(struct child *c, bool *hangs)
{
    siginfo_t info = {0};
    *hangs = false;
    hear(c);
    if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == c->pid)
        return true;
    if (c->said[0] && c->said_ns == 0)
        c->said_ns = now_ns();
    *hangs = c->said_ns && now_ns() - c->said_ns > CHILD_HANGS_NS;
    return *hangs;
}

void child_reap(struct child *c, bool hangs, struct child_end *end)
{
    int status = 0;
    *end = (struct child_end){.recorded = true, .hangs = hangs};
    if (!hangs)
        while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
            ;
    hear(c);
    close(c->pipe);
    end->status = hangs                 ? STATUS_FAILED
                  : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                        : WEXITSTATUS(status);
    end->full = c->said[0] == SAID_FULL;
    if (c->said[0] == SAID_WHY) {
        end->recorded = false;
        snprintf(end->why, sizeof(end->why), "%s", c->said + 1);
    } else if (!hangs && WIFSIGNALED(status)) {
        end->recorded = false;
        snprintf(end->why, sizeof(end->why), "the run was ended by signal %d (%s)",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
}
