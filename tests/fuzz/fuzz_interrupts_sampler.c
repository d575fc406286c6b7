/* Header and rows of /proc/interrupts. */
#include "../../loadgen/record/proctext.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1);
    memcpy(text, data, size);
    const char *newline = size ? memchr(text, '\n', size) : NULL;
    size_t head = newline ? (size_t)(newline - text) : size;
    uint32_t cpus[COLUMNS];
    static const uint16_t slot[COLUMNS] = {0, 1, 0, 1};
    size_t columns = interrupts_header(text, head, cpus, COLUMNS);
    if (columns > COLUMNS)
        columns = COLUMNS;
    if (newline) {
        uint64_t sums[3] = {0};
        struct irq_text t;
        size_t len = size - head - 1;
        const char *line = newline + 1;
        if (interrupts_row(line, len, slot, columns, 2, sums, &t) &&
            (t.name < line || t.name + t.name_len > line + len || t.text < line ||
             t.text + t.text_len > line + len))
            abort();
    }
    free(text);
    return 0;
}
