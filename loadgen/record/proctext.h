/* The text of /proc files that samplers read, as pure functions over (text, len). */
#ifndef NUMALOAD_PROCTEXT_H
#define NUMALOAD_PROCTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads decimal digits at *p and moves behind them; false when there are none or the number is
 * above max. */
bool text_number(const char **p, const char *end, uint64_t max, uint64_t *value);
void text_skip_blanks(const char **p, const char *end);

/* The number behind a key at the start of a line or behind blanks: "numa_hit 12",
 * "Node 0 MemFree:   12 kB", "voluntary_ctxt_switches:\t12". */
bool text_value(const char *text, size_t len, const char *key, uint64_t *value);

/* ---- /proc/stat ---- */
enum cpu_field {
    CPU_USER,
    CPU_NICE,
    CPU_SYSTEM,
    CPU_IDLE,
    CPU_IOWAIT,
    CPU_IRQ,
    CPU_SOFTIRQ,
    CPU_STEAL,
    CPU_FIELDS
};

struct cpu_times {
    bool present; /* has a line: is online */
    uint64_t ticks[CPU_FIELDS];
};

/* The "cpuN" lines into cpus[0 .. cpus_n - 1]; *beyond counts lines with a higher id. The text may
 * end anywhere behind those lines (a last line without a newline is not read). False when there is
 * no such line or one does not parse. */
bool procstat_parse(const char *text, size_t len, struct cpu_times *cpus, unsigned cpus_n,
                    unsigned *beyond);

/* ---- /proc/interrupts ---- */
struct irq_text {
    const char *name, *text; /* into the line: "24" or "NMI", and what follows the counts */
    size_t name_len, text_len;
};

/* The first line: ids of the online CPUs, one a column. Returns the number of columns (of which at
 * most max are stored), 0 when the line is not a header. */
size_t interrupts_header(const char *line, size_t len, uint32_t *cpus, size_t max);

/* One row: adds the count of each column to sums[slot[column]]. Rows with fewer counts than columns
 * (ERR, MIS) are not per CPU: they go to sums[other]. False when it is not a row. */
bool interrupts_row(const char *line, size_t len, const uint16_t *slot, size_t columns,
                    unsigned other, uint64_t *sums, struct irq_text *out);

/* ---- /proc/PID/stat ---- */
struct task_stat {
    char comm[64];
    uint64_t utime_ticks, stime_ticks;
    uint64_t cpu; /* on which it ran last */
};

/* The name is between the first "(" and the last ")": it may hold both, and spaces. */
bool taskstat_parse(const char *text, size_t len, struct task_stat *out);

/* ---- /proc/PID/schedstat ---- */
/* "run_ns wait_ns timeslices" */
bool schedstat_parse(const char *text, size_t len, uint64_t *run_ns, uint64_t *wait_ns);

#endif
