#define _GNU_SOURCE
#include "text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *text_printf(const char *fmt, ...)
{
    char *text;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    return n < 0 ? NULL : text;
}

void text_append(char **text, const char *fmt, ...)
{
    char *more;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&more, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    char *joined = text_printf("%s%s", *text ? *text : "", more);
    free(more);
    if (!joined)
        return;
    free(*text);
    *text = joined;
}

const char *text_bytes(char *buf, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned u = 0;
    double v = (double)bytes;
    for (; v >= 1024 && u + 1 < sizeof(units) / sizeof(*units); u++)
        v /= 1024;
    snprintf(buf, TEXT_BYTES_MAX, u ? "%.1f %s" : "%.0f %s", v, units[u]);
    return buf;
}

char *text_chomp(const char *text)
{
    size_t n = strlen(text);
    while (n && isspace((unsigned char)text[n - 1]))
        n--;
    return strndup(text, n);
}
