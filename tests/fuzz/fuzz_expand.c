/* Paths with ranges: every path fits, and a refusal has words. */
#include "fuzz_text.h"

#include "../../loadgen/run/expand.h"

static bool each(const char *path, void *arg)
{
    unsigned *n = arg;
    must(strlen(path) < 4096);
    return ++*n < 20; /* enough is known of longer ones */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    unsigned n = 0;
    char *text = fuzz_text(data, size);
    if (expand_path(text, each, &n, &err))
        must(n >= 1);
    else
        must(n == 20 || err.text[0]);
    if (!strchr(text, '['))
        must(n == (strlen(text) < 4096));
    free(text);
    return 0;
}
