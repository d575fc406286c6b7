/* What 'numaload run' does once its profile is known, for other commands that end in a run. */
#ifndef NUMALOAD_CMD_RUN_H
#define NUMALOAD_CMD_RUN_H

#include "profile.h"

/* Runs a checked profile, saves the record where the profile says and prints the table, or with
 * json the record. Returns the exit status; *record (when not NULL) becomes the caller's. */
int run_and_report(struct profile *p, json_t **record);

/* Says why nothing could be run and, with `json`, prints that as a record. Returns the exit
 * status. */
int run_refused(bool json, const struct err *err);

#endif
