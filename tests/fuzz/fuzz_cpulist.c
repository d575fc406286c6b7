/* A list that is taken says the same after it was written and read again. */
#include "fuzz_text.h"

#include "../../placement/set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err;
    char *text = fuzz_text(data, size);
    hwloc_bitmap_t set = hwloc_bitmap_alloc(), again = hwloc_bitmap_alloc();
    if (set_parse(set, text, &err)) {
        must(hwloc_bitmap_last(set) <= (int)SET_ID_MAX);
        char *written = set_format(set);
        must(set_parse(again, written, &err));
        must(hwloc_bitmap_isequal(set, again));
        free(written);
    } else {
        must(hwloc_bitmap_iszero(set) && err.text[0]);
    }
    hwloc_bitmap_free(set);
    hwloc_bitmap_free(again);
    free(text);
    return 0;
}
