#include "cells.h"

#include "settings.h"

#include <stdlib.h>
#include <string.h>

#define BLANKS " \t"

/* ---- words ---- */

/* The next value of a list: up to a separator, or within double quotes. NULL text at the end. The
 * result is the caller's. */
static bool next_word(const char **at, const char *separators, char **out, struct err *err)
{
    const char *p = *at + strspn(*at, BLANKS);
    size_t len;
    *out = NULL;
    if (*p == '"') {
        const char *end = strchr(++p, '"');
        if (!end)
            return err_set(err, STATUS_USAGE, "the quote before '%s' does not end", p);
        len = (size_t)(end - p);
        *at = end + 1;
        *at += strspn(*at, BLANKS);
        if (**at && !strchr(separators, **at) && !strpbrk(separators, BLANKS))
            return err_set(err, STATUS_USAGE, "'%s' after a quoted value: a comma is missing", *at);
    } else {
        len = strcspn(p, separators);
        *at = p + len;
        while (len && strchr(BLANKS, p[len - 1]))
            len--;
    }
    *out = strndup(p, len);
    return *out || err_set(err, STATUS_FAILED, "out of memory");
}

static bool add_value(struct axis *a, char *value, struct err *err)
{
    char **grown = realloc(a->values, (a->values_n + 1) * sizeof(*grown));
    if (!grown) {
        free(value);
        return err_set(err, STATUS_FAILED, "out of memory");
    }
    a->values = grown;
    a->values[a->values_n++] = value;
    return true;
}

static bool split_values(struct axis *a, const char *text, struct err *err)
{
    const char *at = text;
    for (;;) {
        char *word;
        if (!next_word(&at, ",", &word, err) || !add_value(a, word, err))
            return false;
        if (!*word)
            return err_set(err, STATUS_USAGE, "an empty value in '%s'", text);
        if (!*at)
            return true;
        at++; /* the comma */
    }
}

/* ---- axes ---- */

static bool may_be_axis(const struct key *k)
{
    static const char *const never[] = {"json", "record", "sysroot", "label", NULL};
    for (const char *const *n = never; *n; n++)
        if (strcmp(*n, k->name) == 0)
            return false;
    return true;
}

/* "1M" and "1024K" are one value. */
static bool same_value(const struct key *k, const char *a, const char *b)
{
    if (k->type == KEY_TEXT || k->type == KEY_LIST)
        return strcmp(a, b) == 0;
    struct profile x = {0}, y = {0};
    if (!key_set(&x, k, a, NULL) || !key_set(&y, k, b, NULL))
        return false;
    return memcmp((char *)&x + k->offset, (char *)&y + k->offset,
                  k->type == KEY_BOOL ? sizeof(bool) : sizeof(uint64_t)) == 0;
}

static bool check_values(const struct axis *a, struct err *err)
{
    for (unsigned i = 0; i < a->values_n; i++) {
        struct profile scratch;
        bool good = profile_init(&scratch, err) && key_set(&scratch, a->key, a->values[i], err);
        profile_free(&scratch);
        if (!good)
            return false;
        for (unsigned k = 0; k < i; k++)
            if (same_value(a->key, a->values[i], a->values[k]))
                return err_set(err, STATUS_USAGE, "'%s' is there twice", a->values[i]);
    }
    return true;
}

static bool unknown_name(const char *name, struct err *err)
{
    const char *near = profile_nearest(name);
    if (near)
        return err_set(err, STATUS_USAGE,
                       "'%s' is neither a key nor a setting of a matrix; did you mean '%s'?", name,
                       near);
    return err_set(err, STATUS_USAGE,
                   "'%s' is neither a key nor a setting of a matrix; 'numaload matrix --help' "
                   "lists them all",
                   name);
}

