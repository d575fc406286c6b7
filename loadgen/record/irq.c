/* The interrupt samplers: which interrupts moved, and on which node, from /proc/interrupts, and the
 * same of /proc/softirqs, which has the same shape. */
#include "bynode.h"
#include "counter.h"
#include "jsontext.h"
#include "notes.h"
#include "proctext.h"
#include "sampler.h"

#include "../../placement/kept.h"
#include "../../placement/sysroot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What differs between the two files. */
struct irq_source {
    const char *name, *path;
    const char *row_key; /* of a row's name in the record */
};

static const struct irq_source hard = {"irq", "/proc/interrupts", "irq"};
static const struct irq_source soft = {"softirq", "/proc/softirqs", "softirq"};

#define RAW_MAX_BYTES (256u << 20) /* 1152 CPUs x 4000 rows are 50 MB */

/* Rows are kept once for the whole run; an edge refers to them by index. */
struct irq_row {
    char *name, *text;
    size_t name_len, text_len;
};

struct irq_edge {
    int error;
    uint64_t t_ns;
    size_t columns, rows_n;
    uint32_t *cpus; /* [column] */
    uint32_t *row;  /* [i]: index into rows */
    uint64_t *sums; /* [i][slot] */
};

struct irq_sampler {
    struct sampler base;
    const struct irq_source *source;
    struct bynode nodes;
    char reason[256];
    unsigned edges_max;
    size_t raw_bytes;
    struct kept_file file;
    char *raw;
    ssize_t raw_len;
    struct irq_row *rows;
    size_t rows_n, rows_cap;
    struct irq_edge *edges;
};

static void irq_close(struct sampler *base)
{
    struct irq_sampler *s = (struct irq_sampler *)base;
    if (!s)
        return;
    for (unsigned i = 0; s->edges && i < s->edges_max; i++) {
        free(s->edges[i].cpus);
        free(s->edges[i].row);
        free(s->edges[i].sums);
    }
    for (size_t i = 0; i < s->rows_n; i++) {
        free(s->rows[i].name);
        free(s->rows[i].text);
    }
    free(s->rows);
    free(s->edges);
    kept_close(&s->file);
    free(s->raw);
    bynode_free(&s->nodes);
    free(s);
}

/* Makes room for the file and for rows that appear during the run. Returns its length or -errno. */
static ssize_t size_buffer(struct irq_sampler *s)
{
    for (size_t cap = 256u << 10; cap <= RAW_MAX_BYTES; cap *= 2) {
        char *bigger = realloc(s->raw, cap);
        if (!bigger)
            return -ENOMEM;
        s->raw = bigger;
        s->raw_bytes = cap;
        ssize_t n = kept_read(&s->file, s->source->path, s->raw, cap);
        if (n != -EOVERFLOW && (n < 0 || (size_t)n < cap / 4 * 3))
            return n;
    }
    return -EFBIG;
}

static struct sampler *open_source(const struct sample_ctx *ctx, const struct irq_source *source,
                                   struct err *err)
{
    struct irq_sampler *s = calloc(1, sizeof(*s));
    if (!s || !bynode_init(&s->nodes, ctx->topo))
        goto no_memory;
    s->source = source;
    s->edges_max = ctx->edges_max;
    s->edges = calloc(ctx->edges_max, sizeof(*s->edges));
    if (!s->edges)
        goto no_memory;
    ssize_t n = size_buffer(s);
    if (n < 0) {
        snprintf(s->reason, sizeof(s->reason), "%s: %s", source->path, strerror((int)-n));
        note_add(ctx->notes, NOTE_WARNING, source->name, "no interrupt counts: %s", s->reason);
    }
    return &s->base;
no_memory:
    irq_close(s ? &s->base : NULL);
    err_set(err, STATUS_FAILED, "%s sampler: out of memory", source->name);
    return NULL;
}

static struct sampler *irq_open(const struct sample_ctx *ctx, struct err *err)
{
    return open_source(ctx, &hard, err);
}

static struct sampler *softirq_open(const struct sample_ctx *ctx, struct err *err)
{
    return open_source(ctx, &soft, err);
}

static void irq_read(struct sampler *base, unsigned edge)
{
    struct irq_sampler *s = (struct irq_sampler *)base;
    if (s->reason[0] || edge >= s->edges_max)
        return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    s->edges[edge].t_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    s->raw_len = kept_read(&s->file, s->source->path, s->raw, s->raw_bytes);
}

static bool row_is(const struct irq_row *row, const struct irq_text *t)
{
    return row->name_len == t->name_len && row->text_len == t->text_len &&
           memcmp(row->name, t->name, t->name_len) == 0 &&
           memcmp(row->text, t->text, t->text_len) == 0;
}

