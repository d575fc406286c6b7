/* What 'perf lock contention' prints. */
#include "../../loadgen/run/instrument.h"
#include "fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    json_t *lock = instrument_parse_lock(text);
    if (lock && !json_is_integer(json_object_get(lock, "contentions")))
        abort();
    json_decref(lock);
    free(text);
    return 0;
}
