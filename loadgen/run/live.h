/* Progress on a terminal, one line that is rewritten, on stderr; nothing elsewhere. While the
 * full-screen view is up, the line is its status and sentences wait until it is gone. */
#ifndef NUMALOAD_LIVE_H
#define NUMALOAD_LIVE_H

#include <stddef.h>

/* Shows the line when stderr is a terminal. */
void live_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Takes the line away, before other output. */
void live_clear(void);

/* A sentence on stderr, terminal or not; clears the line first. Thread-safe. */
void live_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The full-screen view begins: call before threads are started. It ends with the terminal as it was
 * and what was said meanwhile below; ending it without a beginning does nothing. */
void live_screen_begin(void);
void live_screen_end(void);

/* The present line and the last sentence, for the view; "" for none. */
void live_texts(char *line, size_t line_cap, char *said, size_t said_cap);

#endif
