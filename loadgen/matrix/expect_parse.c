/* Recursive descent over one line of text. */
#include "expect_node.h"
#include "metric.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    const char *at, *name, *file, *start;
    unsigned line, depth;
    const struct expect_cells *cells;
    struct expect *e;
    struct err *err;
};

static bool complain(struct parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool complain(struct parser *p, const char *fmt, ...)
{
    char text[700], where[300] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (p->file)
        snprintf(where, sizeof(where), "%.250s:%u: ", p->file, p->line);
    return err_set(p->err, STATUS_USAGE, "%sexpectation '%.40s': %s", where, p->name, text);
}

static void blanks(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

/* What stands at the place where something else was expected. */
static const char *rest(struct parser *p)
{
    blanks(p);
    return *p->at ? p->at : "the end";
}

static bool take(struct parser *p, const char *token)
{
    blanks(p);
    size_t len = strlen(token);
    if (strncmp(p->at, token, len) != 0)
        return false;
    if (isalpha((unsigned char)*token) && (isalnum((unsigned char)p->at[len]) || p->at[len] == '_'))
        return false;
    p->at += len;
    return true;
}

static bool add_node(struct parser *p, struct node node, unsigned *index)
{
    if (p->e->nodes_n == EXPECT_NODES_MAX)
        return complain(p, "more than %d numbers and operations", EXPECT_NODES_MAX);
    *index = p->e->nodes_n;
    p->e->nodes[p->e->nodes_n++] = node;
    return true;
}

static bool name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static bool same_key(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
            return false;
    return *a == *b;
}

static size_t axis_of(const struct expect_cells *c, const char *key)
{
    size_t i = 0;
    while (i < c->keys_n && !same_key(c->keys[i], key))
        i++;
    return i;
}

/* "cpus: unpinned, node:0" or the axes, for messages; each value once. */
static void list_values(const struct expect_cells *c, size_t axis, char *buf, size_t cap)
{
    size_t len = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < c->cells_n && len + 1 < cap; i++) {
        const char *v = c->values[i * c->keys_n + axis];
        bool before = false;
        for (size_t k = 0; k < i && !before; k++)
            before = strcmp(c->values[k * c->keys_n + axis], v) == 0;
        if (!before)
            len += (size_t)snprintf(buf + len, cap - len, "%s%s", len ? ", " : "", v);
    }
}

static void list_axes(const struct expect_cells *c, char *buf, size_t cap)
{
    size_t len = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < c->keys_n && len + 1 < cap; i++)
        len += (size_t)snprintf(buf + len, cap - len, "%s%s", i ? ", " : "", c->keys[i]);
}

/* Drops the cells that do not have this value. */
static bool restrict_cells(struct parser *p, struct leaf *leaf, const char *key, const char *value)
{
    const struct expect_cells *c = p->cells;
    char list[300];
    size_t axis = axis_of(c, key), left = 0;
    if (axis == c->keys_n) {
        list_axes(c, list, sizeof(list));
        return complain(p, "'%.40s' is no axis of this matrix; there is %s", key,
                        *list ? list : "none");
    }
    bool known = false;
    for (size_t i = 0; i < c->cells_n; i++) {
        bool agrees = strcmp(c->values[i * c->keys_n + axis], value) == 0;
        known |= agrees;
        leaf->cells[i] &= agrees;
        left += leaf->cells[i];
    }
    if (!known) {
        list_values(c, axis, list, sizeof(list));
        return complain(p, "no cell has %.40s=%.80s; there is %s", key, value, list);
    }
    return left > 0 || complain(p, "no cell has all of '%.200s'", leaf->selectors);
}

static bool selector(struct parser *p, struct leaf *leaf, bool *instrument)
{
    char key[64], value[128];
    size_t n = 0;
    while (name_char(*p->at) || *p->at == '-') {
        if (n + 1 == sizeof(key))
            return complain(p, "'%.60s...' is no axis", key);
        key[n++] = *p->at++;
        key[n] = '\0';
    }
    if (n == 0 || *p->at != '=')
        return complain(p, "expected AXIS=VALUE or ')' at '%.60s'", rest(p));
    p->at++;
    for (n = 0; *p->at && !isspace((unsigned char)*p->at) && *p->at != ')'; p->at++) {
        if (n + 1 == sizeof(value))
            return complain(p, "the value of '%s' is too long", key);
        value[n++] = *p->at;
    }
    value[n] = '\0';
    if (n == 0)
        return complain(p, "'%s=' has no value", key);
    *instrument |= same_key(key, "instrument");
    return !p->cells || restrict_cells(p, leaf, key, value);
}

