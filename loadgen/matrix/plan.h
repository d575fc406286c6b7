/* What a matrix will run, and in which order: from a profile and its settings alone, so that the
 * same profile and seed give the same plan in every process. plan-schema.json describes its JSON.
 */
#ifndef NUMALOAD_MATRIX_PLAN_H
#define NUMALOAD_MATRIX_PLAN_H

#include "cells.h"
#include "settings.h"

struct planned_run {
    unsigned run;    /* from 1, its name for good */
    unsigned cell;   /* index */
    unsigned repeat; /* from 1 */
    unsigned block;  /* from 1 */
    unsigned order;  /* position in the block, from 1 */
    unsigned boot;   /* share of the boots, from 1 */
    bool optional;   /* only while the precision is not reached */
};

struct plan {
    const struct matrix_settings *settings;
    struct cells cells;
    unsigned baseline; /* index of the cell */
    uint64_t seed;
    double precision; /* 0: none */
    unsigned repeats_max;
    struct planned_run *runs;
    unsigned runs_n;
    json_t *expect; /* [{name, statement, line}], word for word */
};

/* Errors are STATUS_USAGE and name file and line where there is one. The settings must outlive the
 * plan. Without an order-seed the plan has none yet: plan_order follows. */
bool plan_make(struct plan *plan, const struct profile *p, const struct matrix_settings *s,
               struct err *err);
void plan_free(struct plan *plan);

/* Draws a seed for a new series (getrandom(2)), below 2^53 so that every JSON reader can hold it.
 */
bool plan_draw_seed(uint64_t *seed, struct err *err);

/* Fills runs for that seed. */
bool plan_order(struct plan *plan, uint64_t seed, struct err *err);

/* The document; `profile` is what all cells share (with the first cell's values), borrowed like
 * `machine`. New reference. */
json_t *plan_json(const struct plan *plan, const struct profile *profile, json_t *machine,
                  const char *series);

/* The facts of this machine that a series depends on: kernel, product, CPUs, nodes. */
json_t *plan_machine(void);

/* Compares the plan of a folder with the one of this command. False when the series cannot go on:
 * the sentence says what differs. What only decides how many runs are wanted or how they are judged
 * (repeats, precision, boots, tries, baseline, expect) may change: *changed tells. */
bool plan_agrees(const json_t *was, const json_t *is, bool *changed, struct err *err);

#endif
