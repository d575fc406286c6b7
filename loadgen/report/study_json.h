/* Pieces of a report that are JSON: new references. */
#ifndef NUMALOAD_STUDY_JSON_H
#define NUMALOAD_STUDY_JSON_H

#include "study.h"

/* null for NAN and infinity */
json_t *study_json_number(double v);

/* {"cpus": "node:0", ...} */
json_t *study_json_cell(const struct study *s, size_t cell);

/* {"ratio", "interval", "paired", "p", "p_exact", "words"}, or null */
json_t *study_json_comparison(const struct study *s, const struct stats_comparison *c);

#endif
