/* The text of SLUB's statistics (CONFIG_SLUB_STATS), as pure functions. */
#ifndef NUMALOAD_SLAB_H
#define NUMALOAD_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slab_line {
    uint64_t total;     /* as printed: the sum over online CPUs of 32-bit values */
    uint64_t sum;       /* of the per-CPU values that were read */
    uint64_t beyond;    /* of those, on CPUs with an id of cpus_n and more */
    uint64_t cpus_seen; /* values of CPUs below this id are known; UINT64_MAX: of all */
    bool any_cpu;
};

/* Parses "total C0=n C5=n ...\n". Fills values[0 .. cpus_n - 1] (0 for a CPU that is not named) and
 * *line. A line that the kernel cut at a page ends inside a field: the last field is dropped.
 * Returns false when the text is anything else. */
bool slab_parse(const char *text, size_t len, uint32_t *values, unsigned cpus_n,
                struct slab_line *line);

/* Attributes of a cache that are not statistics although "0" could be one. */
bool slab_is_attribute(const char *name);

/* One counter over a window. */
struct slab_delta {
    bool reset;    /* counted backwards: nothing is known */
    bool complete; /* by_cpu adds up to total */
    unsigned reset_cpu;
    uint64_t total;
};

/* Per-CPU steps into by_cpu[cpus_n] and the total. The total is taken from the per-CPU steps when
 * both lines are complete, since the printed sum loses 2^32 with each wrap of a CPU. */
struct slab_delta slab_subtract(const struct slab_line *from, const uint32_t *from_values,
                                const struct slab_line *to, const uint32_t *to_values,
                                unsigned cpus_n, uint64_t elapsed_ns, uint64_t *by_cpu);

#endif
