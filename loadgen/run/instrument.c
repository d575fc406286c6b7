#define _GNU_SOURCE
#include "instrument.h"

#include "live.h"
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define SECOND UINT64_C(1000000000)
#define ACK_MAX_NS (30 * SECOND)
#define END_MAX_NS (60 * SECOND)

enum { ARGS = 24 };

struct kind {
    const char *word;
    const char *args[ARGS]; /* before the control descriptors and the output file */
    bool control;           /* perf's --control: switched at the edges */
    bool data;              /* -o takes binary data that 'perf lock contention' reads */
    const char *install;
};

static const struct kind kinds[] = {
    {"perf-lock",
     {"perf", "lock", "record", "-a", "-g"},
     true,
     true,
     "the package linux-perf, and root or CAP_PERFMON"},
    {"perf-lock-bpf",
     {"perf", "lock", "contention", "-a", "-b"},
     false,
     false,
     "a perf that was built with BPF skeletons, and root"},
    {"perf-stat",
     {"perf", "stat", "-a"},
     true,
     false,
     "the package linux-perf, and root or CAP_PERFMON"},
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

struct instrument {
    const struct kind *kind; /* NULL: a command */
    char *word;
    char output[PATH_MAX], data[PATH_MAX];
    pid_t pid, watcher;
    int go, life;      /* pipes to the command before its exec, and to the watcher */
    int control, acks; /* of perf; -1 */
    bool ended;
    int status; /* of waitpid */
    uint64_t on_ns, off_ns;
    int64_t before_ns, after_ns;
    json_t *lock;
    char lock_reason[160];
};

static const struct kind *find_kind(const char *word)
{
    for (int i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].word, word) == 0)
            return &kinds[i];
    return NULL;
}

static bool is_command(const char *word)
{
    return strncmp(word, "cmd:", 4) == 0 && word[4 + strspn(word + 4, " \t")];
}

bool instrument_check(const char *word, struct err *err)
{
    if (!word || strcmp(word, "none") == 0 || find_kind(word) || is_command(word))
        return true;
    return err_set(err, STATUS_USAGE,
                   "'%s' is not one of: none perf-lock perf-lock-bpf perf-stat cmd:COMMAND", word);
}

static bool name_files(struct instrument *in, const char *record, struct err *err)
{
    size_t n = strlen(record);
    if (n > 5 && strcmp(record + n - 5, ".json") == 0)
        n -= 5;
    if (snprintf(in->output, PATH_MAX, "%.*s.instrument.txt", (int)n, record) >= PATH_MAX ||
        snprintf(in->data, PATH_MAX, "%.*s.instrument.data", (int)n, record) >= PATH_MAX)
        return err_set(err, STATUS_USAGE, "%s: the path is too long", record);
    return true;
}

/* ---- processes ---- */

static void watch(int life, pid_t group)
{
    char byte;
    while (read(life, &byte, 1) < 0 && errno == EINTR)
        ;
    kill(-group, SIGKILL); /* nobody is left once the command has ended */
    _exit(0);
}

