/* The document of a run: the only source of every report. Keys carry their unit, counts are
 * integers, what is unavailable is null with a reason beside it. schema.json describes it. */
#ifndef NUMALOAD_RECORD_H
#define NUMALOAD_RECORD_H

#include "../../placement/err.h"

#include "skim.h"

#include <jansson.h>

#define RECORD_SCHEMA "numaload-record"
#define RECORD_SCHEMA_VERSION 1

/* A new record with schema, program and started_at filled in and empty notes and windows. */
json_t *record_new(void);

/* Whether there is a folder that record_write can write to: asked before there is anything to lose.
 */
bool record_writable(const char *file, struct err *err);

/* Writes to FILE.tmp.PID, fsync, rename, fsync of the folder: a reader sees the old file or the
 * whole new one. */
bool record_write(const json_t *record, const char *file, struct err *err);

/* Prints the record as one JSON document to stdout; false when stdout cannot take it. */
bool record_print(const json_t *record, struct err *err);

/* Reads a record back. Refuses what is not one, other schema versions included, by name. */
bool record_read(const char *file, json_t **out, struct err *err);

/* The same without the parts that `keep` leaves out (skim.h), which are not checked either: a
 * report on thousands of records needs a tenth of each. */
bool record_read_part(const char *file, const struct skim *keep, json_t **record, struct err *err);

#endif
