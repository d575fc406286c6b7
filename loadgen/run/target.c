#define _GNU_SOURCE
#include "target.h"

#include "../../placement/sysroot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int target_fd(const struct target *t, bool direct, struct err *err)
{
    int fd = open(t->path, O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
    if (fd >= 0)
        return fd;
    switch (errno) {
    case ENOENT:
        err_set(err, STATUS_FAILED,
                "%s: no such file; numaload reads files that hold data already, 'numaload prepare "
                "--path %s --size SIZE' writes one",
                t->path, t->path);
        break;
    case EACCES:
    case EPERM:
        err_set(err, STATUS_FAILED,
                "%s: no permission to read it (%s); change its mode or run as its owner", t->path,
                strerror(errno));
        break;
    case EINVAL:
        err_set(err, STATUS_FAILED,
                "%s: its file system refuses O_DIRECT; add --direct no (then the page cache is "
                "measured too) or use another file system",
                t->path);
        break;
    default:
        err_set(err, STATUS_FAILED, "%s: %s", t->path, strerror(errno));
    }
    return -1;
}

/* The fields of mountinfo are separated by blanks; blanks within are written \040. */
static void unescape(char *text)
{
    char *out = text;
    for (char *in = text; *in; out++) {
        if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] >= '0' && in[2] <= '7' &&
            in[3] >= '0' && in[3] <= '7') {
            *out = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0'));
            in += 4;
        } else {
            *out = *in++;
        }
    }
    *out = '\0';
}

/* proc_pid_mountinfo(5): "36 35 98:0 /root /mount rw,noatime master:1 - ext3 /dev/root rw,errors"
 */
static void find_mount(struct target *t, dev_t dev)
{
    char *text;
    strcpy(t->filesystem, "unknown");
    if (sysroot_read("/proc/self/mountinfo", &text) < 0)
        return;
    char want[32];
    snprintf(want, sizeof(want), " %u:%u ", major(dev), minor(dev));
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (!strstr(line, want))
            continue;
        char *dash = strstr(line, " - ");
        char type[32], source[512], options[1024];
        if (!dash || sscanf(dash + 3, "%31s %511s %1023s", type, source, options) != 3)
            continue;
        unescape(source);
        strcpy(t->filesystem, type);
        free(t->source);
        free(t->mount_options);
        t->source = strdup(source);
        t->mount_options = strdup(options);
        break;
    }
    free(text);
}

static bool check_alignment(int fd, const struct profile *p, struct err *err)
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
            "%s: this file cannot be read with O_DIRECT (statx says so); add --direct no", p->path);
    if (p->block_bytes % align)
        return err_set(err, STATUS_FAILED,
                       "%s: %s needs O_DIRECT requests that are multiples of %" PRIu32 " bytes",
                       profile_where(p, "block", where, sizeof(where)), p->path, align);
    return true;
}

static bool check_size(struct target *t, const struct stat *st, const struct profile *p,
                       struct err *err)
{
    char have[32], want[32], where[512];
    format_size(t->bytes, have, sizeof(have));
    if (t->bytes == 0)
        return err_set(err, STATUS_FAILED, "%s is empty: nothing to read", p->path);
    if (p->size_bytes > t->bytes)
        return err_set(err, STATUS_FAILED, "%s: %s asked for, but %s has only %s",
                       profile_where(p, "size", where, sizeof(where)),
                       format_size(p->size_bytes, want, sizeof(want)), p->path, have);
    if (t->bytes < p->block_bytes)
        return err_set(err, STATUS_FAILED, "%s has %s, less than one block of %s", p->path, have,
                       format_size(p->block_bytes, want, sizeof(want)));
    uint64_t allocated = (uint64_t)st->st_blocks * 512;
    if (S_ISREG(st->st_mode) && allocated < t->bytes && !p->allow_sparse)
        return err_set(err, STATUS_FAILED,
                       "%s has %s but only %s on storage: holes (or compression) read faster than "
                       "any storage. Write real data ('numaload prepare'), or add --allow-sparse",
                       p->path, have, format_size(allocated, want, sizeof(want)));
    return true;
}

bool target_open(struct target *t, const struct profile *p, struct err *err)
{
    struct stat st;
    bool ok = false;
    *t = (struct target){.path = p->path};
    /* Before open: a directory with O_DIRECT is only "invalid argument". */
    if (stat(p->path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
        return err_set(err, STATUS_FAILED, "%s is %s, not a file or block device", p->path,
                       S_ISDIR(st.st_mode) ? "a directory" : "something else");
    int fd = target_fd(t, p->direct, err);
    if (fd < 0)
        return false;
    if (fstat(fd, &st)) {
        err_set(err, STATUS_FAILED, "%s: %s", p->path, strerror(errno));
        goto out;
    }
    if (S_ISREG(st.st_mode)) {
        t->bytes = (uint64_t)st.st_size;
    } else if (ioctl(fd, BLKGETSIZE64, &t->bytes)) {
        err_set(err, STATUS_FAILED, "%s: size of the device: %s", p->path, strerror(errno));
        goto out;
    }
    if (!check_alignment(fd, p, err) || !check_size(t, &st, p, err))
        goto out;
    t->load_bytes = p->size_bytes ? p->size_bytes : t->bytes;
    if (t->load_bytes < t->bytes) /* whole blocks: a part of one would be read whole */
        t->load_bytes -= t->load_bytes % p->block_bytes;
    t->blocks = (t->load_bytes + p->block_bytes - 1) / p->block_bytes;
    if (S_ISREG(st.st_mode))
        find_mount(t, st.st_dev);
    else /* where the node lies says nothing of what is read */
        strcpy(t->filesystem, "block device");
    ok = true;
out:
    close(fd);
    return ok;
}

void target_free(struct target *t)
{
    free(t->source);
    free(t->mount_options);
    *t = (struct target){0};
}

static json_t *text_or_null(const char *text)
{
    json_t *s = text ? json_string(text) : NULL;
    return s ? s : json_null();
}

json_t *target_json(const struct target *t)
{
    return json_pack("{s:o, s:I, s:s, s:o, s:o}", "path", text_or_null(t->path), "bytes",
                     (json_int_t)t->bytes, "filesystem", t->filesystem, "source",
                     text_or_null(t->source), "mount_options", text_or_null(t->mount_options));
}