/* Index of a row, new ones are added; `guess` is where it stands when nothing has changed. Returns
 * SIZE_MAX when memory is out. */
static size_t row_index(struct irq_sampler *s, const struct irq_text *t, size_t guess)
{
    if (guess < s->rows_n && row_is(&s->rows[guess], t))
        return guess;
    for (size_t i = 0; i < s->rows_n; i++)
        if (row_is(&s->rows[i], t))
            return i;
    if (s->rows_n == s->rows_cap) {
        size_t cap = s->rows_cap ? 2 * s->rows_cap : 64;
        struct irq_row *bigger = realloc(s->rows, cap * sizeof(*bigger));
        if (!bigger)
            return SIZE_MAX;
        s->rows = bigger;
        s->rows_cap = cap;
    }
    struct irq_row row = {.name = strndup(t->name, t->name_len),
                          .text = strndup(t->text, t->text_len),
                          .name_len = t->name_len,
                          .text_len = t->text_len};
    if (!row.name || !row.text) {
        free(row.name);
        free(row.text);
        return SIZE_MAX;
    }
    s->rows[s->rows_n] = row;
    return s->rows_n++;
}

static size_t count_lines(const char *text, size_t len)
{
    size_t n = 1;
    for (const char *p = text; (p = memchr(p, '\n', (size_t)(text + len - p)));)
        n++, p++;
    return n;
}

/* Fills e from the text; 0 or -errno. */
static int parse_edge(struct irq_sampler *s, struct irq_edge *e, const char *text, size_t len)
{
    const char *end = text + len, *newline = memchr(text, '\n', len);
    if (!newline)
        return -EBADMSG;
    size_t header_len = (size_t)(newline - text);
    e->columns = interrupts_header(text, header_len, NULL, 0);
    if (!e->columns)
        return -EBADMSG;
    size_t lines = count_lines(newline + 1, (size_t)(end - newline - 1));
    uint16_t *slot = calloc(e->columns, sizeof(*slot));
    e->cpus = calloc(e->columns, sizeof(*e->cpus));
    e->row = calloc(lines, sizeof(*e->row));
    e->sums = calloc(lines * s->nodes.n, sizeof(*e->sums));
    int error = slot && e->cpus && e->row && e->sums ? 0 : -ENOMEM;
    if (!error)
        interrupts_header(text, header_len, e->cpus, e->columns);
    for (size_t i = 0; !error && i < e->columns; i++)
        slot[i] = (uint16_t)bynode_slot(&s->nodes, e->cpus[i]);
    size_t guess = 0;
    for (const char *p = newline + 1; !error && p < end;) {
        newline = memchr(p, '\n', (size_t)(end - p));
        const char *line_end = newline ? newline : end;
        struct irq_text t;
        if (interrupts_row(p, (size_t)(line_end - p), slot, e->columns, s->nodes.n - 1,
                           e->sums + e->rows_n * s->nodes.n, &t)) {
            size_t index = row_index(s, &t, guess);
            if (index == SIZE_MAX)
                error = -ENOMEM;
            e->row[e->rows_n++] = (uint32_t)index;
            guess = index + 1;
        }
        p = line_end + 1;
    }
    free(slot);
    return error;
}

static void irq_settle(struct sampler *base, unsigned edge)
{
    struct irq_sampler *s = (struct irq_sampler *)base;
    if (s->reason[0] || edge >= s->edges_max)
        return;
    struct irq_edge *e = &s->edges[edge];
    free(e->cpus);
    free(e->row);
    free(e->sums);
    *e = (struct irq_edge){.t_ns = e->t_ns};
    e->error = s->raw_len < 0 ? (int)s->raw_len : parse_edge(s, e, s->raw, (size_t)s->raw_len);
}

/* The kernel pads the description into columns; people want single spaces. */
static json_t *squeezed(const char *text, size_t len)
{
    char buf[256];
    size_t n = 0;
    for (size_t i = 0; i < len && n + 1 < sizeof(buf); i++)
        if (text[i] != ' ' || (n && buf[n - 1] != ' '))
            buf[n++] = text[i];
    return json_textn(buf, n);
}

struct moved {
    size_t row;
    uint64_t total;
    bool reset;
    const uint64_t *sums;
};