static bool add_axis(struct cells *c, const struct profile_line *l, struct err *err)
{
    const struct key *k = profile_key(l->name);
    if (!k)
        return unknown_name(l->name, err);
    if (!may_be_axis(k))
        return err_set(err, STATUS_USAGE, "%s cannot be an axis: it is not part of the load",
                       k->name);
    for (unsigned i = 0; i < c->axes_n; i++)
        if (c->axes[i].key == k)
            return err_set(err, STATUS_USAGE, "%s is an axis already, in line %u", k->name,
                           c->axes[i].line);
    struct axis *grown = realloc(c->axes, (c->axes_n + 1) * sizeof(*grown));
    if (!grown)
        return err_set(err, STATUS_FAILED, "out of memory");
    c->axes = grown;
    struct axis *a = &c->axes[c->axes_n++];
    *a = (struct axis){.key = k, .line = l->line};
    if (!split_values(a, l->value, err) || !check_values(a, err))
        return err_prefix(err, "%s", k->name);
    return true;
}

/* ---- selections ---- */

static struct selection *new_selection(struct selection **list, unsigned n, unsigned axes_n)
{
    struct selection *grown = realloc(*list, (n + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    *list = grown;
    grown[n].value = malloc((axes_n ? axes_n : 1) * sizeof(*grown->value));
    for (unsigned a = 0; grown[n].value && a < axes_n; a++)
        grown[n].value[a] = -1;
    return grown[n].value ? &grown[n] : NULL;
}

static bool select_value(struct selection *s, const struct cells *c, const char *name,
                         const char *value, struct err *err)
{
    const struct key *k = profile_key(name);
    for (unsigned a = 0; k && a < c->axes_n; a++) {
        const struct axis *axis = &c->axes[a];
        if (axis->key != k)
            continue;
        if (s->value[a] >= 0)
            return err_set(err, STATUS_USAGE, "%s is given twice", name);
        for (unsigned v = 0; v < axis->values_n; v++)
            if (same_value(k, axis->values[v], value))
                s->value[a] = (int)v;
        if (s->value[a] >= 0)
            return true;
        return err_set(err, STATUS_USAGE, "the axis %s has no value '%s'", k->name, value);
    }
    return err_set(err, STATUS_USAGE, "'%s' is not an axis", name);
}

bool selection_parse(struct selection *s, const struct cells *c, const char *text, struct err *err)
{
    const char *at = text + strspn(text, BLANKS);
    if (!*at)
        return err_set(err, STATUS_USAGE, "no cell is named; expected AXIS=VALUE ...");
    while (*at) {
        char name[80], *value;
        size_t len = strcspn(at, "= \t");
        if (at[len] != '=' || len == 0 || len >= sizeof(name))
            return err_set(err, STATUS_USAGE, "'%s': expected AXIS=VALUE", at);
        memcpy(name, at, len);
        name[len] = '\0';
        at += len + 1;
        if (!next_word(&at, BLANKS, &value, err))
            return false;
        bool good = select_value(s, c, name, value, err);
        free(value);
        if (!good)
            return false;
        at += strspn(at, BLANKS);
    }
    return true;
}

static bool agrees(const struct selection *cell, const struct selection *with, unsigned axes_n)
{
    for (unsigned a = 0; a < axes_n; a++)
        if (with->value[a] >= 0 && with->value[a] != cell->value[a])
            return false;
    return true;
}

/* ---- cells ---- */

static bool cross(struct cells *c, struct err *err)
{
    uint64_t all = 1;
    for (unsigned a = 0; a < c->axes_n; a++)
        if ((all *= c->axes[a].values_n) > CELLS_MAX)
            return err_set(err, STATUS_USAGE, "more than %d cells", CELLS_MAX);
    for (uint64_t i = 0; i < all; i++) {
        struct selection *s = new_selection(&c->cells, c->n, c->axes_n);
        if (!s)
            return err_set(err, STATUS_FAILED, "out of memory");
        uint64_t rest = i;
        for (unsigned a = c->axes_n; a-- > 0; rest /= c->axes[a].values_n)
            s->value[a] = (int)(rest % c->axes[a].values_n);
        bool excluded = false;
        for (unsigned e = 0; e < c->excluded_n; e++)
            excluded |= agrees(s, &c->excluded[e], c->axes_n);
        if (excluded)
            free(s->value);
        else
            c->n++;
    }
    return true;
}

static bool read_lines(struct cells *c, const struct profile *p, bool excludes, struct err *err)
{
    for (size_t i = 0; i < p->lines_n; i++) {
        const struct profile_line *l = &p->lines[i];
        bool is_exclude = strcmp(l->name, "exclude") == 0, good = true;
        if (strcmp(l->section, "matrix") != 0 || matrix_key(l->name) || is_exclude != excludes)
            continue;
        if (is_exclude) {
            struct selection *s = new_selection(&c->excluded, c->excluded_n, c->axes_n);
            if (!s)
                return err_set(err, STATUS_FAILED, "out of memory");
            c->excluded_n++;
            good = selection_parse(s, c, l->value, err) || err_prefix(err, "exclude");
        } else {
            good = add_axis(c, l, err);
        }
        if (!good)
            return err_prefix(err, "%s:%u", p->file, l->line);
    }
    return true;
}

bool cells_read(struct cells *c, const struct profile *p, struct err *err)
{
    *c = (struct cells){0};
    if (!read_lines(c, p, false, err))
        return false;
    if (c->axes_n == 0)
        return err_set(err, STATUS_USAGE,
                       "%s: no axis in a section [matrix]; write there, for example, "
                       "'cpus = node:0, node:1'",
                       p->file ? p->file : "no profile");
    if (!read_lines(c, p, true, err) || !cross(c, err))
        return false;
    if (c->n == 0)
        return err_set(err, STATUS_USAGE, "%s: every cell of the matrix is excluded", p->file);
    return true;
}

static void free_selections(struct selection *list, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        free(list[i].value);
    free(list);
}

void cells_free(struct cells *c)
{
    for (unsigned a = 0; a < c->axes_n; a++) {
        for (unsigned v = 0; v < c->axes[a].values_n; v++)
            free(c->axes[a].values[v]);
        free(c->axes[a].values);
    }
    free(c->axes);
    free_selections(c->excluded, c->excluded_n);
    free_selections(c->cells, c->n);
    *c = (struct cells){0};
}

int cells_find(const struct cells *c, const struct selection *s)
{
    for (unsigned i = 0; i < c->n; i++)
        if (agrees(&c->cells[i], s, c->axes_n))
            return (int)i;
    return -1;
}

const char *cell_text(const struct cells *c, unsigned cell, char *buf, size_t cap)
{
    size_t used = 0;
    buf[0] = '\0';
    for (unsigned a = 0; a < c->axes_n && used < cap; a++) {
        const char *value = c->axes[a].values[c->cells[cell].value[a]];
        const char *quote = strpbrk(value, BLANKS) ? "\"" : "";
        used += (size_t)snprintf(buf + used, cap - used, "%s%s=%s%s%s", a ? " " : "",
                                 c->axes[a].key->name, quote, value, quote);
    }
    return buf;
}

json_t *selection_json(const struct cells *c, const struct selection *s)
{
    json_t *o = json_object();
    for (unsigned a = 0; a < c->axes_n; a++)
        if (s->value[a] >= 0) {
            json_t *value = json_string(c->axes[a].values[s->value[a]]);
            json_object_set_new(o, c->axes[a].key->name,
                                value ? value : json_string("(not UTF-8)"));
        }
    return o;
}

bool cell_apply(const struct cells *c, unsigned cell, struct profile *p, struct err *err)
{
    for (unsigned a = 0; a < c->axes_n; a++) {
        struct origin origin = {.file = p->file, .line = c->axes[a].line};
        /* Of a list the axis gives the whole, whoever filled it before. */
        if (c->axes[a].key->type == KEY_LIST &&
            !profile_set(p, c->axes[a].key, "", (struct origin){0}, err))
            return false;
        if (!profile_set(p, c->axes[a].key, c->axes[a].values[c->cells[cell].value[a]], origin,
                         err))
            return false;
    }
    return true;
}
