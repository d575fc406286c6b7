/* What the system allows this process: locked memory and descriptors. */
#ifndef NUMALOAD_LIMITS_H
#define NUMALOAD_LIMITS_H

#include "crew.h"

/* Whether the buffers of a crew may be registered with io_uring: they count as locked memory
 * (RLIMIT_MEMLOCK). When not, a warning among the notes says how much is needed. */
bool limits_may_register(const struct crew *crew, json_t *notes);

/* Descriptors that a run over so many files may have open. */
uint64_t limits_descriptors_needed(const struct profile *p, unsigned files_n);

/* Raises the soft limit of descriptors to that; false when the hard one forbids it. */
bool limits_descriptors(const struct profile *p, unsigned files_n, struct err *err);

/* Lets samplers keep files open (kept_allow) with what is left of the descriptors. */
void limits_allow_kept(const struct profile *p, unsigned files_n);

#endif
