#define _GNU_SOURCE
#include "end_signals.h"

#include <stddef.h>

void end_signals(sigset_t *set)
{
    struct sigaction hup;
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    /* Blocked, an ignored signal would be delivered all the same. */
    if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN)
        sigaddset(set, SIGHUP);
}
