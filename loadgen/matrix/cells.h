/* Axes and cells: which combinations of values are run.
 *
 * An axis is a line of [matrix] whose name is a key of the profile:
 *
 *     cpus = unpinned, node:0, "cpus:0,2"
 *
 * Values are separated by commas; one that holds a comma or a blank stands in double quotes. A cell
 * takes one value of each axis. A selection names some of them:
 *
 *     exclude = cpus=node:1 cq=balanced
 *
 * and stands for every cell that agrees with it. */
#ifndef NUMALOAD_MATRIX_CELLS_H
#define NUMALOAD_MATRIX_CELLS_H

#include "../profile.h"

#define CELLS_MAX 10000

struct axis {
    const struct key *key;
    char **values;
    unsigned values_n;
    unsigned line; /* in the profile */
};

/* For each axis the index of a value; -1: any. */
struct selection {
    int *value;
};

struct cells {
    struct axis *axes;
    unsigned axes_n;
    struct selection *excluded;
    unsigned excluded_n;
    struct selection *cells; /* with no -1; the last axis runs fastest */
    unsigned n;
};

/* From the [matrix] lines of p. Errors (STATUS_USAGE, with file and line): a name that is neither a
 * key nor a setting, one that cannot be an axis, a value that the key refuses or that stands there
 * twice, exclusions of values that no axis has, and nothing left. Free with cells_free. */
bool cells_read(struct cells *c, const struct profile *p, struct err *err);
void cells_free(struct cells *c);

/* Parses "cpus=node:1 cq=balanced"; names and values must be those of axes. */
bool selection_parse(struct selection *s, const struct cells *c, const char *text, struct err *err);

/* The first cell that has these values, and the first value of the axes that are not named (of the
 * others when that one is excluded); -1 when there is none. */
int cells_find(const struct cells *c, const struct selection *s);

/* "cpus=node:0 cq=balanced". */
const char *cell_text(const struct cells *c, unsigned cell, char *buf, size_t cap);

/* {"cpus": "node:0", "cq": "balanced"}; of a selection only what it names. New reference. */
json_t *selection_json(const struct cells *c, const struct selection *s);

/* Sets the values of a cell in p. They have been tried by cells_read. */
bool cell_apply(const struct cells *c, unsigned cell, struct profile *p, struct err *err);

#endif
