/* An NFS client in user space over TCP (libnfs): one context a thread with a poll(2) loop of its
 * own, NFSv3 or v4.0.
 *
 * An I/O above the server's largest READ is sent as several READs at once; iodepth counts I/Os. A
 * lost connection is made anew by libnfs, which sends what was unanswered again: that is counted,
 * and makes the run invalid. Every I/O has a deadline (key `deadline`). */
#define _GNU_SOURCE
#ifdef HAVE_LIBNFS
#include "engine.h"
#include "libnfs_mount.h"

#include "../profile.h"
#include "../run/target.h"
#include "../run/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* How often outstanding I/Os are compared with the deadline. */
#define SCAN_NS UINT64_C(100000000)
#define RETRY_NS 50000000
#define DESCRIPTORS_SPARE 64
/* One request where libnfs does not know the server's limit (4.0 does not ask for it over NFSv4). A
 * server that does less answers short, and the rest is asked for. */
#define MAX_UNSAID_BYTES (UINT64_C(1) << 20)

struct slot {
    struct engine *e;
    const struct io *io;
    uint64_t start_ns;
    uint32_t number;
    unsigned parts; /* READs outstanding; 0: the slot is idle */
    uint32_t end;   /* bytes from the front that are there when all parts are answered */
    int error;      /* errno of a part that failed */
};

/* One READ: bytes [at, at + bytes) of the I/O of its slot. */
struct part {
    struct slot *slot;
    uint32_t at, bytes;
};

struct engine {
    struct nfs_mount mount;
    struct nfsfh **files; /* as in the target */
    unsigned files_n, iodepth, parts_each;
    uint64_t read_max;      /* bytes of one READ */
    uint64_t read_max_said; /* by the server; 0: unknown */
    struct slot *slots;
    struct part *parts;      /* parts_each a slot */
    struct completion *done; /* those not yet reaped, iodepth at most */
    unsigned done_n;
    uint64_t scanned_ns, deadline_ns;
    uint64_t short_replies; /* READs answered with less than was asked */
    ino_t socket;
    bool answered; /* something came back over the present connection */
    uint64_t reconnects;
    bool broken;
    char why[256];
};

static bool lnfs_check(unsigned threads, unsigned iodepth, struct err *err)
{
    struct rlimit lim;
    (void)iodepth;
    if (getrlimit(RLIMIT_NOFILE, &lim) || lim.rlim_cur >= threads + DESCRIPTORS_SPARE)
        return true;
    return err_set(err, STATUS_FAILED,
                   "engine libnfs: %u threads need a socket each, RLIMIT_NOFILE is %" PRIu64
                   "; 'ulimit -n %u' allows it",
                   threads, (uint64_t)lim.rlim_cur, threads + DESCRIPTORS_SPARE);
}

/* ---- what is at the other end ---- */

static bool check_holes(const char *url, const struct nfs_stat_64 *st, const struct profile *p,
                        struct err *err)
{
    char have[32], want[32];
    if (p->allow_sparse || st->nfs_used >= st->nfs_size)
        return true;
    return err_set(err, STATUS_FAILED,
                   "%s has %s but only %s on the server's storage: holes (or compression) read "
                   "faster than any storage. Write real data, or add --allow-sparse",
                   url, format_size(st->nfs_size, have, sizeof(have)),
                   format_size(st->nfs_used, want, sizeof(want)));
}

static bool lnfs_locate(const struct profile *p, struct target *t, struct err *err)
{
    struct nfs_mount m;
    unsigned n = 0;
    bool ok = true;
    while (p->paths[n])
        n++;
    if (!nfs_mount_open(&m, (const char *const *)p->paths, n, UINT32_MAX, p->deadline_ns, err))
        return false;
    for (unsigned i = 0; i < n && ok; i++) {
        struct nfsfh *file;
        struct nfs_stat_64 st;
        ok = nfs_mount_file(&m, p->paths[i], &file, &st, err);
        if (!ok)
            break;
        nfs_mount_release(&m, file);
        if (!S_ISREG(st.nfs_mode))
            ok = err_set(err, STATUS_FAILED, "%s is not a regular file", p->paths[i]);
        else
            ok = check_holes(p->paths[i], &st, p, err) &&
                 target_add(t, p->paths[i], st.nfs_size, m.version == 4 ? "nfs4" : "nfs", err);
    }
    nfs_mount_close(&m);
    return ok;
}

