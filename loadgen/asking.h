/* From the keys of a profile to what the placement library is asked for. */
#ifndef NUMALOAD_ASKING_H
#define NUMALOAD_ASKING_H

#include "../placement/place.h"
#include "profile.h"

/* The placement words of p for that many threads; strings stay p's. */
struct place_ask ask_of_profile(const struct profile *p, unsigned threads,
                                uint64_t bytes_per_thread);

#endif
