/* Records from files and folders, read by as many threads as there are CPUs. */
#ifndef NUMALOAD_REPORT_FOLDER_H
#define NUMALOAD_REPORT_FOLDER_H

#include "../../placement/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct folder {
    const json_t **records;
    size_t n;
    size_t folders; /* how many of the paths are folders */
    json_t *plan;   /* of the first folder that has one, or NULL */
};

/* A path that is no folder must be a record; of a folder, what is no record is named on stderr and
 * left out, and plan.json is the plan. Several records are slimmed (view_slim). Free with
 * folder_free in any case. */
bool folder_read(struct folder *f, const char *const *paths, size_t paths_n, struct err *err);
void folder_free(struct folder *f);

#endif
