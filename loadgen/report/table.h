/* Tables of a comparison without a format: markdown and html render them. */
#ifndef NUMALOAD_TABLE_H
#define NUMALOAD_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Cells are text, row after row; the first row is the head. An empty cell is unavailable. */
struct table {
    char title[96];
    char note[256]; /* a sentence under it, or "" */
    size_t columns, cells_n, cap;
    char **cells;
};

static inline size_t table_rows(const struct table *t)
{
    return t->columns ? t->cells_n / t->columns : 0;
}

struct table_list {
    struct table *tables;
    size_t n;
};

/* One run, or several as columns: throughput, latency, counters, what follows from them, idle time.
 * False when memory is out; list is valid (and to be freed) in any case. */
bool tables_make(struct table_list *list, const json_t *const *records, size_t n);
void tables_free(struct table_list *list);

/* Sentences about runs that must not be believed or compared, one a string, as a JSON array. New
 * reference. */
json_t *tables_doubts(const json_t *const *records, size_t n);

/* Name of column i: A, B, ... Z, 27, ... */
struct table_key {
    char s[24];
};
struct table_key table_key(size_t i);

#endif
