/* Where completions were handled in a window, told by what was freed where.
 *
 * Each page of an NFS read has an object of the slab cache, and the completion frees it: the
 * per-CPU fields of free_fastpath and free_slowpath say on which node.
 *
 * The rule. Where the masks of work queues decide (soft devices, or the key unbound), the workers
 * run only there, so at least min-share-percent of the frees must be on the nodes asked for; less
 * makes the window invalid. Where interrupts decide, the kernel's workers follow them as a tendency
 * only (78 to 88 % have been seen): the rule is then on the interrupts (the levers cq and
 * comp_vector), and the share of frees stands beside it. */
#ifndef NUMALOAD_COMPLETIONS_H
#define NUMALOAD_COMPLETIONS_H

#include "../../placement/place.h"

#include <jansson.h>

/* From the window's "slab"; adds a note when the rule is broken. New reference. */
json_t *completions_of_window(const json_t *window, const struct place *place, json_t *notes);

#endif
