#include "pattern.h"

#include <endian.h>
#include <string.h>

void pattern_fill(void *buf, size_t bytes, uint64_t offset, uint64_t salt)
{
    char *out = buf;
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t word = htole64(offset + i + salt);
        size_t n = bytes - i < sizeof(word) ? bytes - i : sizeof(word);
        memcpy(out + i, &word, n);
    }
}
