#include "skim.h"

#include <string.h>

#define DEPTH_MAX 256 /* deeper ones are left to the parser, which refuses them with a message */

struct reader {
    const char *p, *end;
    char *out; /* NULL while a value is skipped */
    size_t depth;
    bool bad;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void blanks(struct reader *r)
{
    while (r->p < r->end && is_blank(*r->p))
        r->p++;
}

static void copy(struct reader *r, const char *from, size_t n)
{
    if (!r->out)
        return;
    memcpy(r->out, from, n);
    r->out += n;
}

static bool expect(struct reader *r, char c)
{
    blanks(r);
    if (r->p == r->end || *r->p != c) {
        r->bad = true;
        return false;
    }
    copy(r, r->p++, 1);
    return true;
}

/* Past a string that begins at p. */
static const char *past_string(const char *p, const char *end)
{
    for (p++; p < end; p++) {
        p = memchr(p, '"', (size_t)(end - p));
        if (!p)
            return NULL;
        const char *b = p;
        while (b[-1] == '\\')
            b--;
        if ((p - b) % 2 == 0)
            return p + 1;
    }
    return NULL;
}

/* Past a value of any kind; NULL when it does not end. */
static const char *past_value(const char *p, const char *end)
{
    size_t depth = 0;
    while (p < end) {
        switch (*p) {
        case '"':
            p = past_string(p, end);
            if (!p || depth == 0)
                return p;
            continue;
        case '{':
        case '[':
            depth++;
            break;
        case '}':
        case ']':
            if (depth == 0)
                return p; /* of the container that a number or word stood in */
            if (--depth == 0)
                return p + 1;
            break;
        case ',':
            if (depth == 0)
                return p;
            break;
        default:
            break;
        }
        p++;
    }
    return NULL;
}

/* The rule for a key; NULL: it is not kept. */
static const struct skim *rule(const struct skim *keep, const char *key, size_t len)
{
    /* a key of the text may hold a NUL: its length decides */
    for (; keep->key; keep++)
        if (strcmp(keep->key, "*") == 0 ||
            (strlen(keep->key) == len && memcmp(keep->key, key, len) == 0))
            return keep;
    return NULL;
}

static void value(struct reader *r, const struct skim *keep);

static void object(struct reader *r, const struct skim *keep)
{
    bool first = true;
    expect(r, '{');
    for (blanks(r); r->p < r->end && *r->p != '}'; blanks(r)) {
        const char *key = r->p, *end = *key == '"' ? past_string(key, r->end) : NULL;
        if (!end) {
            r->bad = true;
            return;
        }
        const struct skim *kept = rule(keep, key + 1, (size_t)(end - key) - 2);
        char *out = r->out;
        if (kept && !first)
            copy(r, ",", 1);
        if (kept)
            copy(r, key, (size_t)(end - key));
        else
            r->out = NULL;
        first &= !kept;
        r->p = end;
        if (!expect(r, ':'))
            return;
        value(r, kept ? kept->of : NULL);
        if (!kept)
            r->out = out;
        blanks(r);
        if (r->bad || r->p == r->end || (*r->p != ',' && *r->p != '}')) {
            r->bad = true;
            return;
        }
        if (*r->p == ',') {
            r->p++;
            blanks(r);
            if (r->p < r->end && *r->p == '}') /* a comma before the end is no JSON */
                r->bad = true;
        }
    }
    expect(r, '}');
}

static void array(struct reader *r, const struct skim *keep)
{
    expect(r, '[');
    for (blanks(r); !r->bad && r->p < r->end && *r->p != ']'; blanks(r)) {
        value(r, keep);
        blanks(r);
        if (r->p < r->end && *r->p == ',')
            copy(r, r->p++, 1);
        else if (r->p == r->end || *r->p != ']')
            r->bad = true;
    }
    expect(r, ']');
}

static void value(struct reader *r, const struct skim *keep)
{
    blanks(r);
    if (keep && r->p < r->end && (*r->p == '{' || *r->p == '[')) {
        if (++r->depth > DEPTH_MAX)
            r->bad = true;
        else if (*r->p == '{')
            object(r, keep);
        else
            array(r, keep);
        r->depth--;
        return;
    }
    const char *end = past_value(r->p, r->end);
    if (!end || end == r->p) {
        r->bad = true;
        return;
    }
    copy(r, r->p, (size_t)(end - r->p));
    r->p = end;
}

size_t skim_text(const char *text, size_t len, const struct skim *keep, char *out)
{
    struct reader r = {.p = text, .end = text + len, .out = out};
    blanks(&r);
    if (r.p == r.end || *r.p != '{')
        return 0;
    value(&r, keep);
    blanks(&r);
    return r.bad || r.p != r.end ? 0 : (size_t)(r.out - out);
}

void skim_object(json_t *o, const struct skim *keep)
{
    const char *key;
    json_t *member;
    void *next;
    size_t i;
    if (!keep)
        return;
    if (json_is_array(o))
        json_array_foreach(o, i, member) skim_object(member, keep);
    json_object_foreach_safe(o, next, key, member)
    {
        const struct skim *kept = rule(keep, key, strlen(key));
        if (kept)
            skim_object(member, kept->of);
        else
            json_object_del(o, key);
    }
}
