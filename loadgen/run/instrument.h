/* A program that looks on while the load runs: perf, or any command.
 *
 * It changes what it looks at (published: perf lock took 45.5 to 25 GB/s), so a run with one is a
 * run of its own kind, and reports never mix it with others. perf is started before the load and
 * switched on and off at the edges of the measured windows over its control pipe (perf-record(1),
 * --control), with an acknowledgement of each; a command is started and ended there. What they
 * print stays beside the record. */
#ifndef NUMALOAD_INSTRUMENT_H
#define NUMALOAD_INSTRUMENT_H

#include "../../placement/err.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct instrument;

/* Checks the word of the key: none, perf-lock, perf-lock-bpf, perf-stat, cmd:COMMAND. */
bool instrument_check(const char *word, struct err *err);

/* Forks the instrument, *out is NULL for "none". To be called before the load has its memory, for a
 * fork would copy it. `record` is the file that the output stays beside: RECORD without .json, with
 * .instrument.txt. STATUS_SKIP when the program is not installed. */
bool instrument_open(struct instrument **out, const char *word, const char *record,
                     struct err *err);

/* Right before the first window begins, and right after the last has ended. False: it did not come
 * up, or ended by itself; the run is no run under an instrument then. */
bool instrument_begin(struct instrument *in, struct err *err);
bool instrument_end(struct instrument *in, struct err *err);

/* The edges that it should have kept to: how far off it was is recorded. */
void instrument_edges(struct instrument *in, uint64_t first_ns, uint64_t last_ns);

/* Ends it (SIGINT, after 60 s SIGKILL) and waits; perf-lock's data become a table. Then the facts
 * for the record: name, command, output, exit status, distance from the windows. New reference. */
json_t *instrument_finish(struct instrument *in);

/* The "lock" object of a window; windows: how many there were. New reference, NULL when the
 * instrument has nothing to say of locks. */
json_t *instrument_lock(const struct instrument *in, unsigned windows);

/* Ends it without waiting for its result. */
void instrument_free(struct instrument *in);

/* Reads the table of perf-lock(1) contention: rows "contended total-wait max-wait avg-wait type
 * caller", times with units. Callers are summed over their offsets. Returns the lock object without
 * "instrument", or NULL when there is no row. */
json_t *instrument_parse_lock(const char *text);

#endif
