#define _GNU_SOURCE
#include "live.h"

#include "live_screen.h"

#include "../../placement/text.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A broken run may have one thing to say a thousand times. */
#define KEPT_MAX (64 << 10)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool shown;           /* the line, on the ordinary screen */
static bool screen, painted; /* the full-screen view is up; and somebody paints it */
static char line[256], said[256];
static char *kept; /* sentences for after the view */

void live_line(const char *fmt, ...)
{
    if (!isatty(STDERR_FILENO))
        return;
    va_list ap;
    va_start(ap, fmt);
    pthread_mutex_lock(&lock);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    if (!screen) {
        fprintf(stderr, "\r\033[K%s", line);
        fflush(stderr);
        shown = true;
    } else if (!painted) {
        live_screen_draw(&(char *){line}, 1);
    }
    pthread_mutex_unlock(&lock);
}

/* Under lock. */
static void clear(void)
{
    if (shown)
        fputs("\r\033[K", stderr);
    shown = false;
    line[0] = '\0';
}

void live_clear(void)
{
    pthread_mutex_lock(&lock);
    clear();
    pthread_mutex_unlock(&lock);
}

void live_say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    pthread_mutex_lock(&lock);
    if (screen) {
        char *text = NULL;
        if (vasprintf(&text, fmt, ap) < 0)
            text = NULL;
        snprintf(said, sizeof(said), "%s", text ? text : "");
        if (text && (!kept || strlen(kept) < KEPT_MAX))
            text_append(&kept, "numaload: %s\n", text);
        free(text);
    } else {
        clear();
        fputs("numaload: ", stderr);
        vfprintf(stderr, fmt, ap);
        fputc('\n', stderr);
    }
    pthread_mutex_unlock(&lock);
    va_end(ap);
}

void live_screen_begin(void)
{
    pthread_mutex_lock(&lock);
    clear();
    fflush(stderr);
    screen = true;
    pthread_mutex_unlock(&lock);
    live_screen_enter();
}

void live_screen_end(void)
{
    live_screen_leave();
    pthread_mutex_lock(&lock);
    screen = painted = false;
    if (kept)
        fputs(kept, stderr);
    free(kept);
    kept = NULL;
    said[0] = line[0] = '\0';
    pthread_mutex_unlock(&lock);
}

void live_texts(char *line_out, size_t line_cap, char *said_out, size_t said_cap)
{
    pthread_mutex_lock(&lock);
    painted = true;
    snprintf(line_out, line_cap, "%s", line);
    snprintf(said_out, said_cap, "%s", said);
    pthread_mutex_unlock(&lock);
}
