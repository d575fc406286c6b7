#include "jsontext.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Length of the valid UTF-8 sequence at p, or 0. */
static size_t utf8_sequence(const unsigned char *p, size_t left)
{
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (n == 0 || n > left || p[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool beyond = (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf4 && p[1] > 0x8f);
    return overlong || beyond ? 0 : n;
}

json_t *json_textn(const char *text, size_t len)
{
    json_t *s = json_stringn(text, len);
    if (s)
        return s;
    char *copy = malloc(len + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, len);
    for (size_t i = 0; i < len;) {
        size_t n = utf8_sequence((const unsigned char *)copy + i, len - i);
        if (n == 0)
            copy[i++] = '?';
        i += n;
    }
    s = json_stringn(copy, len);
    free(copy);
    return s;
}

json_t *json_text(const char *text)
{
    return text ? json_textn(text, strlen(text)) : json_null();
}

static json_t *format_text(const char *fmt, va_list ap)
{
    char buf[1024];
    vsnprintf(buf, sizeof(buf), fmt, ap);
    return json_text(buf);
}

void json_set_missing(json_t *object, const char *key, const char *fmt, ...)
{
    char reason_key[128];
    snprintf(reason_key, sizeof(reason_key), "%s_reason", key);
    va_list ap;
    va_start(ap, fmt);
    json_object_set_new(object, key, json_null());
    json_object_set_new(object, reason_key, format_text(fmt, ap));
    va_end(ap);
}

json_t *json_unavailable(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    json_t *o = json_pack("{s:b, s:o}", "available", 0, "reason", format_text(fmt, ap));
    va_end(ap);
    return o;
}
