#include "table.h"

#include "fmt.h"
#include "text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct table *table_begin(struct table_list *list, size_t columns, const char *title)
{
    struct table *bigger = realloc(list->tables, (list->n + 1) * sizeof(*bigger));
    if (!bigger)
        return NULL;
    list->tables = bigger;
    struct table *t = &bigger[list->n++];
    *t = (struct table){.columns = columns};
    snprintf(t->title, sizeof(t->title), "%s", title);
    return t;
}

bool table_cell(struct table *t, const char *fmt, ...)
{
    if (t->cells_n == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 64;
        char **bigger = realloc(t->cells, cap * sizeof(*bigger));
        if (!bigger)
            return false;
        t->cells = bigger;
        t->cap = cap;
    }
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    t->cells[t->cells_n] = strdup(text);
    return t->cells[t->cells_n] && ++t->cells_n;
}

static void free_cells(struct table *t)
{
    for (size_t k = 0; k < t->cells_n; k++)
        free(t->cells[k]);
    free(t->cells);
}

bool table_drop(struct table_list *list, size_t heads)
{
    struct table *t = &list->tables[list->n - 1];
    if (table_rows(t) > heads)
        return false;
    free_cells(t);
    list->n--;
    return true;
}

void tables_free(struct table_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free_cells(&list->tables[i]);
    free(list->tables);
    *list = (struct table_list){0};
}
