/* Figures of a window by name: what statements and comparisons are about. */
#ifndef NUMALOAD_METRIC_H
#define NUMALOAD_METRIC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct metric {
    const char *name;
    const char *path; /* in a window of a record */
    const char *help; /* with the unit */
};

/* bytes_per_s, remote_free_share, ...; ends with a NULL name. Besides these:
 *   slab.COUNTER         a counter of the slab cache, e.g. slab.barn_put_fail
 *   slab_per_gib.COUNTER the same per GiB read
 *   idle_percent.NODE    of the CPUs of one node */
extern const struct metric metrics[];

bool metric_known(const char *name);

/* The known name nearest to one that is not, or NULL. */
const char *metric_nearest(const char *name);

/* The figure in a window; NAN when the window lacks it. */
double metric_value(const json_t *window, const char *name);

#endif
