#include "err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool err_set(struct err *e, enum status status, const char *fmt, ...)
{
    if (!e)
        return false;
    va_list ap;
    va_start(ap, fmt);
    e->status = status;
    vsnprintf(e->text, sizeof(e->text), fmt, ap);
    va_end(ap);
    return false;
}

bool err_prefix(struct err *e, const char *fmt, ...)
{
    if (!e)
        return false;
    char old[sizeof(e->text)];
    memcpy(old, e->text, sizeof(old));
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(e->text, sizeof(e->text), fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof(e->text))
        return false;
    size_t left = sizeof(e->text) - (size_t)n;
    snprintf(e->text + n, left, ": %.*s", (int)left, old);
    return false;
}
