/* Writing a file of real data, for reading later. */
#ifndef NUMALOAD_PREPARE_H
#define NUMALOAD_PREPARE_H

#include "../profile.h"

/* Writes profile.size bytes of pattern (pattern.h) to profile.path with profile.threads threads,
 * syncs, and leaves PATH.numaload beside it (JSON: bytes, salt, block_bytes) that says what was
 * written. A file that is there without such a note is somebody's and is not overwritten. */
bool prepare_file(const struct profile *p, struct err *err);

#endif
