#define _GNU_SOURCE
#include "sysroot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_MAX_BYTES (16u << 20)

static char root[PATH_MAX];

bool sysroot_set(const char *dir)
{
    if (!dir || !*dir || strcmp(dir, "/") == 0) {
        root[0] = '\0';
        return true;
    }
    struct stat st;
    if (stat(dir, &st))
        return false;
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        return false;
    }
    if (!realpath(dir, root)) {
        root[0] = '\0';
        return false;
    }
    return true;
}

const char *sysroot_get(void)
{
    return root;
}

bool sysroot_live(void)
{
    return root[0] == '\0';
}

bool sysroot_path(char *buf, size_t cap, const char *path)
{
    int n = snprintf(buf, cap, "%s%s", root, path);
    if (n < 0 || (size_t)n >= cap) {
        errno = ENAMETOOLONG;
        return false;
    }
    return true;
}

static int open_under_root(const char *path, int flags)
{
    char full[PATH_MAX];
    if (!sysroot_path(full, sizeof(full), path))
        return -errno;
    int fd = open(full, flags | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int sysroot_open(const char *path)
{
    return open_under_root(path, O_RDONLY);
}

/* Reads until end of file or until cap bytes are there. */
static ssize_t read_fully(int fd, char *buf, size_t cap)
{
    size_t have = 0;
    while (have < cap) {
        ssize_t n = read(fd, buf + have, cap - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

ssize_t sysroot_read(const char *path, char **out)
{
    *out = NULL;
    int fd = open_under_root(path, O_RDONLY);
    if (fd < 0)
        return fd;
    size_t cap = 8192, have = 0;
    char *buf = NULL;
    ssize_t result = -ENOMEM;
    for (;;) {
        char *bigger = realloc(buf, cap + 1);
        if (!bigger)
            goto fail;
        buf = bigger;
        ssize_t n = read_fully(fd, buf + have, cap - have);
        if (n < 0) {
            result = n;
            goto fail;
        }
        have += (size_t)n;
        if (have < cap)
            break;
        if (cap >= READ_MAX_BYTES) {
            result = -EFBIG;
            goto fail;
        }
        cap *= 2;
    }
    close(fd);
    buf[have] = '\0';
    *out = buf;
    return (ssize_t)have;
fail:
    free(buf);
    close(fd);
    return result;
}

ssize_t sysroot_read_into(const char *path, char *buf, size_t cap)
{
    buf[0] = '\0';
    int fd = open_under_root(path, O_RDONLY);
    if (fd < 0)
        return fd;
    ssize_t n = read_fully(fd, buf, cap - 1);
    char more;
    if (n == (ssize_t)cap - 1 && read(fd, &more, 1) == 1) {
        buf[n] = '\0';
        n = -EOVERFLOW;
    }
    close(fd);
    if (n >= 0)
        buf[n] = '\0';
    return n;
}

int sysroot_read_i64(const char *path, int64_t *value)
{
    char buf[64];
    ssize_t n = sysroot_read_into(path, buf, sizeof(buf));
    return n < 0 ? (int)n : sysroot_parse_i64(buf, value);
}

int sysroot_parse_i64(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || errno || (*end && *end != '\n' && *end != ' '))
        return -EINVAL;
    *value = v;
    return 0;
}

int sysroot_write(const char *path, const char *text)
{
    if (!sysroot_live())
        return -EROFS;
    int fd = open_under_root(path, O_WRONLY);
    if (fd < 0)
        return fd;
    size_t len = strlen(text);
    ssize_t n = write(fd, text, len);
    int result = n < 0 ? -errno : (size_t)n == len ? 0 : -EIO;
    if (close(fd) && result == 0)
        result = -errno;
    return result;
}

static int by_version(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

ssize_t sysroot_list(const char *path, char ***names)
{
    *names = NULL;
    int fd = open_under_root(path, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return fd;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        int saved = errno;
        close(fd);
        return -saved;
    }
    size_t n = 0, cap = 16;
    char **list = malloc(cap * sizeof(*list));
    ssize_t result = -ENOMEM;
    if (!list)
        goto fail;
    for (struct dirent *d; (d = readdir(dir));) {
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        if (n + 1 == cap) {
            char **bigger = realloc(list, 2 * cap * sizeof(*list));
            if (!bigger)
                goto fail;
            list = bigger;
            cap *= 2;
        }
        list[n] = strdup(d->d_name);
        if (!list[n])
            goto fail;
        n++;
    }
    closedir(dir);
    list[n] = NULL;
    qsort(list, n, sizeof(*list), by_version);
    *names = list;
    return (ssize_t)n;
fail:
    if (list) {
        list[n] = NULL;
        sysroot_list_free(list);
    }
    closedir(dir);
    return result;
}

void sysroot_list_free(char **names)
{
    for (char **p = names; p && *p; p++)
        free(*p);
    free(names);
}

ssize_t sysroot_readlink(const char *path, char *buf, size_t cap)
{
    char full[PATH_MAX];
    if (!sysroot_path(full, sizeof(full), path))
        return -errno;
    ssize_t n = readlink(full, buf, cap - 1);
    if (n < 0)
        return -errno;
    if ((size_t)n == cap - 1)
        return -ENAMETOOLONG;
    buf[n] = '\0';
    return n;
}
