/* Two lines of a slab statistic and their difference. */
#include "../../loadgen/record/slab.h"

#include <stdlib.h>
#include <string.h>

#define CPUS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* an own copy without a NUL behind it, so that reading too far is seen */
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text = realloc(text, size ? size : 1);
    const char *half = memchr(text, '|', size);
    size_t first = half ? (size_t)(half - text) : size;
    const char *second = half ? half + 1 : text + size;
    uint32_t a[CPUS], b[CPUS];
    uint64_t by_cpu[CPUS];
    struct slab_line la, lb;
    bool ok = slab_parse(text, first, a, CPUS, &la);
    ok &= slab_parse(second, size - first - (half ? 1 : 0), b, CPUS, &lb);
    if (ok) {
        struct slab_delta d = slab_subtract(&la, a, &lb, b, CPUS, 1000000000u, by_cpu);
        uint64_t sum = 0;
        for (unsigned i = 0; i < CPUS; i++)
            sum += by_cpu[i];
        if (!d.reset && d.complete && d.total < sum)
            abort();
    }
    free(text);
    return 0;
}