static ino_t socket_of(struct engine *e)
{
    struct stat st;
    int fd = nfs_get_fd(e->mount.nfs);
    return fd >= 0 && fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static void lnfs_close(struct engine *e)
{
    /* The server keeps state of NFSv4 files; one that is gone is not waited for. */
    for (unsigned i = 0; e->files && i < e->files_n && !e->broken; i++)
        if (e->files[i])
            nfs_mount_release(&e->mount, e->files[i]);
    e->broken = true;
    nfs_mount_close(&e->mount);
    free(e->files);
    free(e->slots);
    free(e->parts);
    free(e->done);
    free(e);
}

static bool make_slots(struct engine *e, const struct engine_setup *s)
{
    e->parts_each = (unsigned)((s->block_bytes + e->read_max - 1) / e->read_max);
    e->slots = calloc(s->iodepth, sizeof(*e->slots));
    e->parts = calloc((size_t)s->iodepth * e->parts_each, sizeof(*e->parts));
    e->done = calloc(s->iodepth, sizeof(*e->done));
    if (!e->slots || !e->parts || !e->done)
        return false;
    for (unsigned i = 0; i < s->iodepth; i++)
        e->slots[i] = (struct slot){.e = e, .number = i};
    for (unsigned i = 0; i < s->iodepth * e->parts_each; i++)
        e->parts[i].slot = &e->slots[i / e->parts_each];
    return true;
}

static bool mount_files(struct engine *e, const struct engine_setup *s, struct err *err)
{
    const struct target *t = s->target;
    const char **urls = calloc(t->files_n, sizeof(*urls));
    if (!urls)
        return err_set(err, STATUS_FAILED, "out of memory");
    for (unsigned i = 0; i < t->files_n; i++)
        urls[i] = t->files[i].path;
    bool ok = nfs_mount_open(&e->mount, urls, t->files_n, s->thread, s->profile->deadline_ns, err);
    for (unsigned i = 0; i < t->files_n && ok; i++) {
        struct nfs_stat_64 st;
        ok = nfs_mount_file(&e->mount, urls[i], &e->files[i], &st, err);
    }
    free(urls);
    return ok;
}

static struct engine *lnfs_open(const struct engine_setup *s, struct err *err)
{
    struct engine *e = calloc(1, sizeof(*e));
    struct nfsfh **files = calloc(s->target->files_n, sizeof(*files));
    if (!e || !files) {
        err_set(err, STATUS_FAILED, "out of memory");
        free(e);
        free(files);
        return NULL;
    }
    e->files = files;
    e->files_n = s->target->files_n;
    e->iodepth = s->iodepth;
    e->deadline_ns = s->profile->deadline_ns;
    if (!mount_files(e, s, err))
        goto fail;
    e->read_max_said = nfs_get_readmax(e->mount.nfs);
    e->read_max = e->read_max_said ? e->read_max_said : MAX_UNSAID_BYTES;
    if (!make_slots(e, s)) {
        err_set(err, STATUS_FAILED, "out of memory");
        goto fail;
    }
    e->socket = socket_of(e);
    return e;
fail:
    lnfs_close(e);
    return NULL;
}

/* ---- I/O ---- */

static int queue_part(struct part *p);

/* Counts one part less; the last one completes the I/O. */
static void end_part(struct slot *s)
{
    struct engine *e = s->e;
    if (--s->parts || e->broken)
        return;
    e->done[e->done_n++] =
        (struct completion){.slot = s->number, .result = s->error ? -s->error : (int32_t)s->end};
}

static void on_reply(int status, struct nfs_context *nfs, void *data, void *arg)
{
    struct part *p = arg;
    struct slot *s = p->slot;
    struct engine *e = s->e;
    (void)data;
    if (status < 0 || (uint32_t)status > p->bytes) {
        s->error = status < 0 ? -status : EPROTO;
        const char *text =
            status < 0 ? nfs_get_error(nfs) : "the server sent more than was asked for";
        if (!e->broken)
            snprintf(e->why, sizeof(e->why), "%s", text && *text ? text : strerror(s->error));
        end_part(s);
        return;
    }
    e->answered = true;
#ifndef LIBNFS_READS_TO_BUFFER
    if (status)
        memcpy((char *)s->io->buf + p->at, data, (size_t)status);
#endif
    p->at += (uint32_t)status;
    p->bytes -= (uint32_t)status;
    if (p->bytes == 0) {
        end_part(s);
        return;
    }
    e->short_replies++;
    if (status == 0) { /* end of file */
        if (p->at < s->end)
            s->end = p->at;
        end_part(s);
    } else if (queue_part(p)) {
        s->error = ENOMEM;
        end_part(s);
    }
}

static int queue_part(struct part *p)
{
    const struct io *io = p->slot->io;
    struct engine *e = p->slot->e;
    uint64_t offset = io->offset + p->at;
    struct nfsfh *file = e->files[io->file];
#ifdef LIBNFS_READS_TO_BUFFER
    return nfs_pread_async(e->mount.nfs, file, (char *)io->buf + p->at, p->bytes, offset, on_reply,
                           p);
#else
    return nfs_pread_async(e->mount.nfs, file, offset, p->bytes, on_reply, p);
#endif
}

static int start(struct engine *e, struct slot *s, const struct io *io, uint64_t now)
{
    const uint64_t max = e->read_max;
    uint32_t bytes = io->want - io->done; /* what `bytes` has more lies past the end */
    unsigned n = (unsigned)((bytes + max - 1) / max);
    struct part *p = &e->parts[(size_t)s->number * e->parts_each];
    *s = (struct slot){
        .e = e, .io = io, .start_ns = now, .number = s->number, .parts = n, .end = bytes};
    for (unsigned i = 0; i < n; i++) {
        uint32_t at = (uint32_t)(i * max), left = bytes - at;
        p[i] = (struct part){.slot = s, .at = at, .bytes = left < max ? left : (uint32_t)max};
        if (queue_part(&p[i]) == 0)
            continue;
        if (i == 0) {
            s->parts = 0;
            return -ENOMEM;
        }
        s->error = ENOMEM;
        end_part(s);
    }
    return 0;
}

/* One turn of libnfs's loop, and a look at whether it is still the same connection. */
static bool turn(struct engine *e, int wait_ms)
{
    if (!nfs_mount_turn(&e->mount, wait_ms)) {
        const char *text = nfs_get_error(e->mount.nfs);
        snprintf(e->why, sizeof(e->why), "the connection to %s is lost: %s", e->mount.server,
                 text && *text ? text : "no reason given");
        e->broken = true;
        return false;
    }
    ino_t now = socket_of(e);
    if (now == e->socket || !now)
        return true;
    e->socket = now;
    if (!e->answered) /* libnfs tries again at once; that is a busy loop when nobody listens */
        nanosleep(&(struct timespec){.tv_nsec = RETRY_NS}, NULL);
    e->reconnects += e->answered; /* attempts that lead nowhere are one reconnect */
    e->answered = false;
    return true;
}

static int lnfs_submit(struct engine *e, const struct io *ios, const uint32_t *slots, unsigned n)
{
    uint64_t now = now_ns();
    unsigned i;
    for (i = 0; i < n; i++)
        if (start(e, &e->slots[slots[i]], &ios[slots[i]], now))
            break;
    if (i == 0 && n) {
        snprintf(e->why, sizeof(e->why), "%s", nfs_get_error(e->mount.nfs));
        return -ENOMEM;
    }
    return turn(e, 0) ? (int)i : -EIO; /* sends them */
}

static bool past_deadline(struct engine *e, uint64_t now)
{
    if (now - e->scanned_ns < SCAN_NS)
        return false;
    e->scanned_ns = now;
    for (unsigned i = 0; i < e->iodepth; i++) {
        const struct slot *s = &e->slots[i];
        if (!s->parts || now - s->start_ns <= e->deadline_ns)
            continue;
        snprintf(e->why, sizeof(e->why),
                 "server %s did not answer a READ of %" PRIu32 " bytes at offset %" PRIu64
                 " for %.1f s (key deadline)%s",
                 e->mount.server, s->io->bytes, s->io->offset, (double)(now - s->start_ns) / 1e9,
                 e->answered ? "" : "; the connection was lost and could not be made anew");
        e->broken = true;
        return true;
    }
    return false;
}

static int lnfs_reap(struct engine *e, struct completion *done, unsigned max, uint64_t timeout_ns)
{
    uint64_t now = now_ns(), until = now + timeout_ns;
    do {
        int wait_ms = e->done_n || now >= until ? 0 : (int)((until - now) / 1000000 + 1);
        if (!turn(e, wait_ms))
            return -EIO;
        now = now_ns();
        if (past_deadline(e, now))
            return -ETIMEDOUT;
    } while (!e->done_n && now < until);
    unsigned n = e->done_n < max ? e->done_n : max;
    memcpy(done, e->done, n * sizeof(*done));
    e->done_n -= n;
    memmove(e->done, e->done + n, e->done_n * sizeof(*done));
    return (int)n;
}

/* ---- what is told ---- */

static json_t *lnfs_features(const struct engine *e)
{
    (void)e;
#ifdef LIBNFS_READS_TO_BUFFER
    return json_pack("{s:b}", "copied_by_engine", false);
#else
    return json_pack("{s:b}", "copied_by_engine", true);
#endif
}

static json_t *lnfs_facts(const struct engine *e)
{
    json_t *said = e->read_max_said ? json_integer((json_int_t)e->read_max_said) : json_null();
    return json_pack("{s:s, s:s, s:i, s:o, s:i, s:I, s:I}", "server", e->mount.server, "folder",
                     *e->mount.folder ? e->mount.folder : "/", "nfs_version", (int)e->mount.version,
                     "server_read_max_bytes", said, "requests_per_io", (int)e->parts_each,
                     "short_replies", (json_int_t)e->short_replies, "reconnects",
                     (json_int_t)e->reconnects);
}

static const char *lnfs_why(struct engine *e)
{
    return e->why[0] ? e->why : NULL;
}

const struct engine_ops engine_libnfs = {
    .name = "libnfs",
    .check = lnfs_check,
    .locate = lnfs_locate,
    .open = lnfs_open,
    .submit = lnfs_submit,
    .reap = lnfs_reap,
    .features = lnfs_features,
    .facts = lnfs_facts,
    .why = lnfs_why,
    .close = lnfs_close,
};
#endif
