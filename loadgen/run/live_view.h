/* What can be watched while a run goes on: the full-screen view (--live) and the file of values
 * (--livecsv). One thread of its own looks once a second; the run does not wait for it, and what it
 * costs is in the record. */
#ifndef NUMALOAD_LIVE_VIEW_H
#define NUMALOAD_LIVE_VIEW_H

#include "worker.h"

#include <jansson.h>

struct live_view;

/* Opens what the profile asks for: the screen at once, so that setting up shows there too. *out is
 * NULL when nothing was asked for. Forks: call it before threads are started. Errors: the file
 * cannot be written. */
bool live_view_open(struct live_view **out, const struct profile *p, struct err *err);

/* Starts watching, once all workers are set up. NULL is allowed. */
void live_view_watch(struct live_view *v, const struct crew *crew, const struct worker *workers,
                     const struct topo *topo);

/* Ends the view, puts the terminal back and frees v (NULL is allowed). Returns the "live" object of
 * the record: what was written, the CPU time it took, and what went wrong; NULL without a view. */
json_t *live_view_close(struct live_view *v);

#endif
