/* The workers as a whole: started, waited for, let go, drained. Used by one coordinator thread. */
#ifndef NUMALOAD_CREW_H
#define NUMALOAD_CREW_H

#include "worker.h"

/* Called by the waiting functions a few times a second; returning false gives up the wait. */
typedef bool (*crew_poll)(void *arg);

enum crew_wait { CREW_OK, CREW_GAVE_UP, CREW_FAILED, CREW_HUNG };

/* Fills the crew's derived fields and starts its workers; waits until all are set up. On
 * CREW_FAILED err holds the first worker's complaint. The workers that were started wait for
 * crew_go or crew_giveup in every case. */
enum crew_wait crew_start(struct crew *crew, struct worker *workers, crew_poll poll, void *arg,
                          struct err *err);

void crew_go(struct crew *crew);

/* Sends workers home that wait to begin. */
void crew_giveup(struct crew *crew);

/* After the phase was set to the drain (or after crew_giveup): waits until every worker is over.
 * CREW_HUNG when for hung_ns no I/O came back. */
enum crew_wait crew_drain(struct crew *crew, struct worker *workers, uint64_t hung_ns,
                          crew_poll poll, void *arg);

/* The first failed worker's error, or NULL. */
const struct err *crew_error(const struct crew *crew, const struct worker *workers);

/* Joins and frees; only when no worker hangs. */
void crew_free(struct crew *crew, struct worker *workers);

#endif
