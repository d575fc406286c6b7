#define _GNU_SOURCE
#include "target.h"

#include "../../placement/behind.h"
#include "../../placement/sysroot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_file(const char *path, bool direct, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
    if (fd >= 0)
        return fd;
    switch (errno) {
    case ENOENT:
        err_set(err, STATUS_FAILED,
                "%s: no such file; numaload reads files that hold data already, 'numaload prepare "
                "--path %s --size SIZE' writes one",
                path, path);
        break;
    case EACCES:
    case EPERM:
        err_set(err, STATUS_FAILED,
                "%s: no permission to read it (%s); change its mode or run as its owner", path,
                strerror(errno));
        break;
    case EINVAL:
        err_set(err, STATUS_FAILED,
                "%s: its file system refuses O_DIRECT; add --direct no (then the page cache is "
                "measured too) or use another file system",
                path);
        break;
    default:
        err_set(err, STATUS_FAILED, "%s: %s", path, strerror(errno));
    }
    return -1;
}

static void find_mount(struct target_file *f)
{
    char *text, *real;
    struct behind_mount m;
    /* A recorded tree does not know the files of this machine. */
    if (!sysroot_live() || sysroot_read("/proc/self/mountinfo", &text) < 0)
        return;
    real = realpath(f->path, NULL);
    if (real && behind_find_mount(text, real, &m)) {
        snprintf(f->filesystem, sizeof(f->filesystem), "%s", m.type);
        f->source = strdup(m.source);
        f->mount_options = strdup(m.options);
    }
    free(real);
    free(text);
}

int target_fd(const struct target *t, unsigned file, bool direct, struct err *err)
{
    return open_file(t->files[file].path, direct, err);
}

static bool check_alignment(int fd, const char *path, const struct profile *p, struct err *err)
{
    struct statx sx;
    char where[512];
    if (!p->direct || statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &sx) ||
        !(sx.stx_mask & STATX_DIOALIGN))
        return true;
    uint32_t align = sx.stx_dio_offset_align;
    if (align == 0)
        return err_set(
            err, STATUS_FAILED,
            "%s: this file cannot be read with O_DIRECT (statx says so); add --direct no", path);
    if (p->block_bytes % align)
        return err_set(err, STATUS_FAILED,
                       "%s: %s needs O_DIRECT requests that are multiples of %" PRIu32 " bytes",
                       profile_where(p, "block", where, sizeof(where)), path, align);
    return true;
}

static bool check_holes(const struct target_file *f, const struct stat *st, const struct profile *p,
                        struct err *err)
{
    char have[32], want[32];
    uint64_t allocated = (uint64_t)st->st_blocks * 512;
    if (!S_ISREG(st->st_mode) || allocated >= f->bytes || p->allow_sparse)
        return true;
    return err_set(err, STATUS_FAILED,
                   "%s has %s but only %s on storage: holes (or compression) read faster than any "
                   "storage. Write real data ('numaload prepare'), or add --allow-sparse",
                   f->path, format_size(f->bytes, have, sizeof(have)),
                   format_size(allocated, want, sizeof(want)));
}

bool target_add(struct target *t, const char *path, uint64_t bytes, const char *filesystem,
                struct err *err)
{
    struct target_file *grown = realloc(t->files, (t->files_n + 1) * sizeof(*grown));
    if (grown)
        t->files = grown;
    char *copy = grown ? strdup(path) : NULL;
    if (!copy)
        return err_set(err, STATUS_FAILED, "out of memory");
    struct target_file *f = &t->files[t->files_n++];
    *f = (struct target_file){.path = copy, .bytes = bytes};
    snprintf(f->filesystem, sizeof(f->filesystem), "%s", filesystem);
    return true;
}

