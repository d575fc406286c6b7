/* How long a program takes from its launch to its I/O, seen from outside and the same way for all.
 *
 *     first_io THREADS COMMAND [ARGUMENT...]
 *
 * Runs the command, notes when a thread hands I/O to the kernel for the first time (io_submit or
 * io_uring_enter with something to submit), and ends it when THREADS threads have. Prints
 * {"first_s": A, "all_s": B}: until the first thread, and until all. A filter in the kernel
 * (seccomp) picks these calls out; no other call of the program is stopped. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S 300
#define TRACEES_MAX 8192

static pid_t tracees[TRACEES_MAX];
static bool submitted[TRACEES_MAX];
static unsigned tracees_n;

static double now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void die(const char *what)
{
    fprintf(stderr, "first_io: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Both calls have the number of I/Os as their second argument. */
static void filter_submits(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_submit, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_enter, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(*code), .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        die("seccomp");
}

static unsigned tracee(pid_t tid)
{
    unsigned i = 0;
    while (i < tracees_n && tracees[i] != tid)
        i++;
    if (i == TRACEES_MAX) {
        errno = E2BIG;
        die("threads");
    }
    if (i == tracees_n) {
        tracees[tracees_n++] = tid;
        submitted[i] = false;
    }
    return i;
}

/* Its number may be another's from now on. */
static void forget(pid_t tid)
{
    unsigned i = tracee(tid);
    tracees[i] = tracees[--tracees_n];
    submitted[i] = submitted[tracees_n];
}

/* Memory of a program that was ended is free only once it is reaped. */
static void end_all(void)
{
    for (unsigned i = 0; i < tracees_n; i++)
        kill(tracees[i], SIGKILL);
    while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
        ;
}

static void impatient(int sig)
{
    (void)sig;
}

static pid_t launch(char **command)
{
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0))
            die("ptrace");
        raise(SIGSTOP);
        filter_submits();
        execvp(command[0], command);
        die(command[0]);
    }
    if (waitpid(child, NULL, 0) != child ||
        ptrace(PTRACE_SETOPTIONS, child, 0,
               PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE |
                   PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC))
        die("ptrace");
    return child;
}

int main(int argc, char **argv)
{
    unsigned wanted = argc > 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 0, seen = 0;
    if (!wanted) {
        fputs("usage: first_io THREADS COMMAND [ARGUMENT...]\n", stderr);
        return 2;
    }
    /* What the command prints is not the answer. */
    FILE *answer = fdopen(dup(STDOUT_FILENO), "w");
    if (!answer || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        die("stdout");
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = impatient}, NULL);
    pid_t child = launch(argv + 2);
    tracee(child);
    alarm(PATIENCE_S);
    double begin = now(), first = 0, all = 0;
    ptrace(PTRACE_CONT, child, 0, 0);
    while (seen < wanted) {
        int status;
        pid_t tid = waitpid(-1, &status, __WALL);
        if (tid < 0)
            break;
        if (!WIFSTOPPED(status)) {
            forget(tid);
            continue;
        }
        unsigned i = tracee(tid);
        int sig = WSTOPSIG(status), event = status >> 16;
        if (event == PTRACE_EVENT_SECCOMP && !submitted[i]) {
            submitted[i] = true;
            all = now() - begin;
            first = seen++ ? first : all;
        }
        bool ours = event || sig == SIGTRAP || sig == SIGSTOP;
        ptrace(PTRACE_CONT, tid, 0, ours ? 0 : sig);
    }
    int error = errno;
    end_all();
    if (seen == wanted)
        fprintf(answer, "{\"first_s\": %.6f, \"all_s\": %.6f}\n", first, all);
    else
        fprintf(stderr,
                "first_io: %s ended or took more than %d s with %u of %u threads at I/O%s\n",
                argv[2], PATIENCE_S, seen, wanted, error == EINTR ? " (too slow)" : "");
    return seen == wanted ? 0 : 1;
}
