/* /proc/stat for the rule of quiet: whatever the totals, shares stay shares and rates positive. */
#include "fuzz_text.h"

#include "../../loadgen/matrix/settle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct settle_rule rule = {5, 50};
    char *text = fuzz_text(data, size);
    char *second = strchr(text, '\f'); /* the text of a later time follows */
    struct stat_totals from, to;
    struct quiet q;
    if (second)
        *second++ = '\0';
    if (settle_parse(text, &from) && settle_parse(second ? second : text, &to) &&
        settle_between(&from, &to, 0.5, &q)) {
        must(q.idle_percent >= 0 && q.idle_percent <= 100 && q.interrupts_per_s >= 0);
        must(settle_is_back(&q, &q, &rule));
    }
    free(text);
    return 0;
}
