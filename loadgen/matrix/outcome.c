#include "outcome.h"

#include <stdio.h>

static void print(json_t *o)
{
    if (o)
        json_dumpf(o, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(o);
}

static json_t *text(const char *s)
{
    json_t *o = json_string(s);
    return o ? o : json_string("(not UTF-8)");
}

void outcome_print(const struct series *s, int status, const char *next)
{
    print(json_pack("{s:s, s:i, s:b, s:o, s:s, s:i, s:i, s:s, s:n}", "schema", "numaload-matrix",
                    "exit_status", status, "complete", 0, "folder", text(s->folder), "series",
                    s->id, "counted", (int)(s->counted - s->counted_optional), "wanted",
                    (int)s->runs_wanted, "next", next, "error"));
}

void outcome_print_error(const struct err *err)
{
    int status = err->status == STATUS_OK ? STATUS_FAILED : (int)err->status;
    print(json_pack("{s:s, s:i, s:b, s:o}", "schema", "numaload-matrix", "exit_status", status,
                    "complete", 0, "error", text(err->text)));
}
