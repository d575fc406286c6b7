/* /proc/interrupts as a table (proc(5); kernel/irq/proc.c).
 *
 * The columns are the online CPUs, named by the header line, and may change from one read to the
 * next. A row is a label, its counts and a text that only people and names are taken from. */
#ifndef NUMALOAD_INTERRUPTS_H
#define NUMALOAD_INTERRUPTS_H

#include "err.h"

#include <stddef.h>
#include <stdint.h>

struct interrupts_row {
    int irq;                /* -1: an architecture's own row such as NMI */
    const char *label;      /* "24", "NMI" */
    const uint64_t *counts; /* one a column; rows such as ERR have fewer, the rest is 0 */
    const char *action;     /* who asked for it: "virtio1-input.0", "eth0, usb1"; "" for nobody */
};

struct interrupts {
    unsigned *cpus; /* the CPU of each column, ascending */
    unsigned cpus_n;
    struct interrupts_row *rows;
    size_t rows_n;
    void *text, *counts; /* what the rows point into */
};

/* Strict: a header that is not a row of ascending CPUn, a numbered row with another number of
 * counts than there are columns, and a count that does not fit are refused, naming the line.
 * Release with interrupts_free, also after a refusal. */
bool interrupts_parse(struct interrupts *out, const char *text, struct err *err);

/* Reads and parses the file through the sysroot seam. */
bool interrupts_read(struct interrupts *out, struct err *err);

void interrupts_free(struct interrupts *in);

/* The row of an interrupt number, or NULL. */
const struct interrupts_row *interrupts_find(const struct interrupts *in, unsigned irq);

/* Whether two tables have the same columns. */
bool interrupts_same_cpus(const struct interrupts *a, const struct interrupts *b);

#endif
