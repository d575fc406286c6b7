/* Checks of what is to be loaded, and of where. */
#include "check.h"

#include "../record/mountstats.h"
#include "../run/expand.h"

#include "../../placement/sysroot.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct search {
    const struct profile *profile;
    char name[PATH_MAX + 32];
};

static bool is_there(const char *path, void *arg)
{
    struct search *s = arg;
    snprintf(s->name, sizeof(s->name), "%s", path);
    if (access(s->name, F_OK))
        return false;
    for (uint64_t i = 0; i < s->profile->files; i++) {
        snprintf(s->name, sizeof(s->name), "%s/file.%" PRIu64, path, i);
        if (access(s->name, F_OK))
            return false;
    }
    return true;
}

/* Whether a file of a writing load is not there yet: opening it as a run does would make it. */
static bool is_new(struct search *s)
{
    struct err err = {0};
    for (char **path = s->profile->paths; *path; path++)
        if (!expand_files(*path, is_there, s, &err))
            return !err.text[0]; /* a bad range: opening the files will say so */
    return false;
}

/* Of the files of one path: several of them may be on several file systems. */
static bool fits(const struct profile *p, const char *folder, uint64_t *room)
{
    struct statvfs fs;
    if (!folder || statvfs(folder, &fs))
        return true;
    *room = (uint64_t)fs.f_bavail * fs.f_frsize;
    return p->size_bytes <= *room / (p->files ? p->files : 1);
}

static void look_at_new(struct look *l, const char *name)
{
    char *folder = check_place_of(name), need[32], have[32];
    uint64_t room = 0;
    if (!l->profile->size_bytes)
        found(l, SEVERITY_FAILS, "--size", "%s is new: size says how long it shall be", name);
    else if (folder && access(folder, W_OK | X_OK))
        found(l, SEVERITY_FAILS, NULL, "%s cannot be made: its directory: %s", name,
              strerror(errno));
    else if (!fits(l->profile, folder, &room))
        found(l, SEVERITY_FAILS, "room there, or a smaller --size",
              "%s is to be %s long, and %s are free on its file system", name,
              format_size(l->profile->size_bytes, need, sizeof(need)),
              format_size(room, have, sizeof(have)));
    else
        found(l, SEVERITY_NOTE, NULL, "%s is not there yet: the run would make it", name);
    free(folder);
}

void check_file(struct look *l)
{
    struct err err = {0};
    const struct profile *p = l->profile;
    if (!l->engine)
        return;
    if (!sysroot_live()) {
        found(l, SEVERITY_NOTE, NULL,
              "the file was not looked at: the tree was recorded elsewhere");
        return;
    }
    if (l->engine->locate && profile_writes(p)) {
        found(l, SEVERITY_FAILS, "an engine of kernel files", "engine %s only reads", p->engine);
        return;
    }
    struct search search = {.profile = p};
    if (!l->engine->locate && profile_writes(p) && is_new(&search)) {
        look_at_new(l, search.name);
        return;
    }
    bool ok = l->engine->locate ? l->engine->locate(p, &l->target, &err)
                                : target_open(&l->target, p, &err);
    if (!ok || !target_cut(&l->target, p, &err)) {
        target_free(&l->target);
        found(l, SEVERITY_FAILS, NULL, "%s", err.text);
        return;
    }
    char size[32];
    format_size(p->threads * l->bytes_per_thread, size, sizeof(size));
    if (l->target.blocks < p->threads)
        found(l, SEVERITY_SPOILS, "a larger file, smaller blocks or fewer threads",
              "%" PRIu64 " blocks for %" PRIu64 " threads: threads read the same blocks",
              l->target.blocks, p->threads);
    else if (l->target.blocks / p->threads < l->iodepth)
        found(l, SEVERITY_NOTE, "a larger file, or a smaller iodepth",
              "the part of a thread has fewer blocks than its iodepth of %" PRIu64
              ": blocks are read again while they are outstanding; %s or more avoids it",
              l->iodepth, size);
}

static void look_at_rsize(struct look *l, const char *path, const struct mount_stats *m)
{
    char value[32], block[32], rsize[32], proto[16] = "tcp";
    mount_option(m->options, "proto", proto, sizeof(proto));
    l->nfs = true;
    if (strncmp(proto, "rdma", 4) == 0)
        l->rdma = true;
    else
        found(l, SEVERITY_NOTE, "mount with proto=rdma,port=20049 when RDMA is the question",
              "%s is on NFS over %s: completion queues and RDMA counters do not take part", path,
              proto);
    if (!mount_option(m->options, "rsize", value, sizeof(value)))
        return;
    uint64_t bytes = strtoull(value, NULL, 10);
    if (bytes && bytes < l->profile->block_bytes) {
        char advice[96];
        format_size(bytes, rsize, sizeof(rsize));
        snprintf(advice, sizeof(advice), "--block %" PRIu64 ", or mount with a larger rsize",
                 bytes);
        found(
            l, SEVERITY_SPOILS, advice,
            "rsize of %s is %s, below the block of %s: each I/O is several READs, and its latency "
            "that of the last",
            m->mountpoint, rsize, format_size(l->profile->block_bytes, block, sizeof(block)));
    }
}

struct mounts {
    struct look *look;
    const char *text;
    size_t len;
    json_t *seen; /* mount points that something was said of */
};

static bool look_at_mount(const char *path, void *arg)
{
    struct mounts *all = arg;
    struct look *l = all->look;
    struct mount_stats m;
    char *place = check_place_of(path), *real = NULL;
    if (place && sysroot_live())
        real = realpath(place, NULL);
    bool any = mountstats_find(all->text, all->len, real ? real : path, &m);
    const char *key = any ? m.mountpoint : "";
    if (json_object_get(all->seen, key))
        goto out;
    json_object_set_new(all->seen, key, json_true());
    if (!any)
        found(l, SEVERITY_NOTE, NULL, "no mount in /proc/self/mountstats holds %s", path);
    else if (!m.nfs)
        found(l, SEVERITY_NOTE, "a file on NFS over RDMA, if that is the question",
              "%s is on %s, not on NFS: nothing of NFS or RDMA is measured, and nfs_page "
              "counters stand still",
              path, m.fstype);
    else
        look_at_rsize(l, path, &m);
out:
    free(place);
    free(real);
    return true;
}

/* Mounts are told apart by text, so that recorded trees can be looked at too. */
void check_mount(struct look *l)
{
    char *text;
    struct err ignored;                 /* check_file says it */
    if (l->engine && l->engine->locate) /* no mount takes part */
        return;
    ssize_t len = sysroot_read("/proc/self/mountstats", &text);
    if (len < 0) {
        found(l, SEVERITY_NOTE, NULL, "/proc/self/mountstats: %s", strerror((int)-len));
        return;
    }
    struct mounts all = {l, text, (size_t)len, json_object()};
    for (char **path = l->profile->paths; path && *path; path++)
        expand_files(*path, look_at_mount, &all, &ignored);
    json_decref(all.seen);
    free(text);
}

static void count_write(void *n, const char *path, const char *now, const char *want)
{
    (void)path;
    (void)now;
    (void)want;
    ++*(unsigned *)n;
}

void check_placement(struct look *l)
{
    unsigned writes = 0;
    if (!l->place) {
        found(l, SEVERITY_FAILS, NULL, "%s", l->place_err.text);
        return;
    }
    place_each_write(l->place, count_write, &writes);
    if (writes && l->uid != 0 && l->uid != UINT64_MAX)
        found(l, SEVERITY_FAILS, "run as root",
              "the placement writes %u values of /proc and /sys, which root alone may", writes);
}
