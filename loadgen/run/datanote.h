/* The note beside a file that numaload wrote, PATH.numaload (JSON: bytes, salt, block_bytes): what
 * is in it, and that it may be written again. A file without one is somebody's. */
#ifndef NUMALOAD_DATANOTE_H
#define NUMALOAD_DATANOTE_H

#include "../../placement/err.h"

#include <stdint.h>

struct datanote {
    uint64_t bytes; /* from the beginning of the file; 0: begun and not finished */
    uint64_t salt;
};

/* False when there is none, or it cannot be read as one. */
bool datanote_read(const char *path, struct datanote *note);

/* Before the first byte is written, with bytes 0: a file that is cut off is known as numaload's
 * then. Afterwards with what is there. */
bool datanote_write(const char *path, uint64_t bytes, uint64_t salt, uint64_t block_bytes,
                    struct err *err);

/* Takes the note away, if there is one. */
void datanote_remove(const char *path);

#endif
