#include "kept.h"

#include "sysroot.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned allowed = 64, used;

void kept_allow(unsigned n)
{
    allowed = n;
}

static ssize_t read_at(int fd, char *buf, size_t cap, size_t at)
{
    ssize_t n;
    do
        n = pread(fd, buf, cap, (off_t)at);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static ssize_t read_from(int fd, char *buf, size_t cap, bool piece)
{
    size_t have = 0;
    ssize_t n;
    do {
        n = read_at(fd, buf + have, cap - 1 - have, have);
        if (n < 0)
            return n;
        have += (size_t)n;
    } while (n > 0 && have < cap - 1 && !piece);
    buf[have] = '\0';
    char more;
    if (have == cap - 1 && read_at(fd, &more, 1, have) == 1)
        return -EOVERFLOW;
    return (ssize_t)have;
}

static ssize_t read_kept(struct kept_file *f, const char *path, char *buf, size_t cap, bool piece)
{
    buf[0] = '\0';
    bool kept = kept_is_open(f);
    int fd = kept ? f->fd_plus_1 - 1 : sysroot_open(path);
    if (fd < 0)
        return fd;
    ssize_t n = read_from(fd, buf, cap, piece);
    bool failed = n < 0 && n != -EOVERFLOW;
    if (kept && failed) {
        kept_close(f);
    } else if (!kept && !failed && used < allowed && sysroot_live()) {
        f->fd_plus_1 = fd + 1;
        used++;
    } else if (!kept) {
        close(fd);
    }
    return n;
}

ssize_t kept_read(struct kept_file *f, const char *path, char *buf, size_t cap)
{
    return read_kept(f, path, buf, cap, false);
}

ssize_t kept_read_piece(struct kept_file *f, const char *path, char *buf, size_t cap)
{
    return read_kept(f, path, buf, cap, true);
}

int kept_read_i64(struct kept_file *f, const char *path, int64_t *value)
{
    char buf[64];
    ssize_t n = kept_read_piece(f, path, buf, sizeof(buf));
    return n < 0 ? (int)n : sysroot_parse_i64(buf, value);
}

void kept_close(struct kept_file *f)
{
    if (!kept_is_open(f))
        return;
    close(f->fd_plus_1 - 1);
    f->fd_plus_1 = 0;
    used--;
}
