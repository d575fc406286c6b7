/* The terminal's alternate screen on stderr, plain ANSI (ECMA-48 and xterm's 1049), one per
 * process.
 *
 * However the process ends, the terminal is put back: at the end of the run, at exit(), by a
 * handler for signals that end or stop a process, and after SIGKILL by a small child that waits for
 * the death of this one. Terminal modes (echo, line discipline) are never touched. */
#ifndef NUMALOAD_LIVE_SCREEN_H
#define NUMALOAD_LIVE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* Whether stderr can show it: a terminal that is not "dumb". */
bool live_screen_possible(void);

/* Switches to the alternate screen. Forks: call it before threads are started. */
void live_screen_enter(void);

/* Back to what was there before; safe to call at any time, and from a signal handler. */
void live_screen_leave(void);

/* Present size; 80 x 24 when the terminal does not tell. */
void live_screen_size(unsigned *columns, unsigned *rows);

/* Shows `n` lines from the top of the screen, each cut at the width, the rest of the screen empty;
 * lines beyond the last row are left out. Bytes that are not printable ASCII become '?'. */
void live_screen_draw(char *const *lines, size_t n);

#endif
