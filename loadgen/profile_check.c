/* Keys that do not go together, or ask for what cannot be. */
#include "profile.h"

#include "engine/engine.h"
#include "record/record.h"
#include "run/instrument.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

static bool check_workload(const struct profile *p, struct err *err)
{
    char where[512];
    bool limited = p->limit_bytes || p->limit_thread_bytes;
    if (p->mix_read_percent && !profile_writes(p))
        return err_set(err, STATUS_USAGE, "%s: is a share of a write; add --rw write or randwrite",
                       profile_where(p, "mix-read-percent", where, sizeof(where)));
    if (profile_once(p) && p->windows > 1)
        return err_set(err, STATUS_USAGE, "%s: a run with an amount is one window",
                       profile_where(p, "windows", where, sizeof(where)));
    if (!profile_once(p) && p->window_ns > PROFILE_WINDOW_MAX_S * UINT64_C(1000000000))
        return err_set(
            err, STATUS_USAGE,
            "%s: a window is %d s at most; several of them (--windows) make a longer run",
            profile_where(p, "window", where, sizeof(where)), PROFILE_WINDOW_MAX_S);
    if (profile_once(p) && p->ramp_ns && profile_is_set(p, "ramp"))
        return err_set(err, STATUS_USAGE, "%s: a run with an amount has no ramp",
                       profile_where(p, "ramp", where, sizeof(where)));
    if (p->iops && limited)
        return err_set(err, STATUS_USAGE, "%s: is a rate already; leave out limit and limit-thread",
                       profile_where(p, "iops", where, sizeof(where)));
    if ((p->verify || profile_writes(p)) && p->block_bytes % 8)
        return err_set(err, STATUS_USAGE,
                       "%s: %" PRIu64 " is not a multiple of 8, as data that can be verified needs",
                       profile_where(p, "block", where, sizeof(where)), p->block_bytes);
    if (p->verify && !profile_reads(p))
        return err_set(err, STATUS_USAGE, "%s: nothing is read; write first, then verify a read",
                       profile_where(p, "verify", where, sizeof(where)));
    return true;
}

/* A file to be written must not be one that is read. */
static bool check_output(const struct profile *p, const char *key, const char *file,
                         struct err *err)
{
    char where[512];
    struct stat a, b;
    for (char **path = p->paths; file && *path; path++)
        if (stat(*path, &a) == 0 && stat(file, &b) == 0 && a.st_dev == b.st_dev &&
            a.st_ino == b.st_ino)
            return err_set(err, STATUS_USAGE, "%s: is the file under load; it would be replaced",
                           profile_where(p, key, where, sizeof(where)));
    return true;
}

bool profile_check(const struct profile *p, struct err *err)
{
    char where[512], size[32];
    if (!profile_path(p))
        return err_set(err, STATUS_USAGE,
                       "no file to read: give --path FILE, or 'path = FILE' in the profile");
    if (!check_output(p, "record", p->record, err) || !check_output(p, "livecsv", p->livecsv, err))
        return false;
    if (p->record && !record_writable(p->record, err))
        return err_prefix(err, "%s", profile_where(p, "record", where, sizeof(where)));
    /* Engines with a transport of their own do not open files with O_DIRECT. */
    const struct engine_ops *engine = engine_find(p->engine, NULL);
    if (p->direct && p->block_bytes % 512 && !(engine && engine->locate))
        return err_set(err, STATUS_USAGE,
                       "%s: %" PRIu64 " is not a multiple of 512, which O_DIRECT needs; round it, "
                       "or add --direct no",
                       profile_where(p, "block", where, sizeof(where)), p->block_bytes);
    if (p->size_bytes && p->size_bytes < p->block_bytes)
        return err_set(err, STATUS_USAGE, "%s: less than one block of %s",
                       profile_where(p, "size", where, sizeof(where)),
                       format_size(p->block_bytes, size, sizeof(size)));
    static const char *const serve_only[] = {"listen", "revoke-after"};
    for (size_t i = 0; i < 2; i++)
        if (profile_is_set(p, serve_only[i]))
            return err_set(err, STATUS_USAGE, "%s has a meaning for 'numaload serve' only",
                           profile_where(p, serve_only[i], where, sizeof(where)));
    if (!check_workload(p, err))
        return false;
    if (!instrument_check(p->instrument, err))
        return err_prefix(err, "%s", profile_where(p, "instrument", where, sizeof(where)));
    if (strcmp(p->engine, "sync") == 0 && p->iodepth > 1 && profile_is_set(p, "iodepth"))
        return err_set(err, STATUS_USAGE,
                       "%s: engine sync does one I/O at a time; use --iodepth 1 and more threads, "
                       "or engine aio or uring",
                       profile_where(p, "iodepth", where, sizeof(where)));
    if (engine && !engine->spins && profile_polls(p))
        return err_set(err, STATUS_USAGE, "%s: engine %s cannot wait by polling; leave it at event",
                       profile_where(p, "completion", where, sizeof(where)), p->engine);
    return true;
}
