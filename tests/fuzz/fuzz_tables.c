/* /proc/net/dev, and "key value" files such as numastat, meminfo and status. */
#include "../../loadgen/record/netdev.h"
#include "../../loadgen/record/proctext.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1);
    memcpy(text, data, size);
    struct netdev devices[4];
    uint64_t value;
    size_t n = netdev_parse(text, size, devices, 4);
    for (size_t i = 0; i < n; i++)
        if (strlen(devices[i].name) >= sizeof(devices[i].name))
            abort();
    text_value(text, size, "MemFree", &value);
    free(text);
    return 0;
}