/* Instrumented runs answer only statements that ask for them. */
static bool without_instrument(struct parser *p, struct leaf *leaf)
{
    size_t axis = p->cells ? axis_of(p->cells, "instrument") : 0, left = 0;
    if (!p->cells || axis == p->cells->keys_n)
        return true;
    for (size_t i = 0; i < p->cells->cells_n; i++) {
        leaf->cells[i] &= strcmp(p->cells->values[i * p->cells->keys_n + axis], "none") == 0;
        left += leaf->cells[i];
    }
    return left > 0 || complain(p,
                                "no cell without an instrument has all of '%.200s'; name the "
                                "instrument",
                                leaf->selectors);
}

static bool selectors(struct parser *p, struct leaf *leaf)
{
    bool instrument = false;
    blanks(p);
    const char *begin = p->at;
    size_t len = strcspn(begin, ")");
    if (len >= sizeof(leaf->selectors))
        return complain(p, "more than %zu bytes between parentheses", sizeof(leaf->selectors));
    memcpy(leaf->selectors, begin, len);
    for (blanks(p); *p->at && *p->at != ')'; blanks(p))
        if (!selector(p, leaf, &instrument))
            return false;
    return instrument || without_instrument(p, leaf);
}

static bool metric(struct parser *p, struct leaf *leaf)
{
    size_t n = 0;
    blanks(p);
    while (name_char(p->at[n]))
        n++;
    if (n == 0 || n >= sizeof(leaf->metric))
        return complain(p, "expected the name of a metric at '%.60s'", rest(p));
    memcpy(leaf->metric, p->at, n);
    p->at += n;
    if (metric_known(leaf->metric))
        return true;
    const char *near = metric_nearest(leaf->metric);
    return complain(p, "unknown metric '%s'%s%s%s", leaf->metric,
                    near ? "; did you mean '"
                         : "; slab.COUNTER, bytes_per_s and others are "
                           "listed in numaload-statistics(7)",
                    near ? near : "", near ? "'?" : "");
}

static bool leaf(struct parser *p, enum leaf_figure figure, unsigned *index)
{
    struct expect *e = p->e;
    if (e->leaves_n == EXPECT_LEAVES_MAX)
        return complain(p, "more than %d figures", EXPECT_LEAVES_MAX);
    struct leaf *l = &e->leaves[e->leaves_n];
    *l = (struct leaf){.figure = figure};
    if (p->cells) {
        l->cells_n = p->cells->cells_n;
        l->cells = malloc(l->cells_n + 1);
        if (!l->cells)
            return err_set(p->err, STATUS_FAILED, "out of memory");
        memset(l->cells, true, l->cells_n);
    }
    unsigned mine = e->leaves_n++;
    if (!take(p, "("))
        return complain(p, "expected '(METRIC, AXIS=VALUE ...)' at '%.60s'", rest(p));
    if (!metric(p, l))
        return false;
    if (take(p, ",") ? !selectors(p, l) : !without_instrument(p, l))
        return false;
    if (!take(p, ")"))
        return complain(p, "expected ')' at '%.60s'", rest(p));
    return add_node(p, (struct node){.kind = NODE_LEAF, .leaf = mine}, index);
}

static bool number(struct parser *p, double *value)
{
    blanks(p);
    const char *begin = p->at;
    if (!isdigit((unsigned char)*begin) && *begin != '.')
        return false;
    /* strtod would take hexadecimal and names too */
    char *end, text[64];
    size_t n = strspn(begin, "0123456789.");
    if (begin[n] == 'e' || begin[n] == 'E') {
        size_t sign = begin[n + 1] == '+' || begin[n + 1] == '-';
        size_t digits = strspn(begin + n + 1 + sign, "0123456789");
        n += digits ? 1 + sign + digits : 0;
    }
    if (n >= sizeof(text))
        return false;
    memcpy(text, begin, n);
    text[n] = '\0';
    *value = strtod(text, &end);
    if (end == text || *end || !isfinite(*value))
        return false;
    p->at += n;
    return true;
}

static bool sum(struct parser *p, unsigned *index);

