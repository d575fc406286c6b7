/* /proc/stat and /proc/PID/stat. */
#include "../../loadgen/record/proctext.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1);
    memcpy(text, data, size);
    struct cpu_times cpus[8];
    unsigned beyond;
    procstat_parse(text, size, cpus, 8, &beyond);
    struct task_stat task;
    if (taskstat_parse(text, size, &task) && strlen(task.comm) >= sizeof(task.comm))
        abort();
    free(text);
    return 0;
}
