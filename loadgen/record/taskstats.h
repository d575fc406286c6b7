/* What the kernel sums over all threads of this process, in one request: TASKSTATS_CMD_ATTR_TGID of
 * the generic netlink family TASKSTATS (Documentation/accounting/taskstats.rst,
 * kernel/taskstats.c). A file a thread says the same and costs a call a thread.
 *
 * It needs CAP_NET_ADMIN, the first network namespace, and CONFIG_TASKSTATS with
 * CONFIG_TASK_DELAY_ACCT. */
#ifndef NUMALOAD_TASKSTATS_H
#define NUMALOAD_TASKSTATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: closed. Used by one thread. */
struct taskstats_link {
    int fd_plus_1;
    uint16_t family;
    uint32_t sequence;
};

/* Since the process began, of threads that have ended too. */
struct taskstats_sums {
    uint64_t run_ns;  /* cpu_run_virtual_total: the scheduler's sum of execution time */
    uint64_t wait_ns; /* cpu_delay_total: runnable, and not running */
};

/* False where the kernel does not answer with sums; the link is closed then. */
bool taskstats_open(struct taskstats_link *t);

/* False: no answer, and the link is closed. */
bool taskstats_read(struct taskstats_link *t, struct taskstats_sums *out);

void taskstats_close(struct taskstats_link *t);

/* ---- messages, of any bytes; aligned as malloc() aligns ---- */

/* The family's number in an answer to CTRL_CMD_GETFAMILY; 0: none. */
uint16_t taskstats_family(const void *message, size_t n);

/* False where the message is not the answer to `sequence`, or has no sums: a kernel without delay
 * accounting answers with zeros. */
bool taskstats_parse(const void *message, size_t n, uint32_t sequence, struct taskstats_sums *out);

#endif
