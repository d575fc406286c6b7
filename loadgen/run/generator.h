/* Was the generator itself the limit? When its threads want more CPU than they get, completions lie
 * there unreaped and I/Os begin late, and a slow client is read as a slow server. */
#ifndef NUMALOAD_GENERATOR_H
#define NUMALOAD_GENERATOR_H

#include <jansson.h>

/* Adds a warning to notes when the threads of a window were runnable but without a CPU for more
 * than a twentieth of the window, and for more than a fifth of the time that they wanted one; else
 * when completions may have lain unreaped for more than a fifth of the mean latency. Reads the
 * window's "sched", "submission", "latency" and "window_ns"; says nothing where these are
 * unavailable. */
void generator_note(const json_t *window, json_t *notes);

#endif
