/* /proc/self/limits and lines of /proc/self/cgroup: a folder that is found lies in the text. */
#include "fuzz_text.h"

#include "../../loadgen/check/procself.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    uint64_t soft, hard;
    procself_limit_in(text, "Max open files", &soft, &hard);
    procself_limit_in(text, "Max processes", &soft, NULL);
    for (char *line = text; line; line = strchr(line, '\n')) {
        const char *mount, *path;
        line += *line == '\n';
        if (procself_cgroup(line, &mount, &path))
            must(path > line && path < text + size && *path == '/');
    }
    free(text);
    return 0;
}
