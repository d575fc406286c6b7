#define _GNU_SOURCE
#include "end_signals.h"

#include <stddef.h>
#include <unistd.h>

#define SAME_WISH_NS UINT64_C(200000000)

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

bool end_wish_again(struct end_wishes *w, const siginfo_t *info, uint64_t now_ns)
{
    bool passed_on = info->si_code == SI_USER && info->si_pid == getppid();
    if (w->n[passed_on] && now_ns - w->last_ns[passed_on] <= SAME_WISH_NS)
        return false;
    w->last_ns[passed_on] = now_ns;
    return ++w->n[passed_on] > 1;
}
