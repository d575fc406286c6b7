/* What levers share whose values are CPU masks in files (work queues, rps, xps). */
#ifndef NUMALOAD_MASKS_H
#define NUMALOAD_MASKS_H

#include "lever.h"

struct masks {
    struct lever base;
    hwloc_bitmap_t want; /* NULL when nothing was asked for */
};

/* A mask as a list, for people; the text itself when it is not a mask. Caller frees. */
char *mask_as_list(const char *mask);
json_t *mask_as_json(const char *mask);

/* Adds the file as a value that is written when its mask is not `want` already; want NULL: watched
 * only. 0 or -errno. */
int masks_add(struct masks *l, const char *path);

/* For a live machine: refuses when a file that would be written cannot be, saying what it needs. */
bool masks_writable(const struct masks *l, struct err *err);

/* Writes all; a refusal by the kernel of the first `needed` values is a failure, later ones are
 * left in the values' error. */
bool masks_apply(struct place *p, struct masks *l, size_t needed, struct err *err);

/* reached, reason and observed from the masks at the window's edges. */
void masks_observe(const struct masks *l, const struct lever_window *w, struct lever_seen *out);

void masks_release(struct lever *l);

#endif
