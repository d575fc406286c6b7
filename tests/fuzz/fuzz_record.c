/* Any JSON that claims to be a record: derived figures and reports must live with it, and no line
 * may be wider than a mail. */
#include "../../loadgen/record/derived.h"
#include "../../loadgen/report/report.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void check_lines(const char *text)
{
    for (const char *p = text; *p;) {
        size_t len = strcspn(p, "\n");
        if (len > 72) {
            fprintf(stderr, "%.*s\n", (int)len, p);
            abort();
        }
        p += len + (p[len] == '\n');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *record = json_loadb((const char *)data, size, JSON_ALLOW_NUL, NULL);
    if (!record)
        return 0;
    json_decref(derived_from_window(record));
    char *text = NULL;
    size_t len;
    struct err err;
    FILE *out = open_memstream(&text, &len);
    const json_t *both[] = {record, record};
    report_run_text(out, record, &err);
    report_compare_text(out, both, 2, &err);
    fclose(out);
    check_lines(text);
    free(text);
    json_decref(record);
    return 0;
}
