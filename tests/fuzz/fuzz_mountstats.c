/* /proc/PID/mountstats: the path is what stands before the first NUL. */
#include "../../loadgen/record/mountstats.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    if (!nul)
        return 0;
    size_t path_len = (size_t)(nul - data), len = size - path_len - 1;
    char *text = malloc(len ? len : 1);
    memcpy(text, nul + 1, len);
    struct mount_stats m;
    char value[16];
    if (mountstats_find(text, len, (const char *)data, &m)) {
        if (strlen(m.options) >= sizeof(m.options) || strlen(m.mountpoint) >= sizeof(m.mountpoint))
            abort();
        mount_option(m.options, "rsize", value, sizeof(value));
    }
    free(text);
    return 0;
}
