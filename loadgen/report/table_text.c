/* A table as text: columns side by side while they fit a mail. */
#include "table.h"

#include "fmt.h"
#include "text.h"

#include <string.h>

#define GAP 2

static const char *at(const struct table *t, size_t row, size_t column)
{
    return t->cells[row * t->columns + column];
}

static int width(const struct table *t, size_t column)
{
    size_t most = 0;
    for (size_t r = 0; r < table_rows(t); r++) {
        size_t len = strlen(at(t, r, column));
        most = len > most ? len : most;
    }
    return (int)most;
}

/* The columns from `first` on that fit beside column 0; one at least. */
static size_t fitting(const struct table *t, size_t first)
{
    int used = width(t, 0);
    size_t c = first;
    while (c < t->columns && (c == first || used + GAP + width(t, c) <= FMT_COLUMNS)) {
        used += GAP + width(t, c);
        c++;
    }
    return c;
}

static void put_row(FILE *out, const struct table *t, size_t row, size_t first, size_t last)
{
    /* the name gives way when one column alone does not fit */
    int rest = 0;
    for (size_t c = first; c < last; c++)
        rest += GAP + width(t, c);
    int name = width(t, 0);
    name = name + rest > FMT_COLUMNS ? FMT_COLUMNS - rest : name;
    name = name < 8 && name < width(t, 0) ? 8 : name;
    char line[512];
    int len = snprintf(line, sizeof(line), "%-*.*s", name, name, at(t, row, 0));
    for (size_t c = first; c < last && len < (int)sizeof(line); c++)
        len +=
            snprintf(line + len, sizeof(line) - (size_t)len, "  %*s", width(t, c), at(t, row, c));
    len = len > FMT_COLUMNS ? FMT_COLUMNS : len;
    while (len > 0 && line[len - 1] == ' ')
        len--;
    line[len] = '\0';
    char clean[FMT_COLUMNS + 1];
    fprintf(out, "%s\n", fmt_ascii(clean, sizeof(clean), line));
}

static void put_prose(FILE *out, const struct table *t)
{
    for (size_t r = 1; r < table_rows(t); r++) {
        char head[64];
        int len = 0, name = width(t, 0) < 28 ? width(t, 0) : 28;
        for (size_t c = 0; c + 1 < t->columns && len < 40; c++)
            len += snprintf(head + len, sizeof(head) - (size_t)len, "%-*.*s  ",
                            c ? width(t, c) : name, 28, at(t, r, c));
        fmt_wrapped(out, len, head, at(t, r, t->columns - 1));
    }
}

void table_text(FILE *out, const struct table *t)
{
    text_heading(out, t->title);
    if (t->prose)
        put_prose(out, t);
    for (size_t first = 1, last; !t->prose && first < t->columns; first = last) {
        last = fitting(t, first);
        if (first > 1)
            fputc('\n', out);
        for (size_t r = 0; r < table_rows(t); r++)
            put_row(out, t, r, first, last);
    }
    if (*t->note)
        fmt_wrapped(out, 0, "", t->note);
}