static bool add_file(struct target *t, const char *path, const struct profile *p, struct err *err)
{
    struct stat st;
    bool ok = false;
    uint64_t bytes;
    /* Before open: a directory with O_DIRECT is only "invalid argument". */
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
        return err_set(err, STATUS_FAILED, "%s is %s, not a file or block device", path,
                       S_ISDIR(st.st_mode) ? "a directory" : "something else");
    int fd = open_file(path, p->direct, err);
    if (fd < 0)
        return false;
    if (fstat(fd, &st)) {
        err_set(err, STATUS_FAILED, "%s: %s", path, strerror(errno));
        goto out;
    }
    if (S_ISREG(st.st_mode)) {
        bytes = (uint64_t)st.st_size;
    } else if (ioctl(fd, BLKGETSIZE64, &bytes)) {
        err_set(err, STATUS_FAILED, "%s: size of the device: %s", path, strerror(errno));
        goto out;
    }
    /* Where the node of a device lies says nothing of what is read. */
    if (!target_add(t, path, bytes, S_ISREG(st.st_mode) ? "unknown" : "block device", err))
        goto out;
    struct target_file *f = &t->files[t->files_n - 1];
    if (!check_alignment(fd, path, p, err) || !check_holes(f, &st, p, err))
        goto out;
    if (S_ISREG(st.st_mode))
        find_mount(f);
    ok = true;
out:
    close(fd);
    return ok;
}

bool target_open(struct target *t, const struct profile *p, struct err *err)
{
    for (char **path = p->paths; path && *path; path++)
        if (!add_file(t, *path, p, err))
            return false;
    return true;
}

static bool check_size(const struct target_file *f, const struct profile *p, struct err *err)
{
    char have[32], want[32], where[512];
    format_size(f->bytes, have, sizeof(have));
    if (f->bytes == 0)
        return err_set(err, STATUS_FAILED, "%s is empty: nothing to read", f->path);
    if (p->size_bytes > f->bytes)
        return err_set(err, STATUS_FAILED, "%s: %s asked for, but %s has only %s",
                       profile_where(p, "size", where, sizeof(where)),
                       format_size(p->size_bytes, want, sizeof(want)), f->path, have);
    if (f->bytes < p->block_bytes)
        return err_set(err, STATUS_FAILED, "%s has %s, less than one block of %s", f->path, have,
                       format_size(p->block_bytes, want, sizeof(want)));
    return true;
}

bool target_cut(struct target *t, const struct profile *p, struct err *err)
{
    t->blocks = 0;
    for (unsigned i = 0; i < t->files_n; i++) {
        struct target_file *f = &t->files[i];
        if (!check_size(f, p, err))
            return false;
        f->load_bytes = p->size_bytes ? p->size_bytes : f->bytes;
        if (f->load_bytes < f->bytes) /* whole blocks: a part of one would be read whole */
            f->load_bytes -= f->load_bytes % p->block_bytes;
        f->first_block = t->blocks;
        t->blocks += (f->load_bytes + p->block_bytes - 1) / p->block_bytes;
        f->end_block = t->blocks;
    }
    return true;
}

void target_free(struct target *t)
{
    for (unsigned i = 0; i < t->files_n; i++) {
        free(t->files[i].path);
        free(t->files[i].source);
        free(t->files[i].mount_options);
    }
    free(t->files);
    *t = (struct target){0};
}

static json_t *text_or_null(const char *text)
{
    json_t *s = text ? json_string(text) : NULL;
    return s ? s : json_null();
}

json_t *target_json(const struct target *t)
{
    json_t *files = json_array();
    for (unsigned i = 0; i < t->files_n; i++) {
        const struct target_file *f = &t->files[i];
        json_t *path = json_string(f->path);
        json_array_append_new(files, json_pack("{s:o, s:I, s:s, s:o, s:o}", "path",
                                               path ? path : json_string("(not UTF-8)"), "bytes",
                                               (json_int_t)f->bytes, "filesystem", f->filesystem,
                                               "source", text_or_null(f->source), "mount_options",
                                               text_or_null(f->mount_options)));
    }
    return files;
}
