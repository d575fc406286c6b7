/* When the work on a run began: the launch of the program, or in a process that runs several
 * (elbencho's phases), the end of the run before. CLOCK_MONOTONIC, ns. */
#ifndef NUMALOAD_LAUNCH_H
#define NUMALOAD_LAUNCH_H

#include <stdint.h>

/* First thing in main(), and in a process that is forked for a run. */
void launch_now(void);

/* The time of the last launch_now(); the present where nobody called it. */
uint64_t launch_ns(void);

#endif
