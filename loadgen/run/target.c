#define _GNU_SOURCE
#include "target.h"

#include "../../placement/behind.h"
#include "../../placement/sysroot.h"
#include "datanote.h"
#include "expand.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static int flags_for(const struct profile *p)
{
    int access = !profile_writes(p) ? O_RDONLY : profile_reads(p) ? O_RDWR : O_WRONLY;
    return access | O_CLOEXEC | (p->direct ? O_DIRECT : 0);
}

static int open_file(const char *path, const struct profile *p, int more, struct err *err)
{
    int fd = open(path, flags_for(p) | more, 0644);
    if (fd >= 0)
        return fd;
    switch (errno) {
    case ENOENT:
        err_set(err, STATUS_FAILED,
                more & O_CREAT ? "%s: cannot be made: its directory does not exist"
                               : "%s: no such file; numaload reads files that hold data already, "
                                 "'numaload prepare --path %s --size SIZE' writes one",
                path, path);
        break;
    case EACCES:
    case EPERM:
        err_set(err, STATUS_FAILED,
                "%s: no permission to %s it (%s); change its mode or run as its owner", path,
                profile_writes(p) ? "write" : "read", strerror(errno));
        break;
    case EBUSY:
        err_set(err, STATUS_FAILED, "%s is mounted or in use otherwise: not written", path);
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

int target_fd(const struct target *t, unsigned file, const struct profile *p, struct err *err)
{
    return open_file(t->files[file].path, p, 0, err);
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

/* Preallocated space has blocks, but reads as zeros without a transfer: fiemap calls it unwritten
 * (Documentation/filesystems/fiemap.rst). A file system without fiemap has nothing to say. */
static bool has_unwritten(int fd, uint64_t *offset)
{
    enum { EXTENTS = 64 };
    const size_t size = sizeof(struct fiemap) + EXTENTS * sizeof(struct fiemap_extent);
    struct fiemap *map = calloc(1, size);
    bool found = false, last = false;
    uint64_t at = 0;
    while (map && !last && !found) {
        memset(map, 0, size);
        map->fm_start = at;
        map->fm_length = FIEMAP_MAX_OFFSET - at;
        map->fm_flags = FIEMAP_FLAG_SYNC;
        map->fm_extent_count = EXTENTS;
        if (ioctl(fd, FS_IOC_FIEMAP, map) || map->fm_mapped_extents == 0)
            break;
        for (unsigned i = 0; i < map->fm_mapped_extents && !found; i++) {
            const struct fiemap_extent *e = &map->fm_extents[i];
            found = e->fe_flags & FIEMAP_EXTENT_UNWRITTEN;
            last = e->fe_flags & FIEMAP_EXTENT_LAST;
            *offset = e->fe_logical;
            at = e->fe_logical + e->fe_length;
        }
    }
    free(map);
    return found;
}

static bool check_holes(int fd, const struct target_file *f, const struct stat *st,
                        const struct profile *p, struct err *err)
{
    char have[32], want[32];
    uint64_t allocated = (uint64_t)st->st_blocks * 512, at = 0;
    if (f->device || p->allow_sparse || !profile_reads(p))
        return true;
    if (allocated < f->bytes)
        return err_set(err, STATUS_FAILED,
                       "%s has %s but only %s on storage: holes (or compression) read faster than "
                       "any storage. Write real data ('numaload prepare'), or add --allow-sparse",
                       f->path, format_size(f->bytes, have, sizeof(have)),
                       format_size(allocated, want, sizeof(want)));
    off_t hole = lseek(fd, 0, SEEK_HOLE);
    if (hole >= 0 && (uint64_t)hole < f->bytes)
        at = (uint64_t)hole;
    else if (!has_unwritten(fd, &at) || at >= f->bytes)
        return true;
    return err_set(err, STATUS_FAILED,
                   "%s: space at offset %" PRIu64 " was allocated and never written: it reads "
                   "faster than any storage. Write real data ('numaload prepare'), or add "
                   "--allow-sparse",
                   f->path, at);
}

/* What the note beside a file means for this load. */
static bool check_note(struct target_file *f, bool fresh, const struct profile *p, struct err *err)
{
    struct datanote note = {0};
    bool noted = !f->device && datanote_read(f->path, &note);
    f->noted = noted && note.salt == p->salt && note.bytes && note.bytes >= f->bytes;
    if (profile_writes(p)) {
        if (fresh || noted || p->allow_overwrite)
            return true;
        return err_set(err, STATUS_FAILED,
                       f->device ? "%s is a block device; a write destroys what is on it. "
                                   "--allow-overwrite allows it"
                                 : "%s is there already and was not written by numaload (no "
                                   "%s.numaload beside it); remove it first, choose another path, "
                                   "or add --allow-overwrite",
                       f->path, f->path);
    }
    if (noted && !note.bytes && !p->allow_sparse)
        return err_set(err, STATUS_FAILED,
                       "%s was begun and never written to its end (%s.numaload says so); write it "
                       "anew ('numaload prepare'), or add --allow-sparse",
                       f->path, f->path);
    if (p->verify && noted && note.salt != p->salt)
        return err_set(err, STATUS_USAGE,
                       "%s was written with salt %" PRIu64 "; verify with --salt %" PRIu64, f->path,
                       note.salt, note.salt);
    return true;
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

static bool find_size(int fd, const char *path, const struct stat *st, const struct profile *p,
                      uint64_t *bytes, struct err *err)
{
    *bytes = (uint64_t)st->st_size;
    if (S_ISBLK(st->st_mode) && ioctl(fd, BLKGETSIZE64, bytes))
        return err_set(err, STATUS_FAILED, "%s: size of the device: %s", path, strerror(errno));
    if (!profile_writes(p) || S_ISBLK(st->st_mode))
        return true;
    if (*bytes == 0 && !p->size_bytes)
        return err_set(err, STATUS_USAGE, "%s is new: --size says how long it shall be", path);
    if (p->size_bytes > *bytes) {
        /* Reads of a mix would meet what is not written yet. */
        if (profile_reads(p) && !p->allow_sparse)
            return err_set(err, STATUS_FAILED,
                           "%s is shorter than size, and a mix reads it too; write it first "
                           "('numaload prepare'), or add --allow-sparse",
                           path);
        *bytes = p->size_bytes;
    }
    return true;
}

static const char *kind_of(const struct stat *st)
{
    return S_ISDIR(st->st_mode)    ? "a directory"
           : S_ISCHR(st->st_mode)  ? "a character device"
           : S_ISFIFO(st->st_mode) ? "a pipe"
           : S_ISSOCK(st->st_mode) ? "a socket"
                                   : "something else";
}

static bool add_file(struct target *t, const char *path, const struct profile *p, struct err *err)
{
    struct stat st = {0};
    uint64_t bytes;
    bool there = stat(path, &st) == 0, missing = !there && errno == ENOENT;
    bool writes = profile_writes(p), ok = false;
    /* Before open: a directory with O_DIRECT is only "invalid argument". */
    if (there && !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
        return err_set(err, STATUS_FAILED, "%s is %s, not a file or block device%s", path,
                       kind_of(&st), S_ISDIR(st.st_mode) ? "; --files N loads N files in it" : "");
    if (missing && writes && !p->size_bytes)
        return err_set(err, STATUS_USAGE, "%s is new: --size says how long it shall be", path);
    /* O_EXCL without O_CREAT: a device that is mounted is refused. */
    bool device = there && S_ISBLK(st.st_mode);
    int more = !writes ? 0 : device ? O_EXCL : missing ? O_CREAT : 0;
    /* The owner of a file is asked before it is opened for writing. */
    struct target_file asked = {.path = (char *)path, .device = device};
    if (!check_note(&asked, !device && st.st_size == 0, p, err))
        return false;
    int fd = open_file(path, p, more, err);
    if (fd < 0)
        return false;
    if (fstat(fd, &st)) {
        err_set(err, STATUS_FAILED, "%s: %s", path, strerror(errno));
        goto out;
    }
    /* Where the node of a device lies says nothing of what is read. */
    if (!find_size(fd, path, &st, p, &bytes, err) ||
        !target_add(t, path, bytes, device ? "block device" : "unknown", err))
        goto out;
    struct target_file *f = &t->files[t->files_n - 1];
    f->device = device;
    f->made = missing && writes;
    f->dev = device ? st.st_rdev : st.st_dev;
    f->ino = device ? 0 : st.st_ino;
    if (!check_alignment(fd, path, p, err) || !check_holes(fd, f, &st, p, err) ||
        !check_note(f, true, p, err))
        goto out;
    if (!device)
        find_mount(f);
    ok = true;
out:
    close(fd);
    if (!ok && missing && writes)
        unlink(path); /* made above, and the run is refused */
    return ok;
}

struct adding {
    struct target *target;
    const struct profile *profile;
    struct err *err;
};

static bool add_path(const char *path, void *arg)
{
    const struct adding *a = arg;
    char file[PATH_MAX];
    if (!a->profile->files)
        return add_file(a->target, path, a->profile, a->err);
    for (uint64_t i = 0; i < a->profile->files; i++) {
        if (snprintf(file, sizeof(file), "%s/file.%" PRIu64, path, i) >= (int)sizeof(file))
            return err_set(a->err, STATUS_USAGE, "%s: name too long", path);
        if (!add_file(a->target, file, a->profile, a->err))
            return false;
    }
    return true;
}

static int by_identity(const void *a, const void *b)
{
    const struct target_file *x = *(struct target_file *const *)a;
    const struct target_file *y = *(struct target_file *const *)b;
    if (x->device != y->device)
        return x->device ? 1 : -1;
    if (x->dev != y->dev)
        return x->dev > y->dev ? 1 : -1;
    if (x->ino != y->ino)
        return x->ino > y->ino ? 1 : -1;
    return x > y ? 1 : -1; /* as given */
}

static bool same(const struct target_file *x, const struct target_file *y)
{
    return x->device == y->device && x->dev == y->dev && x->ino == y->ino;
}

/* Two threads would write the same block at once, each as if it were of a file of its own. */
static bool refuse_twice(const struct target *t, struct err *err)
{
    const struct target_file **order = calloc(t->files_n + 1, sizeof(*order));
    if (!order)
        return err_set(err, STATUS_FAILED, "out of memory");
    for (unsigned i = 0; i < t->files_n; i++)
        order[i] = &t->files[i];
    qsort(order, t->files_n, sizeof(*order), by_identity);
    bool ok = true;
    for (unsigned i = 1; i < t->files_n && ok; i++)
        if (same(order[i - 1], order[i]))
            ok = err_set(err, STATUS_USAGE,
                         "%s and %s are the same file, which would be written twice at once; give "
                         "it once",
                         order[i - 1]->path, order[i]->path);
    free(order);
    return ok;
}

bool target_open(struct target *t, const struct profile *p, struct err *err)
{
    struct adding adding = {t, p, err};
    bool ok = true;
    for (char **path = p->paths; path && *path && ok; path++)
        ok = expand_files(*path, add_path, &adding, err);
    ok = ok && (!profile_writes(p) || refuse_twice(t, err));
    if (!ok)
        target_unmake(t);
    return ok;
}

void target_unmake(struct target *t)
{
    for (unsigned i = 0; i < t->files_n; i++) {
        struct target_file *f = &t->files[i];
        if (!f->made)
            continue;
        unlink(f->path);
        datanote_remove(f->path);
        f->made = false;
    }
}

/* Beyond its end: within it a file may be compressed, and holes are found by check_holes. */
static uint64_t missing_bytes(const struct target_file *f)
{
    struct stat st;
    uint64_t has = stat(f->path, &st) ? 0 : (uint64_t)st.st_size;
    return f->load_bytes > has ? f->load_bytes - has : 0;
}

bool target_check_room(const struct target *t, struct err *err)
{
    char need[32], have[32];
    for (unsigned i = 0; i < t->files_n; i++) {
        const struct target_file *f = &t->files[i];
        struct statvfs fs;
        uint64_t bytes = 0, room;
        bool looked = f->device || statvfs(f->path, &fs);
        for (unsigned k = 0; k < i && !looked; k++)
            looked = !t->files[k].device && t->files[k].dev == f->dev;
        if (looked)
            continue;
        for (unsigned k = i; k < t->files_n; k++)
            if (!t->files[k].device && t->files[k].dev == f->dev)
                bytes += missing_bytes(&t->files[k]);
        room = (uint64_t)fs.f_bavail * fs.f_frsize;
        if (bytes > room)
            return err_set(err, STATUS_FAILED,
                           "%s: %s are to be written, and %s are free on its file system; make "
                           "room, or lower --size",
                           f->path, format_size(bytes, need, sizeof(need)),
                           format_size(room, have, sizeof(have)));
    }
    return true;
}

bool target_begin_write(const struct target *t, const struct profile *p, struct err *err)
{
    for (unsigned i = 0; i < t->files_n; i++) {
        const struct target_file *f = &t->files[i];
        /* The same data again changes nothing that the note says. */
        if (!f->device && !f->noted && !datanote_write(f->path, 0, p->salt, p->block_bytes, err))
            return false;
    }
    return true;
}

bool target_end_write(const struct target *t, const struct profile *p, bool whole, struct err *err)
{
    for (unsigned i = 0; i < t->files_n && whole; i++) {
        const struct target_file *f = &t->files[i];
        if (!f->device && !f->noted &&
            !datanote_write(f->path, f->load_bytes, p->salt, p->block_bytes, err))
            return false;
    }
    return true;
}

static bool check_size(const struct target_file *f, const struct profile *p, struct err *err)
{
    char have[32], want[32], where[512];
    format_size(f->bytes, have, sizeof(have));
    if (f->bytes == 0)
        return err_set(err, STATUS_FAILED, "%s is empty: nothing to read", f->path);
    if (p->direct && profile_writes(p) && f->bytes % 512)
        return err_set(err, STATUS_FAILED,
                       "%s: %" PRIu64 " bytes are not a multiple of 512, which a direct write of "
                       "its end needs; add --direct no, or choose another --size",
                       f->path, f->bytes);
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
    free(t->located);
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
