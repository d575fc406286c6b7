#include "text.h"

#include "fmt.h"
#include "view.h"

#include <errno.h>
#include <string.h>

const char *text_verdict(const json_t *record)
{
    const char *status = view_text(record, "status", "");
    if (strcmp(status, "failed") == 0)
        return "FAILED";
    if (strcmp(status, "invalid") == 0)
        return "INVALID";
    if (strcmp(status, "cut-short") == 0 || json_is_true(json_object_get(record, "cut_short")))
        return "CUT SHORT";
    return NULL;
}

static size_t notes_of(FILE *out, const json_t *notes, const char *level, const char *mark,
                       const char *where)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(notes); i++) {
        const json_t *note = json_array_get(notes, i);
        const char *has = view_text(note, "level", "?");
        if (level && strcmp(has, level) != 0)
            continue;
        char head[64], text[1200];
        snprintf(head, sizeof(head), "%s%s%s%.16s: ", mark, where, *where ? ", " : "",
                 view_text(note, "source", "?"));
        fmt_ascii(text, sizeof(text), view_text(note, "text", "?"));
        fmt_wrapped(out, 4, head, text);
        n++;
    }
    return n;
}

size_t text_notes(FILE *out, const json_t *record, const char *level, const char *mark)
{
    size_t n = notes_of(out, json_object_get(record, "notes"), level, mark, "");
    const json_t *windows = json_object_get(record, "windows");
    for (size_t i = 0; i < json_array_size(windows); i++) {
        char where[32] = "";
        if (json_array_size(windows) > 1)
            snprintf(where, sizeof(where), "window %zu", i + 1);
        n += notes_of(out, view_at(json_array_get(windows, i), "notes"), level, mark, where);
    }
    /* Of the time outside the windows only what nobody could see in them. */
    return n + notes_of(out, view_at(record, "whole_run.notes"), level, mark, "whole run");
}

void text_heading(FILE *out, const char *text)
{
    fprintf(out, "\n%s\n", text);
    for (size_t i = 0; i < strlen(text); i++)
        fputc('-', out);
    fputc('\n', out);
}

bool text_finish(FILE *out, struct err *err)
{
    errno = 0;
    if (fflush(out) || ferror(out))
        return err_set(err, STATUS_FAILED, "cannot write the report: %s",
                       errno ? strerror(errno) : "output error");
    return true;
}

struct fmt text_node_name(const char *id)
{
    struct fmt f;
    char clean[8];
    snprintf(f.s, sizeof(f.s), "node%s", fmt_ascii(clean, sizeof(clean), id));
    return f;
}

size_t text_nodes(const json_t *by_node, const char **ids, size_t max)
{
    size_t n = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)by_node, key, value)
    {
        if (n < max)
            ids[n++] = key;
    }
    return n;
}
