/* What only the driver knows of a device (internal to the library). */
#ifndef NUMALOAD_VERBS_QUERY_H
#define NUMALOAD_VERBS_QUERY_H

#include "device.h"

/* Fills limits and the active MTU of every port, or limits_reason. */
void query_device(struct verbs_device *d);

#endif
