/* Statements about a matrix, as they stand in the [expect] section of a profile:
 *
 *   cross = median(bytes_per_s, cpus=node:1 cq=node:1) /
 *           median(bytes_per_s, cpus=node:0 cq=node:1) >= 1.04          (on one line)
 *   remote = median(remote_free_share, cpus=node:0 cq=node:1) >= 0.95
 *   barn = mean(sheaf_flush_sheaves_per_barn_put_fail, cpus=node:0) within 1 % of 1
 *
 *   statement  expr (>= | <= | > | <) expr,   expr within number [%] of number
 *   expr       numbers, + - * / and parentheses, and FIGURE(METRIC[, AXIS=VALUE ...])
 *   FIGURE     median mean min max, over the counted runs of all cells that agree with the values;
 *              where instruments are an axis and none is named, over runs without one
 *   METRIC     see metric.h
 *
 * The answer has a figure (the left side; left minus right when the right side is no constant), and
 * its 95 % interval from bootstrap.h: reproduced when all of the interval agrees, not reproduced
 * when none of it does, else undecided. */
#ifndef NUMALOAD_EXPECT_H
#define NUMALOAD_EXPECT_H

#include "stats.h"

#include "../../placement/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Cells as texts: values[cell * keys_n + axis]. */
struct expect_cells {
    const char *const *keys;
    size_t keys_n;
    const char *const *values;
    size_t cells_n;
};

struct expect;

/* Checks syntax, names of metrics and, when cells is not NULL, that each figure names axes and
 * cells that exist. file may be NULL; errors are STATUS_USAGE and begin "FILE:LINE: " when it is
 * not. Free with expect_free. */
bool expect_parse(const char *name, const char *statement, const char *file, unsigned line,
                  const struct expect_cells *cells, struct expect **out, struct err *err);
void expect_free(struct expect *e);

enum expect_verdict { EXPECT_REPRODUCED, EXPECT_NOT_REPRODUCED, EXPECT_UNDECIDED };

/* "reproduced", "not reproduced", "undecided" */
const char *expect_word(enum expect_verdict v);

struct expect_answer {
    enum expect_verdict verdict;
    double figure;                  /* NAN when a cell has no run with the metric */
    struct stats_interval interval; /* of the figure */
    char reason[200];               /* why there is no figure or no interval, or "" */
};

/* The figure of run i, NAN when it has none. `metric` is a name that expect_parse accepted. */
typedef double expect_getter(const void *data, size_t run, const char *metric);

/* runs: the counted ones; their `value` is not used. e must have been parsed with the cells that
 * runs refer to. seed: of the bootstrap. */
void expect_answer(const struct expect *e, const struct stats_run *runs, size_t n,
                   expect_getter *value, const void *data, uint64_t seed,
                   struct expect_answer *out);

/* 0: all are reproduced; 1: one is not; 125 ("cannot be tested" to git bisect run): none is false,
 * one is undecided. */
int expect_exit_status(const enum expect_verdict *verdicts, size_t n);

#endif
