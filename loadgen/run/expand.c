#define _GNU_SOURCE
#include "expand.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct expansion {
    const char *text;
    bool (*each)(const char *path, void *arg);
    void *arg;
    unsigned n;
    struct err *err;
    char path[PATH_MAX];
};

/* "[1,3-5]": numbers and ranges only. Returns its closing bracket, or NULL. */
static const char *closing(const char *open)
{
    const char *p = open + 1;
    if (!isdigit((unsigned char)*p))
        return NULL;
    p += strspn(p, "0123456789,-");
    return *p == ']' && isdigit((unsigned char)p[-1]) ? p : NULL;
}

static bool expand_from(struct expansion *x, const char *rest, size_t at);

static bool put(struct expansion *x, const char *rest, size_t at, const char *text, size_t len)
{
    if (at + len >= sizeof(x->path))
        return err_set(x->err, STATUS_USAGE, "%s: name too long", x->text);
    memcpy(x->path + at, text, len);
    return expand_from(x, rest, at + len);
}

static bool expand_numbers(struct expansion *x, const char *open, const char *close, size_t at)
{
    for (const char *p = open + 1; p < close;) {
        char *end, number[32];
        size_t width = strspn(p, "0123456789");
        unsigned long first = strtoul(p, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (last < first || last - first >= EXPAND_MAX || width == 0 || width > 9 ||
            (*end != ',' && end != close))
            return err_set(x->err, STATUS_USAGE,
                           "%s: '%.*s' is not a list of numbers and rising ranges of at most %d",
                           x->text, (int)(close - open + 1), open, EXPAND_MAX);
        for (unsigned long i = first; i <= last; i++) {
            int n = snprintf(number, sizeof(number), "%0*lu", (int)width, i);
            if (!put(x, close + 1, at, number, (size_t)n))
                return false;
        }
        p = end + (*end == ',');
    }
    return true;
}

static bool expand_from(struct expansion *x, const char *rest, size_t at)
{
    const char *open = rest, *close = NULL;
    while ((open = strchr(open, '[')) && !(close = closing(open)))
        open++;
    size_t len = open ? (size_t)(open - rest) : strlen(rest);
    if (at + len >= sizeof(x->path))
        return err_set(x->err, STATUS_USAGE, "%s: name too long", x->text);
    memcpy(x->path + at, rest, len);
    if (open)
        return expand_numbers(x, open, close, at + len);
    x->path[at + len] = '\0';
    if (++x->n > EXPAND_MAX)
        return err_set(x->err, STATUS_USAGE, "%s stands for more than %d paths", x->text,
                       EXPAND_MAX);
    return x->each(x->path, x->arg);
}

bool expand_path(const char *text, bool (*each)(const char *path, void *arg), void *arg,
                 struct err *err)
{
    struct expansion x = {.text = text, .each = each, .arg = arg, .err = err};
    return expand_from(&x, text, 0);
}

bool expand_files(const char *text, bool (*each)(const char *path, void *arg), void *arg,
                  struct err *err)
{
    return access(text, F_OK) == 0 ? each(text, arg) : expand_path(text, each, arg, err);
}
