/* What a connection and its port say, by the test's will instead of verbs/cm.c. To be included
 * before the file of verbs/ that is under test, once in a program. */
#ifndef NUMALOAD_SCRIPTED_CM_H
#define NUMALOAD_SCRIPTED_CM_H

#define cm_cause scripted_cause
#define cm_lost scripted_lost
#define cm_port_down scripted_port_down
#define cm_close scripted_close
#include "../../verbs/cm.h"

static struct {
    const char *lost; /* why the connection is over; NULL: nothing is known */
    const char *down; /* what cm_port_down says */
    bool removed;     /* the device, as cm_cause says */
    bool closed;      /* cm_close was called */
} script;

const char *scripted_cause(struct cm *cm, bool *removed)
{
    (void)cm;
    *removed = script.removed;
    return script.lost;
}

const char *scripted_lost(struct cm *cm)
{
    (void)cm;
    return script.lost;
}

const char *scripted_port_down(struct cm *cm)
{
    (void)cm;
    return script.down;
}

void scripted_close(struct cm *cm)
{
    (void)cm;
    script.closed = true;
}

#endif