static int by_total(const void *a, const void *b)
{
    const struct moved *x = a, *y = b;
    if (x->reset != y->reset)
        return x->reset ? -1 : 1;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static bool same_columns(const struct irq_edge *a, const struct irq_edge *b)
{
    return a->columns == b->columns && memcmp(a->cpus, b->cpus, a->columns * sizeof(*a->cpus)) == 0;
}

/* Steps of every row between two edges. steps is [b->rows_n][slots], position is [rows_n] scratch.
 * Returns the number of rows that moved. */
static size_t subtract(const struct irq_sampler *s, const struct irq_edge *a,
                       const struct irq_edge *b, size_t *position, uint64_t *steps,
                       struct moved *moved)
{
    size_t n = 0, slots = s->nodes.n;
    for (size_t i = 0; i < s->rows_n; i++)
        position[i] = SIZE_MAX;
    for (size_t i = 0; i < a->rows_n; i++)
        position[a->row[i]] = i;
    for (size_t i = 0; i < b->rows_n; i++) {
        size_t before = position[b->row[i]];
        struct moved m = {.row = b->row[i], .sums = steps + i * slots};
        for (size_t k = 0; k < slots; k++) {
            uint64_t from = before == SIZE_MAX ? 0 : a->sums[before * slots + k];
            m.reset |= !counter_sum_step(from, b->sums[i * slots + k], b->t_ns - a->t_ns,
                                         &steps[i * slots + k]);
            m.total += steps[i * slots + k];
        }
        if (m.total || m.reset)
            moved[n++] = m;
    }
    qsort(moved, n, sizeof(*moved), by_total);
    return n;
}

static json_t *rows_array(const struct irq_sampler *s, const struct moved *moved, size_t n,
                          uint64_t *sums, json_t *notes)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < n; i++) {
        const struct irq_row *row = &s->rows[moved[i].row];
        json_t *o = json_pack("{s:o}", s->source->row_key, json_textn(row->name, row->name_len));
        if (s->source == &hard)
            json_object_set_new(o, "text", squeezed(row->text, row->text_len));
        if (moved[i].reset) {
            json_set_missing(o, "total", "counted backwards: freed and requested again");
            note_add(notes, NOTE_WARNING, s->source->name,
                     "interrupt %s counted backwards (freed and requested again): left out",
                     row->name);
        } else {
            json_object_set_new(o, "total", json_integer((json_int_t)moved[i].total));
            bynode_put(&s->nodes, o, moved[i].sums);
            for (unsigned k = 0; k < s->nodes.n; k++)
                sums[k] += moved[i].sums[k];
        }
        json_array_append_new(rows, o);
    }
    return rows;
}

static json_t *irq_window(const struct sampler *base, unsigned from, unsigned to, json_t *notes)
{
    const struct irq_sampler *s = (const struct irq_sampler *)base;
    if (s->reason[0])
        return json_unavailable("%s", s->reason);
    const struct irq_edge *a = &s->edges[from], *b = &s->edges[to];
    int error = a->error ? a->error : b->error;
    if (error) {
        note_add(notes, NOTE_WARNING, s->source->name, "no interrupt counts: %s: %s",
                 s->source->path, strerror(-error));
        return json_unavailable("%s: %s", s->source->path, strerror(-error));
    }
    if (!same_columns(a, b)) {
        note_add(notes, NOTE_INVALID, s->source->name,
                 "CPUs went on- or offline: the columns of %s changed", s->source->path);
        return json_unavailable("the columns of %s changed during the window", s->source->path);
    }
    uint64_t *sums = calloc(s->nodes.n, sizeof(*sums));
    uint64_t *steps = calloc(b->rows_n * s->nodes.n + 1, sizeof(*steps));
    size_t *position = calloc(s->rows_n + 1, sizeof(*position));
    struct moved *moved = calloc(b->rows_n + 1, sizeof(*moved));
    json_t *o;
    if (sums && steps && position && moved) {
        size_t n = subtract(s, a, b, position, steps, moved);
        json_t *rows = rows_array(s, moved, n, sums, notes);
        uint64_t total = 0;
        for (unsigned k = 0; k < s->nodes.n; k++)
            total += sums[k];
        o = json_pack("{s:b, s:I}", "available", 1, "total", (json_int_t)total);
        bynode_put(&s->nodes, o, sums);
        json_object_set_new(o, "rows", rows);
    } else {
        o = json_unavailable("out of memory");
    }
    free(sums);
    free(steps);
    free(position);
    free(moved);
    return o;
}

const struct sampler_ops irq_sampler = {
    .name = "irq",
    .open = irq_open,
    .read = irq_read,
    .settle = irq_settle,
    .window = irq_window,
    .close = irq_close,
};

const struct sampler_ops softirq_sampler = {
    .name = "softirq",
    .open = softirq_open,
    .read = irq_read,
    .settle = irq_settle,
    .window = irq_window,
    .close = irq_close,
};