_Noreturn static void become(const struct instrument *in, int go, int control, int acks, int out)
{
    char fds[64], byte;
    const char *argv[ARGS] = {"sh", "-c", in->word + 4, NULL};
    setpgid(0, 0);
    if (read(go, &byte, 1) != 1)
        _exit(0);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    if (in->kind) {
        int n = 0;
        memcpy(argv, in->kind->args, sizeof(argv));
        while (argv[n])
            n++;
        if (in->kind->control) {
            snprintf(fds, sizeof(fds), "fd:%d,%d", control, acks);
            fcntl(control, F_SETFD, 0);
            fcntl(acks, F_SETFD, 0);
            argv[n++] = "-D";
            argv[n++] = "-1";
            argv[n++] = "--control";
            argv[n++] = fds;
        }
        if (in->kind->data) {
            argv[n++] = "-o";
            argv[n++] = in->data;
        }
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    execvp(argv[0], (char *const *)argv);
    dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

struct pipes {
    int go[2], life[2], control[2], acks[2], out;
};

static bool make_pipes(struct pipes *p, const char *output, struct err *err)
{
    memset(p, -1, sizeof(*p));
    if (pipe2(p->go, O_CLOEXEC) || pipe2(p->life, O_CLOEXEC) || pipe2(p->control, O_CLOEXEC) ||
        pipe2(p->acks, O_CLOEXEC))
        return err_set(err, STATUS_FAILED, "no pipe for the instrument: %s", strerror(errno));
    p->out = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return p->out >= 0 ||
           err_set(err, STATUS_FAILED, "cannot write the instrument's output to \"%s\": %s", output,
                   strerror(errno));
}

static void close_all(struct pipes *p)
{
    int *fds = (int *)p;
    for (size_t i = 0; i < sizeof(*p) / sizeof(int); i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static bool fork_both(struct instrument *in, struct pipes *p, struct err *err)
{
    in->pid = fork();
    if (in->pid == 0) {
        close(p->go[1]);
        close(p->life[1]);
        close(p->control[1]);
        close(p->acks[0]);
        become(in, p->go[0], p->control[0], p->acks[1], p->out);
    }
    if (in->pid < 0)
        return err_set(err, STATUS_FAILED, "no process for the instrument: %s", strerror(errno));
    setpgid(in->pid, in->pid);
    in->watcher = fork();
    if (in->watcher == 0) {
        setpgid(0, 0); /* what ends the program's group must not end this one */
        close(p->life[1]);
        close(p->go[1]);
        close(p->control[1]);
        watch(p->life[0], in->pid);
    }
    if (in->watcher < 0)
        return err_set(err, STATUS_FAILED, "no process for the instrument: %s", strerror(errno));
    in->go = p->go[1];
    in->life = p->life[1];
    in->control = p->control[1];
    in->acks = p->acks[0];
    p->go[1] = p->life[1] = p->control[1] = p->acks[0] = -1;
    return true;
}

static bool has_ended(struct instrument *in)
{
    if (!in->ended && waitpid(in->pid, &in->status, WNOHANG) == in->pid)
        in->ended = true;
    return in->ended;
}

static bool complain(struct instrument *in, const char *what, struct err *err)
{
    bool missing = in->ended && WIFEXITED(in->status) && WEXITSTATUS(in->status) == 127;
    return err_set(err, missing ? STATUS_SKIP : STATUS_FAILED,
                   "%s %s; what it said is in \"%s\"%s%s", in->word, what, in->output,
                   in->kind ? "; it needs " : "", in->kind ? in->kind->install : "");
}

/* Waits until perf has done what it was told. */
static bool tell(struct instrument *in, const char *order, struct err *err)
{
    uint64_t until = now_ns() + ACK_MAX_NS;
    char got[16];
    if (write(in->control, order, strlen(order)) != (ssize_t)strlen(order))
        return complain(in, "does not listen", err);
    for (;;) {
        struct pollfd p = {.fd = in->acks, .events = POLLIN};
        int n = poll(&p, 1, 20);
        if (n > 0 && (p.revents & POLLIN) && read(in->acks, got, sizeof(got)) > 0)
            return true;
        if (has_ended(in))
            return complain(in, "ended by itself", err);
        if (now_ns() > until)
            return complain(in, "does not answer for 30 s", err);
    }
}

bool instrument_open(struct instrument **out, const char *word, const char *record, struct err *err)
{
    *out = NULL;
    if (!word || strcmp(word, "none") == 0)
        return true;
    if (!record)
        return err_set(err, STATUS_USAGE,
                       "--instrument %s: its output is kept beside the record; give --record FILE",
                       word);
    struct instrument *in = calloc(1, sizeof(*in));
    struct pipes pipes;
    if (!in || !(in->word = strdup(word))) {
        free(in);
        return err_set(err, STATUS_FAILED, "out of memory");
    }
    *in = (struct instrument){
        .kind = find_kind(word), .word = in->word, .go = -1, .life = -1, .control = -1, .acks = -1};
    signal(SIGPIPE, SIG_IGN);
    bool good = name_files(in, record, err) && make_pipes(&pipes, in->output, err);
    if (good) {
        good = fork_both(in, &pipes, err);
        close_all(&pipes);
    }
    if (good && in->kind && in->kind->control)
        good = write(in->go, "", 1) == 1 && tell(in, "ping\n", err);
    if (!good)
        instrument_free(in);
    else
        *out = in;
    return good;
}

bool instrument_begin(struct instrument *in, struct err *err)
{
    if (!in)
        return true;
    in->on_ns = now_ns();
    if (in->kind && in->kind->control)
        return tell(in, "enable\n", err);
    return write(in->go, "", 1) == 1 || complain(in, "cannot be started", err);
}

static bool group_is_there(const struct instrument *in)
{
    return kill(-in->pid, 0) == 0;
}

bool instrument_end(struct instrument *in, struct err *err)
{
    if (!in)
        return true;
    bool good = true;
    if (in->kind && in->kind->control)
        good = tell(in, "disable\n", err);
    else if (has_ended(in))
        good = complain(in, "ended before the window did", err);
    in->off_ns = now_ns();
    if (!in->ended)
        kill(-in->pid, SIGINT);
    return good;
}

void instrument_edges(struct instrument *in, uint64_t first_ns, uint64_t last_ns)
{
    if (!in)
        return;
    in->before_ns = (int64_t)(first_ns - in->on_ns);
    in->after_ns = (int64_t)(in->off_ns - last_ns);
}

/* ---- what it found ---- */

/* Of a process that leads a group: up to END_MAX_NS, then SIGKILL. */
static void wait_end(struct instrument *in)
{
    uint64_t until = now_ns() + END_MAX_NS;
    while (!has_ended(in) && now_ns() < until) {
        live_line("waiting for %s to end", in->word);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    kill(-in->pid, SIGKILL);
    while (!in->ended && waitpid(in->pid, &in->status, 0) < 0 && errno == EINTR)
        ;
    in->ended = true;
}

/* posix_spawn(3) does not copy the page tables of the load's buffers. */
static char *table_of(const struct instrument *in)
{
    char *const argv[] = {(char[]){"perf"}, (char[]){"lock"}, (char[]){"contention"},
                          (char[]){"-i"},   (char *)in->data, NULL};
    char *text = NULL;
    size_t n = 0, cap = 1 << 20;
    int out[2], status;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    if (pipe2(out, O_CLOEXEC))
        return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDERR_FILENO);
    bool good = posix_spawnp(&pid, "perf", &actions, NULL, argv, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    text = good ? malloc(cap) : NULL;
    for (ssize_t got; text && (got = read(out[0], text + n, cap - 1 - n)) > 0;)
        n += (size_t)got;
    close(out[0]);
    if (good)
        waitpid(pid, &status, 0);
    if (text)
        text[n] = '\0';
    return text;
}

static void save_text(const struct instrument *in, const char *text)
{
    FILE *f = fopen(in->output, "ae");
    if (!f)
        return;
    fputs(text, f);
    if (fclose(f))
        live_say("warning: \"%s\" could not be written: %s", in->output, strerror(errno));
}

static bool take_time(const char **at, double *ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    char *end;
    double v = strtod(*at, &end);
    if (end == *at)
        return false;
    end += strspn(end, " ");
    size_t n = strspn(end, "abcdefghijklmnopqrstuvwxyz");
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strlen(units[i].name) != n || strncmp(units[i].name, end, n) != 0)
            continue;
        *ns = v * units[i].ns;
        *at = end + n;
        return v >= 0 && *ns < 1e18;
    }
    return false;
}

/* One row; false for headings and whatever else perf prints. */
static bool take_row(const char *line, const char *end, uint64_t *count, double *wait_ns,
                     char *caller, size_t cap)
{
    char *after;
    double most, mean;
    errno = 0;
    *count = strtoull(line, &after, 10);
    const char *at = after;
    if (after == line || errno || *count > INT64_MAX || !take_time(&at, wait_ns) ||
        !take_time(&at, &most) || !take_time(&at, &mean) || at >= end)
        return false;
    at += strspn(at, " ");
    at += strcspn(at, " \n"); /* type */
    at += strspn(at, " ");
    size_t n = strcspn(at, "+ \n");
    if (n == 0 || n >= cap || at + n > end)
        return false;
    memcpy(caller, at, n);
    caller[n] = '\0';
    return true;
}

json_t *instrument_parse_lock(const char *text)
{
    json_t *callers = json_object();
    uint64_t all = 0;
    double waited = 0;
    for (const char *line = text; *line;) {
        const char *end = line + strcspn(line, "\n");
        char caller[128];
        uint64_t count;
        double ns;
        if (take_row(line, end, &count, &ns, caller, sizeof(caller)) && all + count < INT64_MAX) {
            json_int_t sum = json_integer_value(json_object_get(callers, caller));
            json_object_set_new(callers, caller, json_integer(sum + (json_int_t)count));
            all += count;
            waited += ns;
        }
        line = *end ? end + 1 : end;
    }
    if (all)
        return json_pack("{s:b, s:I, s:f, s:f, s:o}", "available", 1, "contentions",
                         (json_int_t)all, "total_wait_ns", waited, "mean_wait_ns",
                         waited / (double)all, "by_caller", callers);
    json_decref(callers);
    return NULL;
}

static void read_locks(struct instrument *in)
{
    char *text = table_of(in);
    if (text) {
        save_text(in, text);
        in->lock = instrument_parse_lock(text);
    }
    if (!in->lock)
        snprintf(in->lock_reason, sizeof(in->lock_reason),
                 "'perf lock contention' printed no row; see the instrument's output");
    free(text);
    unlink(in->data);
}

json_t *instrument_finish(struct instrument *in)
{
    if (!in)
        return NULL;
    wait_end(in);
    if (in->kind && in->kind->data)
        read_locks(in);
    live_clear();
    bool aligned = in->kind && in->kind->control;
    const char *base = strrchr(in->output, '/');
    return json_pack("{s:s, s:s, s:b, s:I, s:I, s:i}", "name", in->word, "output",
                     base ? base + 1 : in->output, "switched_at_edges", (int)aligned,
                     "on_before_ns", (json_int_t)in->before_ns, "off_after_ns",
                     (json_int_t)in->after_ns, "exit_status",
                     WIFEXITED(in->status) ? WEXITSTATUS(in->status) : 128 + WTERMSIG(in->status));
}

json_t *instrument_lock(const struct instrument *in, unsigned windows)
{
    if (!in || !in->kind || !in->kind->data)
        return NULL;
    if (in->lock && windows == 1) {
        json_t *lock = json_deep_copy(in->lock);
        json_object_set_new(lock, "instrument", json_string(in->word));
        return lock;
    }
    return json_pack("{s:b, s:s}", "available", 0, "reason",
                     in->lock ? "perf looked on over all windows; with windows = 1 its figures are "
                                "those of the window"
                              : in->lock_reason);
}

void instrument_free(struct instrument *in)
{
    if (!in)
        return;
    int status, fds[] = {in->go, in->control, in->acks, in->life};
    if (in->pid > 0 && !in->ended && group_is_there(in)) {
        kill(-in->pid, SIGKILL);
        waitpid(in->pid, &in->status, 0);
    }
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    if (in->watcher > 0)
        waitpid(in->watcher, &status, 0);
    json_decref(in->lock);
    free(in->word);
    free(in);
}
