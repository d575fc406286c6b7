/* The full-screen view as lines of text: what matters most is at the top, so that a small terminal
 * loses the rest. */
#ifndef NUMALOAD_LIVE_PAINT_H
#define NUMALOAD_LIVE_PAINT_H

#include "live_meter.h"

/* Draws the present rates. */
void live_paint(const struct live_meter *m, const struct profile *p);

/* The lines for a screen of that size, into `lines` (room for `rows`); returns how many. Each is
 * the caller's to free. `status` and `message` may be "". */
size_t live_paint_lines(const struct live_meter *m, const struct profile *p, const char *status,
                        const char *message, unsigned columns, unsigned rows, char **lines);

#endif
