/* Progress on a terminal, one line that is rewritten, on stderr; nothing elsewhere. */
#ifndef NUMALOAD_LIVE_H
#define NUMALOAD_LIVE_H

/* Shows the line when stderr is a terminal. */
void live_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Takes the line away, before other output. */
void live_clear(void);

/* A sentence on stderr, terminal or not; clears the line first. */
void live_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
