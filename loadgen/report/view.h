/* What reports read out of a record. Everything may be absent; nothing here fails. */
#ifndef NUMALOAD_VIEW_H
#define NUMALOAD_VIEW_H

#include "../record/skim.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The value at "a.b.c", or NULL. */
const json_t *view_at(const json_t *o, const char *path);
const char *view_text(const json_t *o, const char *path, const char *otherwise);
bool view_number(const json_t *o, const char *path, double *value);
bool view_integer(const json_t *o, const char *path, json_int_t *value);

/* Of the windows that are valid (of all when none is), the one with the median throughput; of an
 * even number the lower of the two. NULL when there is no window. *of is their number. */
const json_t *view_median_window(const json_t *record, size_t *of);

/* Lowest and highest throughput of the windows that view_median_window chose from. */
bool view_throughput_range(const json_t *record, double *low, double *high);

/* "node0", "unpinned", "nic" from the words of a placement: `workload` and `cqs` of the tables. The
 * work-queue mask stands for the completion queues when no queue was placed. */
struct view_word {
    char s[24];
};
struct view_word view_placement_word(const char *text); /* "node:1" is node1 in the tables */
struct view_word view_workload(const json_t *record);
struct view_word view_cqs(const json_t *record);

/* What ran beside the load ("perf-lock"), or "none". Instrumented rates are not rates of the load.
 */
const char *view_instrument(const json_t *record);

/* One name for the run: its label, or "workload / cqs". */
struct view_word view_name(const json_t *record);

extern const struct skim view_parts[]; /* what view_slim keeps: for record_read_part */

/* Takes out of a record what only the report of that one run shows (by node, by interrupt, by
 * thread), so that thousands fit in memory side by side. */
void view_slim(json_t *record);

/* Name and total of counter number i of a window, in the order of the record; false at the end. Not
 * known when the counter was reset. object holds "by_node", unless the record was slimmed. */
struct view_counter {
    const char *name;
    const json_t *object;
    bool known;
    json_int_t total;
};
bool view_counter(const json_t *window, size_t i, struct view_counter *c);
bool view_counter_named(const json_t *window, const char *name, struct view_counter *c);

/* The derived figures in the order of the tables; NULL name at the end. */
struct view_derived {
    const char *name, *path;
    double scale;
};
extern const struct view_derived view_derived[];

/* Facts that must agree between runs before figures are compared: {"host.kernel_release",
 * "kernels"}; NULL path at the end. */
struct view_fact {
    const char *path, *plural;
};
extern const struct view_fact view_same[];

#endif
