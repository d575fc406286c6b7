/* Plots by gnuplot as SVG, to be put into a page. */
#ifndef NUMALOAD_PLOT_H
#define NUMALOAD_PLOT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A plot: writes gnuplot's commands and data to gp. False when the records have nothing for it.
 * Nothing from a record but numbers and plain words may be written: gnuplot runs what stands
 * between backquotes. */
struct plot {
    const char *name;    /* a plain word, unique in the page */
    const char *caption; /* what is seen, and how to read it */
    bool (*commands)(FILE *gp, const json_t *const *records, size_t n);
};

extern const struct plot plots[]; /* ends with a NULL name */

/* Runs gnuplot. The caller frees *svg, an "<svg ...>...</svg>" whose black is currentColor. NULL in
 * *svg and a sentence in `reason` when there is none. */
void plot_make(const struct plot *plot, const json_t *const *records, size_t n, char **svg,
               char *reason, size_t cap);

#endif
