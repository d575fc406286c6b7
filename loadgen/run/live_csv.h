/* A file of comma-separated values that grows while the run goes on (--livecsv).
 *
 * Whatever happens to the file, the run is not disturbed: a full disk or a closed pipe is said once
 * and ends the file; a pipe that nobody empties costs lines, which are counted. */
#ifndef NUMALOAD_LIVE_CSV_H
#define NUMALOAD_LIVE_CSV_H

#include "../../placement/err.h"

#include <stddef.h>
#include <stdint.h>

struct live_csv {
    const char *path;
    int fd;         /* -1: not open, or over */
    char *rest;     /* of a line that a pipe took in part, or NULL */
    uint64_t lines; /* written, without the header */
    uint64_t lost;  /* dropped, because a pipe was full */
    int error;      /* errno that ended it, or 0 */
};

/* Creates or empties the file. A named pipe must have a reader. */
bool live_csv_open(struct live_csv *c, const char *path, struct err *err);

/* Takes one line with its newline. Call with SIGPIPE blocked or ignored. */
void live_csv_header(struct live_csv *c, const char *line);
void live_csv_line(struct live_csv *c, const char *line);

void live_csv_close(struct live_csv *c);

#endif
