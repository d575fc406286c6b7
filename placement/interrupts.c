#define _GNU_SOURCE
#include "interrupts.h"

#include "set.h"
#include "sysroot.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool bad(struct err *err, size_t line, const char *why)
{
    return err_set(err, STATUS_FAILED, "/proc/interrupts, line %zu: %s", line, why);
}

/* Reads digits at *p. False when there is none, or when the number does not fit. */
static bool read_number(char **p, uint64_t *value)
{
    uint64_t v = 0;
    char *start = *p;
    for (; isdigit((unsigned char)**p); (*p)++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(**p - '0'), &v))
            return false;
    *value = v;
    return *p > start;
}

static void skip_blanks(char **p)
{
    while (**p == ' ' || **p == '\t')
        (*p)++;
}

static bool parse_header(struct interrupts *in, char *line, struct err *err)
{
    size_t cap = strlen(line) / 4 + 1;
    in->cpus = calloc(cap, sizeof(*in->cpus));
    if (!in->cpus)
        return bad(err, 1, "out of memory");
    for (char *p = line;;) {
        skip_blanks(&p);
        if (!*p)
            break;
        uint64_t cpu;
        if (strncmp(p, "CPU", 3) != 0)
            return bad(err, 1, "a header of CPU0 CPU1 ... is expected");
        p += 3;
        if (!read_number(&p, &cpu) || cpu > SET_ID_MAX || (*p && *p != ' ' && *p != '\t'))
            return bad(err, 1, "a header of CPU0 CPU1 ... is expected");
        if (in->cpus_n && cpu <= in->cpus[in->cpus_n - 1])
            return bad(err, 1, "the CPUs of the header are not in order");
        in->cpus[in->cpus_n++] = (unsigned)cpu;
    }
    return in->cpus_n > 0 || bad(err, 1, "the header names no CPU");
}

/* The names of the handlers come last, after a run of blanks; before them are the chip, its number
 * and the trigger, in forms that differ between kernels. */
static const char *find_action(char *rest)
{
    size_t n = strlen(rest);
    while (n && isspace((unsigned char)rest[n - 1]))
        rest[--n] = '\0';
    char *last = NULL;
    for (char *p = rest; (p = strstr(p, "  ")); p++)
        last = p;
    if (last)
        return last + 2;
    last = strrchr(rest, ' ');
    return last ? last + 1 : rest;
}

static bool parse_row(struct interrupts *in, struct interrupts_row *row, uint64_t *counts,
                      char *line, size_t number, struct err *err)
{
    char *p = line;
    skip_blanks(&p);
    char *colon = strchr(p, ':');
    if (!colon || colon == p)
        return bad(err, number, "a label with a colon is expected");
    *colon = '\0';
    for (char *c = p; c < colon; c++)
        if (!isalnum((unsigned char)*c))
            return bad(err, number, "the label is neither a number nor a name");
    row->label = p;
    row->irq = -1;
    row->counts = counts;
    uint64_t irq;
    if (isdigit((unsigned char)*p)) {
        if (!read_number(&p, &irq) || *p || irq > INT_MAX)
            return bad(err, number, "the interrupt number is none");
        row->irq = (int)irq;
    }
    p = colon + 1;
    unsigned n = 0;
    for (; n < in->cpus_n; n++) {
        skip_blanks(&p);
        if (!isdigit((unsigned char)*p))
            break;
        if (!read_number(&p, &counts[n]) || (*p && *p != ' ' && *p != '\t'))
            return bad(err, number, "a count is not a number");
    }
    if (row->irq >= 0 && n < in->cpus_n)
        return bad(err, number, "the row has fewer counts than the header has CPUs");
    skip_blanks(&p);
    row->action = row->irq >= 0 ? find_action(p) : p;
    return true;
}

static size_t count_lines(const char *text)
{
    size_t n = 1;
    for (; (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

bool interrupts_parse(struct interrupts *out, const char *text, struct err *err)
{
    *out = (struct interrupts){0};
    char *copy = strdup(text);
    out->text = copy;
    size_t lines = count_lines(text);
    if (!copy)
        return bad(err, 1, "out of memory");
    char *next = strchr(copy, '\n');
    if (next)
        *next++ = '\0';
    if (!parse_header(out, copy, err))
        return false;
    size_t cells;
    if (__builtin_mul_overflow(lines, (size_t)out->cpus_n, &cells))
        return bad(err, 1, "the table is too large");
    out->rows = calloc(lines, sizeof(*out->rows));
    uint64_t *counts = out->counts = calloc(cells, sizeof(*counts));
    if (!out->rows || !counts)
        return bad(err, 1, "out of memory");
    for (size_t number = 2; next; number++) {
        char *line = next;
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (!*line)
            continue;
        if (!parse_row(out, &out->rows[out->rows_n], counts + out->rows_n * out->cpus_n, line,
                       number, err))
            return false;
        out->rows_n++;
    }
    return true;
}

bool interrupts_read(struct interrupts *out, struct err *err)
{
    char *text;
    *out = (struct interrupts){0};
    ssize_t n = sysroot_read("/proc/interrupts", &text);
    if (n < 0)
        return err_set(err, STATUS_FAILED, "/proc/interrupts: %s", strerror((int)-n));
    bool ok = interrupts_parse(out, text, err);
    free(text);
    return ok;
}

void interrupts_free(struct interrupts *in)
{
    free(in->cpus);
    free(in->rows);
    free(in->counts);
    free(in->text);
    *in = (struct interrupts){0};
}

const struct interrupts_row *interrupts_find(const struct interrupts *in, unsigned irq)
{
    for (size_t i = 0; i < in->rows_n; i++)
        if (in->rows[i].irq >= 0 && (unsigned)in->rows[i].irq == irq)
            return &in->rows[i];
    return NULL;
}

bool interrupts_same_cpus(const struct interrupts *a, const struct interrupts *b)
{
    return a->cpus_n == b->cpus_n && memcmp(a->cpus, b->cpus, a->cpus_n * sizeof(*a->cpus)) == 0;
}
