/* Any bytes as the kernel's answer to a request for sums over the threads of a process. */
#include "../../loadgen/record/taskstats.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void *message = malloc(size ? size : 1); /* aligned, and as long as it is */
    if (!message)
        return 0;
    if (size)
        memcpy(message, data, size);
    struct taskstats_sums sums;
    uint32_t sequence = 0;
    if (size >= 12)
        memcpy(&sequence, data + 8, sizeof(sequence)); /* nlmsg_seq */
    taskstats_family(message, size);
    taskstats_parse(message, size, sequence, &sums);
    free(message);
    return 0;
}
