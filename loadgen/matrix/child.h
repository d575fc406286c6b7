/* One run of a matrix in a process of its own: a run that crashes takes only itself along, and
 * leaves what it moved to its guardian. */
#ifndef NUMALOAD_MATRIX_CHILD_H
#define NUMALOAD_MATRIX_CHILD_H

#include "../profile.h"

#include <jansson.h>
#include <sys/types.h>

/* How long a child may take to end after its record is written. */
#define CHILD_HANGS_NS UINT64_C(5000000000)

struct child {
    pid_t pid;
    int pipe;        /* one message, once the record is written or cannot be */
    char said[1024]; /* that message */
    uint64_t said_ns;
};

struct child_end {
    int status;     /* exit status, or 128 + the signal that killed it */
    bool recorded;  /* the record is in its file */
    bool hangs;     /* its threads sleep uninterruptibly: it was left behind */
    bool full;      /* it was written only after the reserve was given up */
    char why[1024]; /* why it was not recorded */
};

/* Forks a child that runs p and writes the record, with "matrix" (a reference is taken), to `file`
 * in `folder`. It is in a process group of its own, so that Ctrl-C reaches it through the parent
 * only; when the parent dies it ends its run early. end_signals must be blocked. */
bool child_start(struct child *c, const struct profile *p, json_t *matrix, const char *folder,
                 const char *file, struct err *err);

/* Whether there is nothing more to wait for: it ended, or (*hangs) its record is written for
 * CHILD_HANGS_NS and it does not end, because a server does not answer its threads' requests. */
bool child_ended(struct child *c, bool *hangs);

/* Takes in how it ended, after child_ended. One that hangs is left behind. */
void child_reap(struct child *c, bool hangs, struct child_end *end);

#endif
