/* What the fuzz targets share: the input as a text, and a check that survives NDEBUG. */
#ifndef NUMALOAD_FUZZ_TEXT_H
#define NUMALOAD_FUZZ_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        abort();
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

static inline void must(int condition)
{
    if (!condition)
        abort();
}

#endif
