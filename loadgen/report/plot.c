#define _GNU_SOURCE
#include "plot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Colours that are told apart by people who see colours differently, on white and on black. */
static const char preamble[] =
    "set encoding utf8\n"
    "set terminal svg size 720,360 dynamic noenhanced name '%s' font 'sans-serif,13'\n"
    "set linetype 1 lc rgb '#3b8bd1' lw 2 pt 7\n"
    "set linetype 2 lc rgb '#d9661f' lw 2 pt 5\n"
    "set linetype 3 lc rgb '#2a9d6f' lw 2 pt 9\n"
    "set linetype 4 lc rgb '#c05fa0' lw 2 pt 13\n"
    "set linetype 5 lc rgb '#b8901c' lw 2 pt 11\n"
    "set linetype 6 lc rgb '#7b6fd0' lw 2 pt 15\n"
    "set linetype 7 lc rgb '#4fa3b5' lw 2 pt 6\n"
    "set linetype 8 lc rgb '#9a7b6a' lw 2 pt 4\n"
    "set linetype cycle 8\n"
    "set border 3\n"
    "set tics nomirror\n"
    "set key outside top center horizontal\n";

/* Reads a file that was written by somebody else; NULL when it is empty or memory is out. */
static char *slurp(int fd)
{
    off_t len = lseek(fd, 0, SEEK_END);
    char *text = len > 0 ? malloc((size_t)len + 1) : NULL;
    ssize_t n = text ? pread(fd, text, (size_t)len, 0) : -1;
    if (n <= 0) {
        free(text);
        return NULL;
    }
    text[n] = '\0';
    return text;
}

static bool is_color_value(const char *before, size_t len)
{
    /* fill='black', fill = 'black', stroke="black" */
    return len > 0 && (before[len - 1] == '\'' || before[len - 1] == '"');
}

/* The picture without the prologue, with black as the colour of the text around it. */
static char *adopt(const char *svg)
{
    const char *start = strstr(svg, "<svg"), *p;
    char *out = NULL;
    size_t len;
    FILE *f = start ? open_memstream(&out, &len) : NULL;
    if (!f)
        return NULL;
    for (p = start; *p;) {
        const char *black = strstr(p, "black");
        size_t n = black ? (size_t)(black - p) : strlen(p);
        fwrite(p, 1, n, f);
        p += n;
        if (!black)
            break;
        fputs(is_color_value(p - n, n) ? "currentColor" : "black", f);
        p += strlen("black");
    }
    fclose(f);
    return out;
}

void plot_make(const struct plot *plot, const struct plot_data *data, char **svg, char *reason,
               size_t cap)
{
    char file[] = "/tmp/numaload-plot-XXXXXX", command[128], *raw = NULL;
    *svg = NULL;
    int fd = mkostemp(file, O_CLOEXEC);
    if (fd < 0) {
        snprintf(reason, cap, "no temporary file: %s", strerror(errno));
        return;
    }
    snprintf(command, sizeof(command), "exec gnuplot >%s 2>/dev/null", file);
    void (*old)(int) = signal(SIGPIPE, SIG_IGN);
    FILE *gp = popen(command, "we");
    bool any = false;
    int status = -1;
    if (gp) {
        fprintf(gp, preamble, plot->name);
        any = plot->commands(gp, data);
        status = pclose(gp);
    }
    signal(SIGPIPE, old);
    raw = status == 0 && any ? slurp(fd) : NULL;
    *svg = raw ? adopt(raw) : NULL;
    free(raw);
    close(fd);
    unlink(file);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        snprintf(reason, cap, "gnuplot is not installed (Debian: gnuplot-nox)");
    else if (!any)
        snprintf(reason, cap, "the records have no figures for it");
    else if (!*svg)
        snprintf(reason, cap, "gnuplot failed");
}
