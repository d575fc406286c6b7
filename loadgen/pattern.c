#include "pattern.h"

#include <endian.h>
#include <string.h>

#define WORD sizeof(uint64_t)

void pattern_fill(void *buf, size_t bytes, uint64_t offset, uint64_t salt)
{
    char *out = buf;
    size_t whole = bytes / WORD * WORD;
    for (size_t i = 0; i < whole; i += WORD) {
        uint64_t word = htole64(offset + i + salt);
        memcpy(out + i, &word, WORD);
    }
    uint64_t last = htole64(offset + whole + salt);
    memcpy(out + whole, &last, bytes - whole);
}

/* Whole words without a branch in the loop: the compiler makes vectors of it. */
static uint64_t differs(const char *in, size_t whole, uint64_t offset, uint64_t salt)
{
    uint64_t bad = 0;
    for (size_t i = 0; i < whole; i += WORD) {
        uint64_t word;
        memcpy(&word, in + i, WORD);
        bad |= word ^ htole64(offset + i + salt);
    }
    return bad;
}

size_t pattern_check(const void *buf, size_t bytes, uint64_t offset, uint64_t salt)
{
    const char *in = buf;
    size_t whole = bytes / WORD * WORD;
    size_t i = differs(in, whole, offset, salt) ? 0 : whole;
    for (; i < bytes; i += WORD) {
        char right[WORD];
        size_t n = bytes - i < WORD ? bytes - i : WORD;
        pattern_fill(right, n, offset + i, salt);
        for (size_t k = 0; k < n; k++)
            if (in[i + k] != right[k])
                return i + k;
    }
    return bytes;
}
