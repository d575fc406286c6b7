/* What a scripted peer of a transport need not do: flush, release, arm, and descriptors to wait
 * for. */
#ifndef NUMALOAD_PEER_QUIET_H
#define NUMALOAD_PEER_QUIET_H

#include "../../verbs/transport.h"

static bool peer_flush(struct transport *t, struct err *err)
{
    (void)t;
    (void)err;
    return true;
}

static bool peer_release(struct transport *t, const struct transport_msg *msgs, unsigned n,
                         struct err *err)
{
    (void)t;
    (void)msgs;
    (void)n;
    (void)err;
    return true;
}

static bool peer_arm(struct transport *t, struct err *err)
{
    (void)t;
    (void)err;
    return true;
}

static unsigned peer_fds(const struct transport *t, struct pollfd *fds)
{
    (void)t;
    (void)fds;
    return 0;
}

#endif
