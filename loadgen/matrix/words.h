/* Comparisons in words: what a reader takes away from them. */
#ifndef NUMALOAD_WORDS_H
#define NUMALOAD_WORDS_H

#include "stats.h"

struct words {
    char s[200];
};

/* "slower by 6.1 % (4.9-7.2)" when the interval leaves out "equal"; "no difference larger than
 * 0.8 %" when it is narrower than +-precision (a share, such as 0.02); else "too noisy to tell:
 * needs about 14 repeats" (or boots, mounts). more and less: "faster" and "slower". */
struct words words_comparison(const struct stats_comparison *c, double precision, const char *more,
                              const char *less);

/* "0.031", "< 0.001", or "" when there is none. */
struct words words_p(const struct stats_comparison *c);

/* "boots", "mounts", "repeats" */
const char *words_level(enum stats_level level);

#endif
