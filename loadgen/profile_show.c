/* The keys of a profile in a record and in --help. */
#include "profile.h"

#include <string.h>

static const char *unit_suffix(enum key_type type)
{
    return type == KEY_SIZE ? "_bytes" : type == KEY_TIME ? "_ns" : "";
}

static json_t *text_json(const char *text)
{
    json_t *v = text ? json_string(text) : json_null();
    /* not UTF-8: jansson refuses it, the rest of the record must not be lost */
    return v ? v : json_string("(not UTF-8)");
}

/* One entry is a text, as it was before lists. */
static json_t *list_json(char **list)
{
    if (!list || !list[1])
        return text_json(list ? list[0] : NULL);
    json_t *a = json_array();
    for (; *list; list++)
        json_array_append_new(a, text_json(*list));
    return a;
}

json_t *profile_json(const struct profile *p)
{
    json_t *o = json_object();
    for (const struct key *k = profile_keys; k->name; k++) {
        char name[64];
        snprintf(name, sizeof(name), "%s%s", k->name, unit_suffix(k->type));
        for (char *c = name; *c; c++)
            if (*c == '-')
                *c = '_';
        const void *value = (const char *)p + k->offset;
        json_t *v = NULL;
        switch (k->type) {
        case KEY_BOOL:
            v = json_boolean(*(const bool *)value);
            break;
        case KEY_TEXT:
            v = text_json(*(char *const *)value);
            break;
        case KEY_LIST:
            v = list_json(*(char **const *)value);
            break;
        default:
            v = json_integer((json_int_t) * (const uint64_t *)value);
        }
        json_object_set_new(o, name, v);
    }
    json_object_set_new(o, "file", p->file ? json_string(p->file) : json_null());
    return o;
}

static void wrap(FILE *out, const char *text, int indent, int column)
{
    while (*text) {
        int len = (int)strcspn(text, " ");
        if (column + 1 + len > 78) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        column += fprintf(out, " %.*s", len, text);
        text += len;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

void keys_help(FILE *out, const struct key *keys)
{
    enum { INDENT = 22 };
    for (const struct key *k = keys; k->name; k++) {
        char head[64], tail[64] = "";
        snprintf(head, sizeof(head), "  --%s%s%s", k->name, k->meta ? " " : "",
                 k->meta ? k->meta : "");
        if (k->def && k->type != KEY_BOOL)
            snprintf(tail, sizeof(tail), " [%s]", k->def);
        else if (k->type == KEY_BOOL && strcmp(k->def, "true") == 0)
            snprintf(tail, sizeof(tail), " [yes; --no-%s]", k->name);
        char text[512];
        snprintf(text, sizeof(text), "%s%s", k->help, tail);
        int column = fprintf(out, "%-*s", INDENT, head);
        if (column > INDENT) {
            fprintf(out, "\n%*s", INDENT, "");
            column = INDENT;
        }
        wrap(out, text, INDENT, column);
    }
}

void profile_help(FILE *out)
{
    keys_help(out, profile_keys);
}
