#include "slab.h"

#include "counter.h"
#include "proctext.h"

#include <string.h>

/* sysfs hands out at most one page less a byte. Pages are larger than this on other machines, so a
 * line without its newline is cut only from here on; shorter ones are files that somebody made. */
#define CUT_BYTES 4095

#define WRAP (UINT64_C(1) << 32)

/* " C5=12": moves *p behind it. */
static bool field(const char **p, const char *end, uint64_t *cpu, uint64_t *value)
{
    const char *q = *p;
    if (end - q < 2 || q[0] != ' ' || q[1] != 'C')
        return false;
    q += 2;
    if (!text_number(&q, end, UINT32_MAX, cpu) || q == end || *q++ != '=')
        return false;
    if (!text_number(&q, end, UINT32_MAX, value))
        return false;
    *p = q;
    return true;
}

bool slab_parse(const char *text, size_t len, uint32_t *values, unsigned cpus_n,
                struct slab_line *line)
{
    *line = (struct slab_line){.cpus_seen = UINT64_MAX};
    if (cpus_n)
        memset(values, 0, cpus_n * sizeof(*values));
    const char *newline = memchr(text, '\n', len);
    const char *end = newline ? newline : text + len;
    if (newline && newline + 1 != text + len)
        return false;
    const char *p = text;
    if (!text_number(&p, end, UINT64_MAX, &line->total))
        return false;
    if (!newline && len >= CUT_BYTES) {
        while (end > p && *--end != ' ')
            ;
        line->cpus_seen = 0;
    }
    uint64_t next = 0; /* the kernel lists CPUs in ascending order */
    while (p < end) {
        uint64_t cpu, value;
        if (!field(&p, end, &cpu, &value) || cpu < next)
            return false;
        next = cpu + 1;
        if (line->cpus_seen != UINT64_MAX)
            line->cpus_seen = next;
        line->any_cpu = true;
        line->sum += value;
        if (cpu < cpus_n)
            values[cpu] = (uint32_t)value;
        else
            line->beyond += value;
    }
    return true;
}

bool slab_is_attribute(const char *name)
{
    /* Of Linux 2.6.22 to 7.3. Statistics are not listed: they are what is left. */
    static const char *const attributes[] = {
        "aliases",
        "align",
        "alloc_calls",
        "cache_dma",
        "cpu_partial",
        "cpu_slabs",
        "ctor",
        "destroy_by_rcu",
        "failslab",
        "free_calls",
        "hwcache_align",
        "min_partial",
        "object_size",
        "objects",
        "objects_partial",
        "objs_per_slab",
        "order",
        "partial",
        "poison",
        "reclaim_account",
        "red_zone",
        "remote_node_defrag_ratio",
        "reserved",
        "sanity_checks",
        "sheaf_capacity",
        "shrink",
        "skip_kfence",
        "slab_size",
        "slabs",
        "slabs_cpu_partial",
        "store_user",
        "total_objects",
        "trace",
        "usersize",
        "validate",
        "cpuset",
        "cgroup",
    };
    for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
        if (strcmp(name, attributes[i]) == 0)
            return true;
    return false;
}

struct slab_delta slab_subtract(const struct slab_line *from, const uint32_t *from_values,
                                const struct slab_line *to, const uint32_t *to_values,
                                unsigned cpus_n, uint64_t elapsed_ns, uint64_t *by_cpu)
{
    uint64_t seen = from->cpus_seen < to->cpus_seen ? from->cpus_seen : to->cpus_seen;
    struct slab_delta d = {.complete = seen == UINT64_MAX && from->sum == from->total &&
                                       to->sum == to->total};
    uint64_t sum = 0, wraps = 0;
    for (unsigned cpu = 0; cpu < cpus_n; cpu++) {
        by_cpu[cpu] = 0;
        if (cpu >= seen)
            continue;
        if (!counter_step(from_values[cpu], to_values[cpu], elapsed_ns, &by_cpu[cpu])) {
            d.reset = true;
            d.reset_cpu = cpu;
            return d;
        }
        wraps += to_values[cpu] < from_values[cpu];
        sum += by_cpu[cpu];
    }
    uint64_t beyond = 0;
    if (d.complete && counter_sum_step(from->beyond, to->beyond, elapsed_ns, &beyond)) {
        d.total = sum + beyond;
        return d;
    }
    /* Some CPUs are out of sight: the printed totals decide, corrected by the wraps that were seen
     * and by those that must have happened for the rest not to be negative. */
    d.complete = false;
    d.total = to->total + wraps * WRAP - from->total;
    if (to->total + wraps * WRAP < from->total + sum) {
        uint64_t rest;
        if (!counter_sum_step(from->total + sum, to->total + wraps * WRAP, elapsed_ns, &rest)) {
            d.reset = true;
            d.reset_cpu = (unsigned)seen;
            return d;
        }
        d.total = sum + rest;
    }
    return d;
}
