/* Is somebody else moving interrupts, and can that be kept from the ones that matter?
 *
 * Two things of a running irqbalance are values that a setting (setting.h) can read, write, journal
 * and put back like a file of /proc:
 *
 *   irqbalance:process     "stopped", or one line of JSON that says how it was started: the
 * program, its arguments, its IRQBALANCE_* environment and its systemd unit if it is one. Writing
 * "stopped" ends it, writing such a line starts it again. irqbalance:PID:banned  numbers of the
 * interrupts that it is told to leave alone, "25 26\n", ascending. Through its socket
 * (irqbalance(1), "API"): the message "setup" lists them, "settings ban irqs N N" replaces the
 * list.
 */
#ifndef NUMALOAD_IRQBALANCE_H
#define NUMALOAD_IRQBALANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Pid of a running irqbalance, found by the name in /proc/PID/comm (proc(5)) through the sysroot
 * seam; 0 when none is seen. */
int irqbalance_pid(void);

#define IRQBALANCE_PROCESS "irqbalance:process"
#define IRQBALANCE_STOPPED "stopped\n"
#define IRQBALANCE_BANNED "irqbalance:%d:banned"

/* irqbalance reads a message into 500 bytes and takes what fits, half a number too. */
#define IRQBALANCE_MESSAGE_MAX 499

bool irqbalance_owns(const char *path);

/* Length of the text, which the caller frees, or -errno: -ENOENT when that process is gone. */
ssize_t irqbalance_read(const char *path, char **text);

/* 0 or -errno: -E2BIG when a list does not fit into one message, -ETIMEDOUT when it does not end or
 * does not start. Waits up to 5 s. Live machines only (-EROFS). */
int irqbalance_write(const char *path, const char *text);

/* For the file irqbalance_ban.c. */
ssize_t irqbalance_read_banned(int pid, char **text);
int irqbalance_write_banned(int pid, const char *text);

/* The list in an answer to "setup": the numbers after each "IRQ", ascending; NULL when memory is
 * out. */
char *irqbalance_parse_setup(const char *answer);

#endif