static bool factor(struct parser *p, unsigned *index)
{
    static const char *const names[] = {"median", "mean", "min", "max"};
    double value;
    if (++p->depth > EXPECT_DEPTH_MAX)
        return complain(p, "more than %d levels of parentheses", EXPECT_DEPTH_MAX);
    bool ok;
    if (number(p, &value)) {
        ok = add_node(p, (struct node){.number = value}, index);
        p->depth--;
        return ok;
    }
    for (int i = 0; i < 4; i++)
        if (take(p, names[i])) {
            ok = leaf(p, (enum leaf_figure)i, index);
            p->depth--;
            return ok;
        }
    if (take(p, "-")) {
        unsigned zero = 0, of = 0;
        ok = add_node(p, (struct node){.number = 0}, &zero) && factor(p, &of) &&
             add_node(p, (struct node){.kind = NODE_SUBTRACT, .left = zero, .right = of}, index);
    } else if (take(p, "(")) {
        ok = sum(p, index) && (take(p, ")") || complain(p, "expected ')' at '%.60s'", rest(p)));
    } else {
        ok = complain(p, "expected a number, '(' or median, mean, min, max at '%.60s'", rest(p));
    }
    p->depth--;
    return ok;
}

static bool operation(struct parser *p, const char *tokens, const enum node_kind *kinds,
                      bool (*operand)(struct parser *, unsigned *), unsigned *index)
{
    if (!operand(p, index))
        return false;
    for (;;) {
        char token[2] = {tokens[0]};
        int which = 0;
        if (!take(p, token)) {
            token[0] = tokens[1];
            which = 1;
            if (!take(p, token))
                return true;
        }
        struct node node = {.kind = kinds[which], .left = *index};
        if (!operand(p, &node.right) || !add_node(p, node, index))
            return false;
    }
}

static bool product(struct parser *p, unsigned *index)
{
    static const enum node_kind kinds[] = {NODE_MULTIPLY, NODE_DIVIDE};
    return operation(p, "*/", kinds, factor, index);
}

static bool sum(struct parser *p, unsigned *index)
{
    static const enum node_kind kinds[] = {NODE_ADD, NODE_SUBTRACT};
    return operation(p, "+-", kinds, product, index);
}

static bool relation(struct parser *p)
{
    static const struct {
        const char *token;
        enum relation relation;
    } all[] = {{">=", AT_LEAST}, {"<=", AT_MOST}, {">", ABOVE}, {"<", BELOW}};
    struct expect *e = p->e;
    for (int i = 0; i < 4; i++)
        if (take(p, all[i].token)) {
            e->relation = all[i].relation;
            return sum(p, &e->right);
        }
    if (!take(p, "within"))
        return complain(p, "expected >=, <=, >, < or 'within X of Y' at '%.60s'", rest(p));
    e->relation = WITHIN;
    if (!number(p, &e->tolerance))
        return complain(p, "expected a number behind 'within' at '%.60s'", rest(p));
    e->percent = take(p, "%");
    if (!take(p, "of"))
        return complain(p, "expected 'of' at '%.60s'", rest(p));
    if (!sum(p, &e->right))
        return false;
    return expect_constant(e, e->right) || complain(p, "what stands behind 'of' must be a number");
}

bool expect_parse(const char *name, const char *statement, const char *file, unsigned line,
                  const struct expect_cells *cells, struct expect **out, struct err *err)
{
    struct expect *e = calloc(1, sizeof(*e));
    struct parser p = {.at = statement,
                       .name = name,
                       .file = file,
                       .start = statement,
                       .line = line,
                       .cells = cells,
                       .e = e,
                       .err = err};
    *out = NULL;
    if (!e)
        return err_set(err, STATUS_FAILED, "out of memory");
    bool ok = sum(&p, &e->left) && relation(&p);
    blanks(&p);
    if (ok && *p.at)
        ok = complain(&p, "'%.60s' is left over", p.at);
    if (ok && expect_constant(e, e->left) && expect_constant(e, e->right))
        ok = complain(&p, "it says nothing about any cell: median(METRIC, AXIS=VALUE ...) does");
    if (ok)
        *out = e;
    else
        expect_free(e);
    return ok;
}

void expect_free(struct expect *e)
{
    for (unsigned i = 0; e && i < e->leaves_n; i++)
        free(e->leaves[i].cells);
    free(e);
}
