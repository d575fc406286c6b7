/* A builder of tables that remembers failure: memory is asked for in hundreds of places. */
#ifndef NUMALOAD_MAKER_H
#define NUMALOAD_MAKER_H

#include "study.h"
#include "table.h"

#include <stdarg.h>

struct maker {
    struct table_list *list;
    struct table *t;       /* begun last */
    const struct study *s; /* what is shown, or of a comparison its sides: */
    const struct study *a, *b;
    bool failed;
};

static inline void begin(struct maker *m, size_t columns, const char *title)
{
    m->t = table_begin(m->list, columns, title);
    m->failed |= !m->t;
}

__attribute__((format(printf, 2, 3))) static inline void cell(struct maker *m, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (!m->failed)
        m->failed = !table_cell(m->t, "%s", text);
}

#endif
