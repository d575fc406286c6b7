/* One run: set up, load, measure in aligned windows, observe, put back, write down. */
#ifndef NUMALOAD_RUN_H
#define NUMALOAD_RUN_H

#include "../profile.h"

#include <jansson.h>

/* Runs the profile and fills the record (made by record_new), always: also after a failure it holds
 * what was measured, "status", "exit_status" and the notes. Returns the exit status. Blocks
 * end_signals while it runs: the first ends the window early, a second ends the process. */
enum status run_execute(const struct profile *p, json_t *record);

#endif
