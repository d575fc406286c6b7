#include "live.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static bool shown;

void live_line(const char *fmt, ...)
{
    if (!isatty(STDERR_FILENO))
        return;
    va_list ap;
    va_start(ap, fmt);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, fmt, ap);
    fflush(stderr);
    va_end(ap);
    shown = true;
}

void live_clear(void)
{
    if (shown)
        fputs("\r\033[K", stderr);
    shown = false;
}

void live_say(const char *fmt, ...)
{
    live_clear();
    va_list ap;
    va_start(ap, fmt);
    fputs("numaload: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}
