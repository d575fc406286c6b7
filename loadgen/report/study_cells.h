/* First half of a study: axes, cells, and which runs count. Internal to study*.c. */
#ifndef NUMALOAD_STUDY_CELLS_H
#define NUMALOAD_STUDY_CELLS_H

#include "study.h"

/* Fills runs, keys, values, baseline. */
bool study_cells_make(struct study *s, const json_t *const *records, struct err *err);

/* Fills left_out of the runs that do not count. */
void study_runs_judge(struct study *s);

#endif
