/* Plots by gnuplot as SVG, to be put into a page. */
#ifndef NUMALOAD_PLOT_H
#define NUMALOAD_PLOT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct study;

/* What is plotted: runs side by side, or a matrix. */
struct plot_data {
    const json_t *const *records;
    size_t n;
    const struct study *study;
};

/* A plot: writes gnuplot's commands and data to gp. False when the records have nothing for it.
 * Nothing from a record but numbers and plain words may be written: gnuplot runs what stands
 * between backquotes. */
struct plot {
    const char *name;    /* a plain word, unique in the page */
    const char *caption; /* what is seen, and how to read it */
    bool (*commands)(FILE *gp, const struct plot_data *data);
};

extern const struct plot plots[];       /* of records; ends with a NULL name */
extern const struct plot study_plots[]; /* of a study */

/* Letters, digits and "_" of a text, so that nothing of it is a command. */
struct plot_word {
    char s[40];
};
struct plot_word plot_word(const char *text);

/* Runs gnuplot. The caller frees *svg, an "<svg ...>...</svg>" whose black is currentColor. NULL in
 * *svg and a sentence in `reason` when there is none. */
void plot_make(const struct plot *plot, const struct plot_data *data, char **svg, char *reason,
               size_t cap);

#endif
