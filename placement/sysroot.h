/* The one seam through which /proc and /sys are read and written.
 *
 * Paths are given as on a live machine ("/proc/stat"). With a root set (--sysroot DIR) they are
 * looked up under DIR, so that a tree recorded elsewhere can be replayed; nothing can be written
 * then. The root is a property of the process: set it once, before threads start. */
#ifndef NUMALOAD_SYSROOT_H
#define NUMALOAD_SYSROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* dir is copied; NULL or "" or "/" means the live machine. Returns false (errno set) when dir is
 * not a directory. */
bool sysroot_set(const char *dir);

/* "" for the live machine, else the directory without a trailing slash. */
const char *sysroot_get(void);

/* True when no root is set: only then may levers act and live sources be trusted. */
bool sysroot_live(void);

/* Builds the real path. Returns false (ENAMETOOLONG) when it does not fit. */
bool sysroot_path(char *buf, size_t cap, const char *path);

/* Reads a whole file into a NUL-terminated buffer that the caller frees. Returns the number of
 * bytes without the NUL, or -errno; -EFBIG above 16 MiB. Loops over short reads, since seq_file
 * sources return a page at a time. */
ssize_t sysroot_read(const char *path, char **out);

/* The same into a buffer of the caller's, without allocation, for the edges of a window. Returns
 * -EOVERFLOW when cap - 1 bytes were not enough (buf then holds the first part). */
ssize_t sysroot_read_into(const char *path, char *buf, size_t cap);

/* A file that holds one decimal number, such as numa_node or uptime's kin. 0 or -errno
 * (-EINVAL when the text is not a number). */
int sysroot_read_i64(const char *path, int64_t *value);

/* The same of a text that was read: 0 or -EINVAL. */
int sysroot_parse_i64(const char *text, int64_t *value);

/* A descriptor to read from, close-on-exec, or -errno. */
int sysroot_open(const char *path);

/* Writes text in one write(2). 0 or -errno; -EROFS whenever a root is set. */
int sysroot_write(const char *path, const char *text);

/* The names in a directory without "." and "..", sorted by strverscmp; NULL-terminated. Returns
 * their number or -errno. Free with sysroot_list_free. */
ssize_t sysroot_list(const char *path, char ***names);
void sysroot_list_free(char **names);

/* Target of a symbolic link as stored. Returns its length or -errno. */
ssize_t sysroot_readlink(const char *path, char *buf, size_t cap);

#endif
