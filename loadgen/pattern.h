/* The data that numaload writes: each aligned 8-byte word holds its own offset in the file plus a
 * salt, little-endian, so that any block can be checked without knowing anything else. elbencho's
 * --verify SALT writes the same. */
#ifndef NUMALOAD_PATTERN_H
#define NUMALOAD_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* Fills bytes (any number; the last word is cut) for the given offset, a multiple of 8. */
void pattern_fill(void *buf, size_t bytes, uint64_t offset, uint64_t salt);

/* The index of the first byte that is not what pattern_fill would have put there; bytes when all
 * are right. */
size_t pattern_check(const void *buf, size_t bytes, uint64_t offset, uint64_t salt);

#endif
