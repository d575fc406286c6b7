/* Mounts the NFS under a file anew: the kernel picks its completion vectors at each mount.
 *
 * A process of its own, in a session of its own and deaf to SIGINT and SIGTERM, runs umount(8) and
 * mount(8), so that the end of the program, SIGKILL included, does not come between the two. What
 * to mount is written to /run/numaload/remount.json (journal) before and removed after: if that
 * process is killed too, the next matrix or 'numaload restore' mounts it. After a reboot the file
 * is gone, as the mount is. */
#ifndef NUMALOAD_MATRIX_REMOUNT_H
#define NUMALOAD_MATRIX_REMOUNT_H

#include "../../placement/err.h"

#include <stddef.h>

#define REMOUNT_JOURNAL "/run/numaload/remount.json"

struct mount_line {
    char *point, *source, *fstype, *options;
};

/* The mount that holds an absolute path, from the text of /proc/self/mountinfo (of several on one
 * another the last, which is what path names). The options are those of mount and file system
 * together. False when there is none; free with mount_line_free. */
bool mount_line_find(const char *mountinfo, const char *path, struct mount_line *m);
void mount_line_free(struct mount_line *m);

/* Refuses when path is not on NFS, without root, and when the mount is busy: then the processes
 * that hold it are named and nothing has changed. */
bool remount_nfs(const char *path, struct err *err);

/* Mounts what a killed remount left unmounted; true also when there was nothing. *done says that
 * something was mounted. journal is REMOUNT_JOURNAL but for tests. */
bool remount_restore(const char *journal, bool *done, struct err *err);

#endif
