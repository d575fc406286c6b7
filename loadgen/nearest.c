#include "nearest.h"

#include <stddef.h>
#include <string.h>

/* Edit distance in one row; names are short. */
static unsigned distance(const char *a, const char *b)
{
    enum { MAX = 64 };
    size_t n = strlen(b);
    if (strlen(a) >= MAX || n >= MAX)
        return MAX;
    unsigned row[MAX + 1];
    for (unsigned j = 0; j <= n; j++)
        row[j] = j;
    for (unsigned i = 1; *a; a++, i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= n; j++) {
            unsigned best = diagonal + (*a != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[n];
}

void nearest_begin(struct nearest *n, const char *typed)
{
    *n = (struct nearest){.typed = typed, .least = (unsigned)strlen(typed) / 2 + 1};
}

void nearest_offer(struct nearest *n, const char *name)
{
    unsigned d = distance(n->typed, name);
    if (d < n->least) {
        n->least = d;
        n->best = name;
    }
}
