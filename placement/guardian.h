/* A process in a session of its own that puts everything back when its owner ends in any way,
 * SIGKILL included.
 *
 * It watches the owner through a pidfd (pidfd_open(2); where the kernel has none, through the end
 * of its socket) and survives SIGINT, SIGTERM and SIGHUP, as a terminal's Ctrl-C or a closed
 * session must not take it away. It holds none of the owner's files but the lock of the journal. */
#ifndef NUMALOAD_GUARDIAN_H
#define NUMALOAD_GUARDIAN_H

#include "err.h"

struct guardian {
    int socket; /* -1: none is running */
};

/* A descriptor that reads as ended when whoever started this process is gone, kept by the caller.
 * An owner whose threads cannot be killed does not end when it is killed: 3 s after the end of this
 * descriptor the guardian stops waiting for it and puts everything back. */
void guardian_lifeline(int fd);

/* Starts it for this process. `dir` is the journal's, absolute; `lock_fd` is kept open by the
 * guardian. What it puts back is written to guardian.log in `dir`. */
bool guardian_start(struct guardian *g, const char *dir, int lock_fd, struct err *err);

/* Sends it away without restoring anything, and waits until it is gone (and its lock with it). */
void guardian_dismiss(struct guardian *g);

#endif
