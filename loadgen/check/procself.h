/* What this process may do, as the kernel says in /proc/self (proc(5)), through the sysroot seam.
 */
#ifndef NUMALOAD_PROCSELF_H
#define NUMALOAD_PROCSELF_H

#include <stdbool.h>
#include <stdint.h>

/* Effective user id and effective capabilities (CapEff) of /proc/self/status; UINT64_MAX and 0
 * when they cannot be read. */
void procself_read(uint64_t *uid, uint64_t *capabilities);

/* Bits of CapEff (linux/capability.h). */
enum { PROC_CAP_IPC_LOCK = 14, PROC_CAP_SYS_ADMIN = 21, PROC_CAP_SYS_RESOURCE = 24 };

/* The limits of a line of /proc/self/limits, "Max open files"; UINT64_MAX for unlimited, `hard` may
 * be NULL. False when there is no such line. */
bool procself_limit(const char *name, uint64_t *soft, uint64_t *hard);

/* The same from the text of such a file. */
bool procself_limit_in(const char *text, const char *name, uint64_t *soft, uint64_t *hard);

/* The tightest pids.max of the cgroups that this process is in (version 2, or the pids controller
 * of version 1), with the tasks that are in that one now. False when there is no limit. */
bool procself_pids(uint64_t *max, uint64_t *current);

/* The folder below /sys where the limits of tasks of one line of /proc/self/cgroup are; false for
 * lines of other controllers. */
bool procself_cgroup(const char *line, const char **mount, const char **path);

#endif
