/* What a run is called in tables. */
#ifndef NUMALOAD_LABEL_H
#define NUMALOAD_LABEL_H

#include "profile.h"

#include <jansson.h>

/* Sets "label" of a record: the profile's, else "workload / CQs" in short words (node0 / node1). */
void label_set(json_t *record, const struct profile *p);

#endif
