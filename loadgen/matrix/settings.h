/* How a matrix is run: the keys of [matrix] that are no axis, which are options as well. */
#ifndef NUMALOAD_MATRIX_SETTINGS_H
#define NUMALOAD_MATRIX_SETTINGS_H

#include "../profile.h"

struct matrix_settings {
    char *folder; /* NULL: the profile's name without .ini, with .matrix */
    uint64_t repeats;
    uint64_t repeats_max; /* 0: see plan.h */
    char *precision;      /* "1%" or "0.01"; NULL: all repeats */
    char *order;
    uint64_t order_seed; /* 0: drawn when the series begins */
    char *baseline;      /* NULL: the first value of each axis */
    uint64_t warmup;
    uint64_t boots;
    uint64_t tries;
    char *remount;
    uint64_t pause_ns;
    uint64_t settle_max_ns; /* 0: no settle rule */
    uint64_t settle_idle_points;
    uint64_t settle_interrupts_percent;
    bool dry_run;
    bool new_series;
};

extern const struct key matrix_keys[]; /* ends with name == NULL; no name is a key of a profile */

/* The key of that name ('-' and '_' are the same), or NULL. */
const struct key *matrix_key(const char *name);

/* All defaults. Free with settings_free. */
bool settings_init(struct matrix_settings *s, struct err *err);
void settings_free(struct matrix_settings *s);

/* Takes the settings among the [matrix] lines of p. Errors name file and line. */
bool settings_from_profile(struct matrix_settings *s, const struct profile *p, struct err *err);

/* Takes the settings among the options "--key value", "--key=value", "--flag" out of argv; what
 * belongs to the profile stays, in order, in rest (argc + 1 long, NULL-terminated). */
bool settings_from_options(struct matrix_settings *s, int argc, char **argv, char **rest,
                           int *rest_n, struct err *err);

#endif
