/* Pieces that the two text reports share. */
#ifndef NUMALOAD_TEXT_H
#define NUMALOAD_TEXT_H

#include "fmt.h"

#include "../../placement/err.h"

#include <jansson.h>
#include <stdio.h>

/* "INVALID", "FAILED", "CUT SHORT" or NULL for a record that may be believed. */
const char *text_verdict(const json_t *record);

/* The notes of one level (all levels for NULL) of the record and of each window, one a paragraph.
 * Returns how many. */
size_t text_notes(FILE *out, const json_t *record, const char *level, const char *mark);

/* A heading with a rule under it. */
void text_heading(FILE *out, const char *text);

/* The last word on the stream: false when it could not take the report. */
bool text_finish(FILE *out, struct err *err);

/* "node0", cut to 11 columns. */
struct fmt text_node_name(const char *id);

/* Ids of the nodes in a "by_node" object, at most max; returns their number. */
size_t text_nodes(const json_t *by_node, const char **ids, size_t max);

/* The counters and the figures that follow from them (text_counters.c). */
void text_counters(FILE *out, const json_t *window);
void text_checks(FILE *out, const json_t *record, const json_t *window);

/* Where completions ran, when it could be told: frees by node and the kernel's workers. */
void text_completions(FILE *out, const json_t *window);

#endif
