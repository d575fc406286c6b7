/* Comparisons in words: what a reader takes away from them. */
#ifndef NUMALOAD_WORDS_H
#define NUMALOAD_WORDS_H

#include "stats.h"

struct words {
    char s[200];
};

/* "slower by 6.1 % (4.9-7.2)" when the interval leaves out "equal"; "no difference larger than
 * 0.8 %" when it is narrower than +-precision (a share, such as 0.02); else "too noisy to tell:
 * needs about 14 repeats" (or boots, mounts), or words_too_few. more and less: "faster" and
 * "slower". */
struct words words_comparison(const struct stats_comparison *c, double precision, const char *more,
                              const char *less);

/* "2 boots: too few for an interval", of one for which stats_interval_tells is false. */
struct words words_too_few(const struct stats_interval *i);

/* "0.031", "< 0.001", or "" when there is none. */
struct words words_p(const struct stats_comparison *c);

/* "boots", "mounts", "repeats" */
const char *words_level(enum stats_level level);

#endif
