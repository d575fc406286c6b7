#include "profile.h"

#include "nearest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !(*a == '-' && *b == '_') && !(*a == '_' && *b == '-'))
            return false;
    return *a == *b;
}

const struct key *profile_key(const char *name)
{
    for (const struct key *k = profile_keys; k->name; k++)
        if (same_name(k->name, name))
            return k;
    return NULL;
}

const char *profile_nearest(const char *name)
{
    struct nearest n;
    nearest_begin(&n, name);
    for (const struct key *k = profile_keys; k->name; k++)
        nearest_offer(&n, k->name);
    return n.best;
}

static void *field(const void *base, const struct key *k)
{
    return (char *)base + k->offset;
}

static size_t key_index(const struct key *k)
{
    return (size_t)(k - profile_keys);
}

static void list_free(char ***list)
{
    for (char **s = *list; s && *s; s++)
        free(*s);
    free(*list);
    *list = NULL;
}

static bool list_add(char ***list, const char *text, struct err *err)
{
    size_t n = 0;
    while (*list && (*list)[n])
        n++;
    char *copy = strdup(text);
    char **grown = copy ? realloc(*list, (n + 2) * sizeof(*grown)) : NULL;
    if (!grown) {
        free(copy);
        return err_set(err, STATUS_FAILED, "out of memory");
    }
    grown[n] = copy;
    grown[n + 1] = NULL;
    *list = grown;
    return true;
}

bool key_set(void *base, const struct key *k, const char *text, struct err *err)
{
    char lo[32], hi[32];
    uint64_t n = 0;
    switch (k->type) {
    case KEY_BOOL:
        return parse_bool(text, field(base, k), err);
    case KEY_TEXT:
        if (k->words) {
            const char *const *w = k->words;
            while (*w && strcmp(*w, text) != 0)
                w++;
            if (!*w) {
                err_set(err, STATUS_USAGE, "'%s' is not one of:", text);
                size_t used = strlen(err->text);
                for (w = k->words; *w && used < sizeof(err->text); w++)
                    used += (size_t)snprintf(err->text + used, sizeof(err->text) - used, " %s", *w);
                return false;
            }
        }
        char *copy = *text ? strdup(text) : NULL;
        if (*text && !copy)
            return err_set(err, STATUS_FAILED, "out of memory");
        free(*(char **)field(base, k));
        *(char **)field(base, k) = copy;
        return true;
    case KEY_LIST:
        return !*text || list_add(field(base, k), text, err);
    case KEY_COUNT:
        if (!parse_count(text, &n, err))
            return false;
        if (n < k->min || n > k->max)
            return err_set(err, STATUS_USAGE, "%s is outside %" PRIu64 " to %" PRIu64, text, k->min,
                           k->max);
        break;
    case KEY_SIZE:
        if (!parse_size(text, &n, err))
            return false;
        if (n < k->min || n > k->max)
            return err_set(err, STATUS_USAGE, "%s is outside %s to %s", text,
                           format_size(k->min, lo, sizeof(lo)),
                           format_size(k->max, hi, sizeof(hi)));
        break;
    case KEY_TIME:
        if (!parse_time(text, &n, err))
            return false;
        if (n < k->min || n > k->max)
            return err_set(err, STATUS_USAGE, "%s is outside %s to %s", text,
                           format_time(k->min, lo, sizeof(lo)),
                           format_time(k->max, hi, sizeof(hi)));
        break;
    }
    *(uint64_t *)field(base, k) = n;
    return true;
}

bool profile_set(struct profile *p, const struct key *key, const char *text, struct origin origin,
                 struct err *err)
{
    /* A list grows within the profile or within the command line, which replaces the profile's. */
    const struct origin *old = &p->origin[key_index(key)];
    if (key->type == KEY_LIST && (old->cli != origin.cli || !old->file != !origin.file))
        list_free(field(p, key));
    if (!key_set(p, key, text, err)) {
        if (origin.file)
            return err_prefix(err, "%s:%u: %s", origin.file, origin.line, key->name);
        return err_prefix(err, "--%s", key->name);
    }
    p->origin[key_index(key)] = origin;
    return true;
}

bool profile_init(struct profile *p, struct err *err)
{
    *p = (struct profile){0};
    for (const struct key *k = profile_keys; k->name; k++)
        if (k->def && !profile_set(p, k, k->def, (struct origin){0}, err))
            return false;
    return true;
}

void profile_free(struct profile *p)
{
    for (const struct key *k = profile_keys; k->name; k++) {
        if (k->type == KEY_TEXT)
            free(*(char **)field(p, k));
        else if (k->type == KEY_LIST)
            list_free(field(p, k));
    }
    for (size_t i = 0; i < p->lines_n; i++) {
        free(p->lines[i].section);
        free(p->lines[i].name);
        free(p->lines[i].value);
    }
    free(p->lines);
    free(p->file);
    *p = (struct profile){0};
}

bool profile_writes(const struct profile *p)
{
    return strstr(p->rw, "write") != NULL;
}

bool profile_random(const struct profile *p)
{
    return strncmp(p->rw, "rand", 4) == 0;
}

bool profile_polls(const struct profile *p)
{
    return strcmp(p->completion, "poll") == 0;
}

bool profile_reads(const struct profile *p)
{
    return !profile_writes(p) || p->mix_read_percent;
}

bool profile_once(const struct profile *p)
{
    return p->once || p->amount_bytes;
}

const char *profile_path(const struct profile *p)
{
    return p->paths ? p->paths[0] : NULL;
}

bool profile_is_set(const struct profile *p, const char *key)
{
    const struct origin *o = &p->origin[key_index(profile_key(key))];
    return o->cli || o->file;
}

const char *profile_where(const struct profile *p, const char *key, char *buf, size_t cap)
{
    const struct origin *o = &p->origin[key_index(profile_key(key))];
    if (o->cli)
        snprintf(buf, cap, "--%s", key);
    else if (o->file)
        snprintf(buf, cap, "%s:%u: %s", o->file, o->line, key);
    else
        snprintf(buf, cap, "%s (default)", key);
    return buf;
}
