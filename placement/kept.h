/* Files of /proc and sysfs that are read over and over. Opening one takes four times as long as
 * reading it, so its descriptor stays open: on the live machine, as long as no more than allowed
 * are, and until a read fails. Used by one thread. */
#ifndef NUMALOAD_KEPT_H
#define NUMALOAD_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* All zero: not open. Belongs to one path until it is closed. */
struct kept_file {
    int fd_plus_1;
};

static inline bool kept_is_open(const struct kept_file *f)
{
    return f->fd_plus_1 != 0;
}

/* How many descriptors may stay open, in all; 64 unless somebody says otherwise. */
void kept_allow(unsigned n);

/* As sysroot_read_into (the path of an open file is not looked at): bytes without the NUL,
 * -EOVERFLOW with the first cap - 1 bytes in buf, or -errno. -ESRCH: the process of the file has
 * ended; the next read may find another in its place.
 */
ssize_t kept_read(struct kept_file *f, const char *path, char *buf, size_t cap);

/* The same for what the kernel hands out in one piece (an attribute of sysfs, a file of one thread)
 * and fits into buf: a call less. */
ssize_t kept_read_piece(struct kept_file *f, const char *path, char *buf, size_t cap);

/* A piece that is a number; 0 or -errno as sysroot_read_i64. */
int kept_read_i64(struct kept_file *f, const char *path, int64_t *value);

void kept_close(struct kept_file *f);

#endif
