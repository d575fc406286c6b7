/* Writing files of real data, for reading later. */
#ifndef NUMALOAD_PREPARE_H
#define NUMALOAD_PREPARE_H

#include "../profile.h"

struct prepared {
    unsigned files;
    uint64_t bytes;
    uint64_t ns; /* from the first write to the end of the last fsync */
};

/* Writes profile.size bytes of pattern (pattern.h) to every file of profile.path with the profile's
 * threads, engine and iodepth, syncs, and leaves a note beside each (datanote.h). A file that is
 * there without a note is somebody's and is refused, unless allow-overwrite. end_signals end
 * it early, as an error; the notes say then that the files are not whole. */
bool prepare_files(struct profile *p, struct prepared *done, struct err *err);

#endif
