/* Runs any command in a placement and watches where it runs. */
#ifndef NUMALOAD_PLACE_EXEC_H
#define NUMALOAD_PLACE_EXEC_H

#include "../placement/place.h"

/* Starts argv (NULL-terminated, found through PATH) bound as thread 0 of the placement, whose
 * machine-wide levers are applied already, and waits for its end. Edges 0 and 1 of the placement
 * are its start and end. SIGTERM and SIGHUP (unless it is ignored, as
 * by nohup) are passed on; SIGINT and SIGQUIT are left to the
 * command, to which the terminal sends them as well.
 *
 * cpu_hits (cpus_n long) gets the CPU time of the command, its threads and its descendants in clock
 * ticks (proc(5), stat, fields 14, 15 and 39), by the CPU where each was seen when it had used
 * them. Work shorter than a tick leaves no trace.
 *
 * *status gets the command's exit status, 128 + N when signal N ended it. False when it could not
 * be bound or started. */
bool place_exec(struct place *p, char **argv, uint64_t *cpu_hits, unsigned cpus_n, int *status,
                struct err *err);

#endif
