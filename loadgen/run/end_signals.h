/* The signals that ask a run to end early and keep what it measured: SIGINT, SIGTERM and SIGHUP
 * (the terminal or the connection is gone). A SIGHUP that was ignored when the program began, as
 * nohup(1) does, is none of them and stays ignored. */
#ifndef NUMALOAD_END_SIGNALS_H
#define NUMALOAD_END_SIGNALS_H

#include <signal.h>

/* Fills the set. To be asked before anything changes what SIGHUP does. */
void end_signals(sigset_t *set);

#endif
