/* The signals that ask a run to end early and keep what it measured: SIGINT, SIGTERM and SIGHUP
 * (the terminal or the connection is gone). A SIGHUP that was ignored when the program began, as
 * nohup(1) does, is none of them and stays ignored. */
#ifndef NUMALOAD_END_SIGNALS_H
#define NUMALOAD_END_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Fills the set. To be asked before anything changes what SIGHUP does. */
void end_signals(sigset_t *set);

/* The wishes to end that came: to this process itself, and through its parent (front.h), which
 * passes on what it gets. */
struct end_wishes {
    unsigned n[2];
    uint64_t last_ns[2];
};

/* Counts a signal that was taken. True when it is a second wish, and the process is to end at once:
 * Ctrl-C and timeout(1) reach this process and its parent, so that one wish comes both ways, the
 * second time as late as a busy machine likes; two that come the same way within 200 ms are one as
 * well. */
bool end_wish_again(struct end_wishes *w, const siginfo_t *info, uint64_t now_ns);

#endif
