#define _GNU_SOURCE
#include "prepare.h"

#include "../pattern.h"
#include "../record/record.h"
#include "hist.h"
#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct job {
    const struct profile *profile;
    int fd;
    _Atomic uint64_t next; /* offset of the next block that nobody writes yet */
    counter *written;      /* by thread */
    _Atomic int running;
    pthread_mutex_t lock;
    struct err *err;
    _Atomic bool failed;
};

struct writer {
    struct job *job;
    unsigned number;
    pthread_t thread;
};

static void job_fail(struct job *job, uint64_t offset, int error)
{
    pthread_mutex_lock(&job->lock);
    if (!job->failed)
        err_set(job->err, STATUS_FAILED, "%s: writing at offset %" PRIu64 ": %s",
                profile_path(job->profile), offset, strerror(error));
    job->failed = true;
    pthread_mutex_unlock(&job->lock);
}

static bool write_block(struct job *job, const char *buf, size_t bytes, uint64_t offset)
{
    while (bytes) {
        ssize_t n = pwrite(job->fd, buf, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            job_fail(job, offset, n < 0 ? errno : EIO);
            return false;
        }
        buf += n;
        bytes -= (size_t)n;
        offset += (uint64_t)n;
    }
    return true;
}

static void *writer_main(void *arg)
{
    struct writer *w = arg;
    struct job *job = w->job;
    const struct profile *p = job->profile;
    char *buf = malloc(p->block_bytes);
    if (!buf)
        job_fail(job, 0, ENOMEM);
    while (buf && !job->failed) {
        uint64_t offset = atomic_fetch_add(&job->next, p->block_bytes);
        if (offset >= p->size_bytes)
            break;
        uint64_t left = p->size_bytes - offset;
        size_t bytes = left < p->block_bytes ? left : p->block_bytes;
        pattern_fill(buf, bytes, offset, p->salt);
        if (!write_block(job, buf, bytes, offset))
            break;
        counter_add(&job->written[w->number], bytes);
    }
    free(buf);
    atomic_fetch_sub(&job->running, 1);
    return NULL;
}

static void watch(struct job *job, unsigned threads)
{
    char a[32], b[32];
    while (atomic_load(&job->running) > 0) {
        uint64_t done = 0;
        for (unsigned i = 0; i < threads; i++)
            done += counter_get(&job->written[i]);
        live_line("writing %s of %s", format_size(done, a, sizeof(a)),
                  format_size(job->profile->size_bytes, b, sizeof(b)));
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    live_clear();
}

static bool write_all(const struct profile *p, int fd, struct err *err)
{
    unsigned threads = (unsigned)p->threads;
    struct job job = {.profile = p, .fd = fd, .err = err};
    struct writer *writers = calloc(threads, sizeof(*writers));
    job.written = calloc(threads, sizeof(*job.written));
    if (!writers || !job.written) {
        free(writers);
        free(job.written);
        return err_set(err, STATUS_FAILED, "out of memory");
    }
    pthread_mutex_init(&job.lock, NULL);
    unsigned started = 0;
    for (; started < threads; started++) {
        writers[started] = (struct writer){.job = &job, .number = started};
        atomic_fetch_add(&job.running, 1);
        int r = pthread_create(&writers[started].thread, NULL, writer_main, &writers[started]);
        if (r) {
            atomic_fetch_sub(&job.running, 1);
            job_fail(&job, 0, r);
            break;
        }
    }
    watch(&job, started);
    for (unsigned i = 0; i < started; i++)
        pthread_join(writers[i].thread, NULL);
    pthread_mutex_destroy(&job.lock);
    free(writers);
    free(job.written);
    if (job.failed)
        return false;
    live_line("syncing");
    bool ok = fsync(fd) == 0;
    live_clear();
    return ok || err_set(err, STATUS_FAILED, "%s: fsync: %s", profile_path(p), strerror(errno));
}

bool prepare_file(const struct profile *p, struct err *err)
{
    char note[PATH_MAX];
    struct stat st;
    if (snprintf(note, sizeof(note), "%s.numaload", profile_path(p)) >= (int)sizeof(note))
        return err_set(err, STATUS_USAGE, "%s: name too long", profile_path(p));
    if (p->block_bytes % 8)
        return err_set(err, STATUS_USAGE, "block: %" PRIu64 " is not a multiple of 8",
                       p->block_bytes);
    bool there = stat(profile_path(p), &st) == 0;
    if (there && !S_ISREG(st.st_mode))
        return err_set(err, STATUS_USAGE, "%s is not a regular file", profile_path(p));
    if (there && st.st_size > 0 && access(note, F_OK))
        return err_set(err, STATUS_FAILED,
                       "%s is there already and was not written by numaload (no %s beside it); "
                       "remove it first or choose another path",
                       profile_path(p), note);
    /* First, so that a file that was cut off is known as numaload's and may be written again. */
    json_t *begun = json_pack("{s:i}", "bytes", 0);
    bool noted = begun && record_write(begun, note, err);
    json_decref(begun);
    if (!noted)
        return false;
    int fd = open(profile_path(p), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_set(err, STATUS_FAILED, "%s: %s", profile_path(p), strerror(errno));
    bool ok = write_all(p, fd, err);
    if (close(fd) && ok)
        ok = err_set(err, STATUS_FAILED, "%s: close: %s", profile_path(p), strerror(errno));
    if (!ok)
        return false;
    json_t *text = json_pack("{s:I, s:I, s:I}", "bytes", (json_int_t)p->size_bytes, "salt",
                             (json_int_t)p->salt, "block_bytes", (json_int_t)p->block_bytes);
    ok = text && record_write(text, note, err);
    json_decref(text);
    return ok;
}
