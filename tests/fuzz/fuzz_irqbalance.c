/* irqbalance's answer to "setup", which lists the interrupts it leaves alone. */
#include "fuzz_text.h"

#include "../../placement/irqbalance.h"
#include "../../placement/set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *list = irqbalance_parse_setup(text);
    /* Numbers in ascending order with one blank between them, and a newline. */
    long last = -1;
    char *at = list;
    while (*at != '\n') {
        long n = strtol(at, &at, 10);
        if (n <= last || n > (long)SET_ID_MAX || (*at != ' ' && *at != '\n'))
            abort();
        last = n;
        at += *at == ' ';
    }
    free(list);
    free(text);
    return 0;
}
