/* A name in msi_irqs that is taken is a number with nothing around it. */
#include "fuzz_text.h"

#include "../../placement/device.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), back[16];
    unsigned irq;
    if (device_irq_number(text, &irq)) {
        const char *digits = text;
        while (*digits == '0' && digits[1])
            digits++;
        snprintf(back, sizeof(back), "%u", irq);
        must(strcmp(back, digits) == 0);
    }
    must(vector_use(text) <= VECTOR_CONTROL);
    free(text);
    return 0;
}
