/* A table that is taken has ascending columns, and each numbered row can be found. */
#include "fuzz_text.h"

#include "../../placement/device.h"
#include "../../placement/interrupts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err;
    struct interrupts in;
    char *text = fuzz_text(data, size);
    if (interrupts_parse(&in, text, &err)) {
        uint64_t sum = 0;
        must(in.cpus_n > 0);
        for (unsigned c = 1; c < in.cpus_n; c++)
            must(in.cpus[c - 1] < in.cpus[c]);
        for (size_t i = 0; i < in.rows_n; i++) {
            for (unsigned c = 0; c < in.cpus_n; c++)
                sum += in.rows[i].counts[c];
            must(vector_use(in.rows[i].action) <= VECTOR_CONTROL);
            must(in.rows[i].irq < 0 || interrupts_find(&in, (unsigned)in.rows[i].irq) != NULL);
        }
        must(strlen(in.text) + sum + 1 > 0);
    } else {
        must(err.text[0] != '\0');
    }
    interrupts_free(&in);
    free(text);
    return 0;
}
