/* Tables of a comparison without a format: markdown and html render them. */
#ifndef NUMALOAD_TABLE_H
#define NUMALOAD_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Cells are text, row after row; the first row is the head. An empty cell is unavailable. */
struct table {
    char title[96];
    bool prose;     /* the last column is a sentence: wrapped in text, left-aligned elsewhere */
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

/* Appends an empty table; NULL when memory is out. It moves when the next one is begun. */
struct table *table_begin(struct table_list *list, size_t columns, const char *title);

/* Appends a cell; false when memory is out. */
bool table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Takes the last table back when it has no more than `heads` rows; true when it did. */
bool table_drop(struct table_list *list, size_t heads);

/* One table in each format. Text: at most 72 columns; what is wider goes on in further tables that
 * repeat the first column. */
void table_text(FILE *out, const struct table *t);
void table_markdown(FILE *out, const struct table *t);
void table_html(FILE *out, const struct table *t);

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
