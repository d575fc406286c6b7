/* Pieces of the page that reports share. */
#ifndef NUMALOAD_HTML_H
#define NUMALOAD_HTML_H

#include "plot.h"

#include <jansson.h>
#include <stdio.h>

/* The beginning of a page as far as its heading. */
void html_head(FILE *out, const char *title);

/* Text as HTML: nothing in it is markup. */
void html_text(FILE *out, const char *text);

/* Sentences, one a string of the array, in a box that is hard to overlook. */
void html_doubts(FILE *out, const json_t *doubts);

/* Each plot with its caption, or why it is not shown. */
void html_plots(FILE *out, const struct plot *list, const struct plot_data *data);

#endif
