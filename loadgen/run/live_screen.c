#define _GNU_SOURCE
#include "live_screen.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENTER "\033[?1049h\033[?25l\033[H\033[2J"
#define LEAVE "\033[?25h\033[?1049l"

/* Signals that end or stop a process by default. end_signals are the run's own business. */
static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT, SIGTSTP};
enum { DEADLY = sizeof(deadly) / sizeof(*deadly) };

static _Atomic bool entered;
static struct sigaction former[DEADLY];
static pid_t watcher = -1;

static void put(const char *text, size_t len)
{
    while (len) {
        ssize_t n = write(STDERR_FILENO, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        text += n;
        len -= (size_t)n;
    }
}

bool live_screen_possible(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && (!term || strcmp(term, "dumb") != 0);
}

static void on_signal(int number)
{
    int saved = errno;
    if (number == SIGTSTP) { /* stop like everybody else, but on the ordinary screen */
        put(LEAVE, sizeof(LEAVE) - 1);
        raise(SIGSTOP);
        put(ENTER, sizeof(ENTER) - 1);
        errno = saved;
        return;
    }
    if (atomic_exchange(&entered, false))
        put(LEAVE, sizeof(LEAVE) - 1);
    for (int i = 0; i < DEADLY; i++)
        if (deadly[i] == number)
            sigaction(number, &former[i], NULL);
    raise(number); /* delivered on return, to whoever handled it before */
    errno = saved;
}

/* Lives until its parent is gone, which SIGKILL can bring about as well. */
static void watch_parent(pid_t parent)
{
    sigset_t all;
    int number = 0;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, "numaload-screen");
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
    if (getppid() == parent)
        while (sigwait(&all, &number) || number != SIGUSR1)
            ;
    put(LEAVE, sizeof(LEAVE) - 1);
    _exit(0);
}

void live_screen_enter(void)
{
    static bool registered;
    pid_t parent = getpid();
    watcher = fork();
    if (watcher == 0)
        watch_parent(parent);
    struct sigaction act = {.sa_handler = on_signal};
    sigfillset(&act.sa_mask);
    for (int i = 0; i < DEADLY; i++)
        sigaction(deadly[i], &act, &former[i]);
    if (!registered)
        atexit(live_screen_leave);
    registered = true;
    atomic_store(&entered, true);
    put(ENTER, sizeof(ENTER) - 1);
}

void live_screen_leave(void)
{
    if (!atomic_exchange(&entered, false))
        return;
    put(LEAVE, sizeof(LEAVE) - 1);
    for (int i = 0; i < DEADLY; i++)
        sigaction(deadly[i], &former[i], NULL);
    if (watcher > 0) {
        kill(watcher, SIGKILL);
        waitpid(watcher, NULL, 0);
        watcher = -1;
    }
}

void live_screen_size(unsigned *columns, unsigned *rows)
{
    struct winsize size = {0};
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;
    *columns = known ? size.ws_col : 80;
    *rows = known ? size.ws_row : 24;
}

void live_screen_draw(char *const *lines, size_t n)
{
    unsigned columns, rows;
    live_screen_size(&columns, &rows);
    size_t shown = n < rows ? n : rows;
    /* Each line with its end-of-line, plus the moves around all of them. */
    char *text = malloc(shown * (columns + 8) + 16), *p = text;
    if (!text || !atomic_load(&entered)) {
        free(text);
        return;
    }
    p = stpcpy(p, "\033[H");
    for (size_t i = 0; i < shown; i++) {
        size_t width = 0;
        /* The last column stays free: terminals differ in what a full line does to the next. */
        for (const char *c = lines[i]; *c && width + 1 < columns; c++, width++)
            *p++ = (unsigned char)*c >= 0x20 && (unsigned char)*c < 0x7f ? *c : '?';
        p = stpcpy(p, i + 1 < shown ? "\033[K\r\n" : "\033[K");
    }
    p = stpcpy(p, "\033[J");
    put(text, (size_t)(p - text));
    free(text);
}
