#include "limits.h"

#include "../check/procself.h"
#include "../record/notes.h"

#include "../../placement/kept.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

/* Of kernel workers and of our own threads, on the largest machines. */
#define KEPT_FILES_MAX 8192u

static bool may_lock_any(void)
{
    uint64_t uid, capabilities;
    procself_read(&uid, &capabilities);
    return capabilities >> PROC_CAP_IPC_LOCK & 1;
}

bool limits_may_register(const struct crew *crew, json_t *notes)
{
    const struct profile *p = crew->profile;
    struct rlimit lim;
    uint64_t need = crew->threads * (uint64_t)crew->iodepth * p->block_bytes;
    if (strcmp(p->engine, "uring") != 0 || getrlimit(RLIMIT_MEMLOCK, &lim) ||
        lim.rlim_cur == RLIM_INFINITY || need <= lim.rlim_cur || may_lock_any())
        return true;
    char a[32], b[32], c[32];
    note_add(notes, NOTE_WARNING, "uring",
             "buffers are not registered: %u threads x iodepth %" PRIu64 " x %s need %s of locked "
             "memory, RLIMIT_MEMLOCK is %s; 'ulimit -l unlimited' allows it",
             crew->threads, p->iodepth, format_size(p->block_bytes, a, sizeof(a)),
             format_size(need, b, sizeof(b)), format_size(lim.rlim_cur, c, sizeof(c)));
    return false;
}

uint64_t limits_descriptors_needed(const struct profile *p, unsigned files_n)
{
    uint64_t opens = p->fd_sharing || p->own_files ? files_n : files_n * (uint64_t)p->threads;
    return opens + 100 + 2 * p->threads; /* rings, records, samplers */
}

bool limits_descriptors(const struct profile *p, unsigned files_n, struct err *err)
{
    struct rlimit lim;
    uint64_t need = limits_descriptors_needed(p, files_n);
    if (getrlimit(RLIMIT_NOFILE, &lim) || need <= lim.rlim_cur)
        return true;
    lim.rlim_cur = need;
    if (need <= lim.rlim_max && setrlimit(RLIMIT_NOFILE, &lim) == 0)
        return true;
    return err_set(err, STATUS_FAILED,
                   "%u files for %" PRIu64 " threads need %" PRIu64
                   " descriptors, the limit is %llu: "
                   "raise it (ulimit -Hn), or add --fd-sharing or --own-files",
                   files_n, p->threads, need, (unsigned long long)lim.rlim_max);
}

/* Half of what is left, since engines of the network may connect anew. */
void limits_allow_kept(const struct profile *p, unsigned files_n)
{
    struct rlimit lim;
    uint64_t need = limits_descriptors_needed(p, files_n);
    if (getrlimit(RLIMIT_NOFILE, &lim))
        return;
    rlim_t want = need + 2 * KEPT_FILES_MAX;
    want = want < lim.rlim_max ? want : lim.rlim_max;
    if (want > lim.rlim_cur) {
        rlim_t old = lim.rlim_cur;
        lim.rlim_cur = want;
        if (setrlimit(RLIMIT_NOFILE, &lim))
            lim.rlim_cur = old;
    }
    uint64_t spare = lim.rlim_cur > need ? (lim.rlim_cur - need) / 2 : 0;
    kept_allow(spare < KEPT_FILES_MAX ? (unsigned)spare : KEPT_FILES_MAX);
}
