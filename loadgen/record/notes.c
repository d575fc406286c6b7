#include "notes.h"

#include "jsontext.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const level_names[] = {
    [NOTE_INFO] = "info",
    [NOTE_WARNING] = "warning",
    [NOTE_INVALID] = "invalid",
    [NOTE_ERROR] = "error",
};

#define LEVELS_N (int)(sizeof(level_names) / sizeof(*level_names))

const char *note_level_name(enum note_level level)
{
    return (int)level >= 0 && (int)level < LEVELS_N ? level_names[level] : "?";
}

void note_add(json_t *notes, enum note_level level, const char *source, const char *fmt, ...)
{
    if (!notes)
        return;
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);

    json_t *note = json_pack("{s:s, s:o, s:o}", "level", note_level_name(level), "source",
                             json_text(source), "text", json_text(text));
    size_t i;
    json_t *old;
    json_array_foreach(notes, i, old)
    {
        if (json_equal(old, note)) {
            json_decref(note);
            return;
        }
    }
    json_array_append_new(notes, note);
}

int note_worst(const json_t *notes)
{
    int worst = -1;
    for (size_t i = 0; i < json_array_size(notes); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(notes, i), "level"));
        for (int level = worst + 1; name && level < LEVELS_N; level++)
            if (strcmp(name, level_names[level]) == 0)
                worst = level;
    }
    return worst;
}
