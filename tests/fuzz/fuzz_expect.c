/* Any text as a statement: parsed, refused with a sentence, or answered over a small matrix. */
#include "../../loadgen/matrix/expect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static double value(const void *data, size_t run, const char *metric)
{
    (void)data;
    return metric[0] == 'p' ? NAN : (double)(run % 7) + (double)strlen(metric);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keys[] = {"cpus", "cq"};
    static const char *const values[] = {"node:0", "node:0", "node:0", "node:1",
                                         "node:1", "node:0", "node:1", "node:1"};
    const struct expect_cells cells = {keys, 2, values, 4};
    struct stats_run runs[12];
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (size_t i = 0; i < 12; i++)
        runs[i] = (struct stats_run){.cell = i % 4, .boot = 1, .block = (long)(i / 4) + 1};
    struct expect *e;
    struct err err = {0};
    if (expect_parse("fuzz", text, NULL, 0, &cells, &e, &err)) {
        struct expect_answer answer;
        expect_answer(e, runs, 12, value, NULL, 1, &answer);
        expect_free(e);
    } else if (err.status != STATUS_USAGE || !*err.text) {
        abort();
    }
    if (expect_parse("fuzz", text, "x.ini", 3, NULL, &e, &err))
        expect_free(e);
    free(text);
    return 0;
}
