#define _GNU_SOURCE
#include "journal.h"

#include "guardian.h"
#include "setting.h"
#include "sysroot.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define GUARDIAN_WAIT_MS 10000
#define STEP_MS 20

struct journal {
    char dir[PATH_MAX]; /* absolute */
    int lock_fd, fd;
    struct guardian guardian;
};

/* What a journal says, with the lines about one path put together. */
struct change {
    char *path, *before, *after; /* after NULL: not known */
};

struct story {
    bool exists, kept;
    int64_t pid, start;
    char *boot, *command;
    struct change *changes; /* in the order of the first change */
    size_t changes_n;
};

static void speak(journal_say *say, void *ctx, char *text)
{
    if (text && say)
        say(ctx, text);
    else if (text)
        fprintf(stderr, "%s\n", text);
    free(text);
}

/* Start time of a process in clock ticks since boot (proc(5), stat, field 22); -1: no process. With
 * the pid it names a process for good, as pids are used again. */
static int64_t start_time(int64_t pid)
{
    char path[64], buf[1024];
    snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, buf, sizeof(buf) - 1);
    close(fd);
    if (n <= 0)
        return -1;
    buf[n] = '\0';
    /* The second field is a name in brackets that may hold blanks and brackets itself. */
    char *p = strrchr(buf, ')');
    for (int field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');
    return p ? strtoll(p + 1, NULL, 10) : -1;
}

static bool journal_path(char *buf, size_t cap, const char *dir, const char *name, struct err *err)
{
    int n = snprintf(buf, cap, "%s/%s", dir, name);
    return (n > 0 && (size_t)n < cap) ||
           err_set(err, STATUS_FAILED, "%s: the path is too long", dir);
}

static void story_free(struct story *s)
{
    for (size_t i = 0; i < s->changes_n; i++) {
        free(s->changes[i].path);
        free(s->changes[i].before);
        free(s->changes[i].after);
    }
    free(s->changes);
    free(s->boot);
    free(s->command);
    *s = (struct story){0};
}

static struct change *find_change(struct story *s, const char *path)
{
    for (size_t i = 0; i < s->changes_n; i++)
        if (strcmp(s->changes[i].path, path) == 0)
            return &s->changes[i];
    return NULL;
}

/* A second change of a path keeps the first "before", and its "after" is open again. */
static bool add_change(struct story *s, const char *path, const char *before)
{
    struct change *known = find_change(s, path);
    if (known) {
        free(known->after);
        known->after = NULL;
        return true;
    }
    struct change *bigger = realloc(s->changes, (s->changes_n + 1) * sizeof(*bigger));
    if (!bigger)
        return false;
    s->changes = bigger;
    struct change c = {.path = strdup(path), .before = strdup(before)};
    if (!c.path || !c.before) {
        free(c.path);
        free(c.before);
        return false;
    }
    s->changes[s->changes_n++] = c;
    return true;
}

static bool read_line(struct story *s, json_t *line)
{
    const char *path, *before, *after, *boot, *command;
    json_int_t version, pid, start;
    int kept;
    if (json_unpack(line, "{s:I, s:I, s:I, s:s, s:s}", "journal", &version, "pid", &pid, "start",
                    &start, "boot", &boot, "command", &command) == 0) {
        s->pid = pid;
        s->start = start;
        free(s->boot);
        free(s->command);
        s->boot = strdup(boot);
        s->command = strdup(command);
        return version == 1 && s->boot && s->command;
    }
    if (json_unpack(line, "{s:s, s:s}", "change", &path, "before", &before) == 0)
        return add_change(s, path, before);
    if (json_unpack(line, "{s:s, s:s}", "changed", &path, "after", &after) == 0) {
        struct change *c = find_change(s, path);
        if (!c)
            return false;
        free(c->after);
        c->after = strdup(after);
        return c->after != NULL;
    }
    if (json_unpack(line, "{s:b}", "kept", &kept) == 0) {
        s->kept = kept;
        return true;
    }
    return false;
}

/* Reads dir/journal. What can be understood is in *s also on failure. */
static bool story_read(struct story *s, const char *dir, struct err *err)
{
    *s = (struct story){0};
    char path[PATH_MAX];
    if (!journal_path(path, sizeof(path), dir, "journal", err))
        return false;
    FILE *f = fopen(path, "re");
    if (!f)
        return errno == ENOENT || err_set(err, STATUS_FAILED, "%s: %s", path, strerror(errno));
    s->exists = true;
    bool ok = true;
    char *line = NULL;
    size_t cap = 0, number = 0;
    ssize_t n;
    while ((n = getline(&line, &cap, f)) > 0) {
        number++;
        if (line[n - 1] != '\n')
            break;
        json_t *object = json_loadb(line, (size_t)n, 0, NULL);
        if (!object || !read_line(s, object))
            ok = err_set(err, STATUS_FAILED, "%s:%zu: not a line of a journal", path, number);
        json_decref(object);
    }
    free(line);
    fclose(f);
    return ok;
}

static char *read_boot_id(void)
{
    char buf[64] = "";
    int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, buf, sizeof(buf) - 1);
    if (fd >= 0)
        close(fd);
    buf[n > 0 ? n : 0] = '\0';
    return text_chomp(buf);
}

static bool of_this_boot(const struct story *s)
{
    char *boot = read_boot_id();
    bool same = !s->boot || !boot || strcmp(s->boot, boot) == 0;
    free(boot);
    return same;
}

/* Puts one change back and says what came of it. */
static enum put_back undo(const struct change *c, bool force, journal_say *say, void *ctx,
                          struct err *err)
{
    enum put_back result = setting_put_back(c->path, c->before, c->after, force, err);
    char *old = text_chomp(c->before);
    if (result == PUT_BACK_DONE)
        speak(say, ctx, text_printf("%s: put back to '%s'", c->path, old));
    else if (result == PUT_BACK_GONE)
        speak(say, ctx, text_printf("%s: is not there any more, nothing to put back", c->path));
    else if (result != PUT_BACK_AS_WAS)
        speak(say, ctx, strdup(err->text));
    free(old);
    return result;
}

bool journal_replay(const char *dir, bool force, journal_say *say, void *ctx, unsigned *done,
                    struct err *err)
{
    struct story s;
    char path[PATH_MAX];
    struct err one;
    unsigned failed = 0, count = 0;
    bool readable = story_read(&s, dir, err);
    if (!of_this_boot(&s)) {
        speak(say, ctx,
              text_printf("the journal in %s is of an earlier boot: nothing to put back", dir));
    } else {
        for (size_t i = s.changes_n; i-- > 0;) {
            enum put_back result = undo(&s.changes[i], force, say, ctx, &one);
            count += result == PUT_BACK_DONE;
            failed += result == PUT_BACK_FAILED;
        }
    }
    if (done)
        *done = count;
    bool exists = s.exists;
    story_free(&s);
    if (!readable && !force)
        return false;
    if (failed && !force)
        return err_set(err, STATUS_FAILED,
                       "%u value%s could not be put back; the journal stays in "
                       "%s",
                       failed, failed == 1 ? "" : "s", dir);
    if (exists && journal_path(path, sizeof(path), dir, "journal", err))
        unlink(path);
    return true;
}

enum journal_state journal_look(const char *dir, char *who, size_t cap)
{
    struct story s;
    story_read(&s, dir, NULL);
    enum journal_state state = JOURNAL_STALE;
    if (!s.exists || !of_this_boot(&s))
        state = JOURNAL_NONE;
    else if (s.pid > 0 && start_time(s.pid) == s.start)
        state = JOURNAL_OWNED;
    else if (s.kept)
        state = JOURNAL_KEPT;
    snprintf(who, cap, "'%s' (pid %lld)", s.command ? s.command : "?", (long long)s.pid);
    story_free(&s);
    return state;
}

static void sleep_step(void)
{
    const struct timespec t = {.tv_nsec = STEP_MS * 1000000L};
    nanosleep(&t, NULL);
}

/* Names who holds the lock. */
static bool refuse_owned(const struct story *s, const char *dir, struct err *err)
{
    if (s->exists && start_time(s->pid) == s->start)
        return err_set(err, STATUS_FAILED,
                       "another placement is in force, of pid %lld (%s); wait until it ends",
                       (long long)s->pid, s->command ? s->command : "?");
    return err_set(err, STATUS_FAILED, "%s/lock is held by another process", dir);
}

/* The lock, or -1 and err. A guardian of a dead owner is waited for: it is about to be done. */
static int take_lock(const char *dir, struct err *err)
{
    char path[PATH_MAX];
    if (!journal_path(path, sizeof(path), dir, "lock", err))
        return -1;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        err_set(err, STATUS_FAILED, "%s: %s%s", path, strerror(errno),
                errno == EACCES ? "; this needs root" : "");
        return -1;
    }
    for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB); waited += STEP_MS) {
        struct story s;
        story_read(&s, dir, NULL);
        bool owner_lives = s.exists && start_time(s.pid) == s.start;
        bool give_up = owner_lives || waited >= GUARDIAN_WAIT_MS;
        if (give_up)
            refuse_owned(&s, dir, err);
        story_free(&s);
        if (give_up) {
            close(fd);
            return -1;
        }
        sleep_step();
    }
    return fd;
}

static bool make_dir(char *absolute, const char *dir, struct err *err)
{
    if (mkdir(dir, 0755) && errno != EEXIST)
        return err_set(err, STATUS_FAILED, "%s: %s%s", dir, strerror(errno),
                       errno == EACCES ? "; placing machine-wide values needs root" : "");
    if (!realpath(dir, absolute))
        return err_set(err, STATUS_FAILED, "%s: %s", dir, strerror(errno));
    return true;
}

/* Appends one line and waits until it is on the disk. Takes over the reference. */
static bool append(int fd, json_t *line)
{
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    json_decref(line);
    char *whole = text ? text_printf("%s\n", text) : NULL;
    free(text);
    if (!whole) {
        errno = ENOMEM;
        return false;
    }
    size_t len = strlen(whole);
    ssize_t n = write(fd, whole, len);
    free(whole);
    if (n >= 0 && (size_t)n != len)
        errno = ENOSPC;
    return n >= 0 && (size_t)n == len && fsync(fd) == 0;
}

static char *own_command(void)
{
    char buf[256];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, buf, sizeof(buf) - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return text_printf("?");
    for (ssize_t i = 0; i < n; i++)
        if (buf[i] == '\0' || (unsigned char)buf[i] >= 0x7f || (unsigned char)buf[i] < ' ')
            buf[i] = buf[i] == '\0' ? ' ' : '?';
    buf[n] = '\0';
    return text_chomp(buf);
}

static bool write_head(struct journal *j, struct err *err)
{
    char path[PATH_MAX];
    if (!journal_path(path, sizeof(path), j->dir, "journal", err))
        return false;
    j->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (j->fd < 0)
        return err_set(err, STATUS_FAILED, "%s: %s", path, strerror(errno));
    char *boot = read_boot_id(), *command = own_command();
    bool ok =
        append(j->fd, json_pack("{s:i, s:I, s:I, s:s, s:s}", "journal", 1, "pid",
                                (json_int_t)getpid(), "start", (json_int_t)start_time(getpid()),
                                "boot", boot ? boot : "", "command", command ? command : ""));
    if (!ok) {
        err_set(err, STATUS_FAILED, "%s: %s", path, strerror(errno));
        unlink(path);
    }
    free(boot);
    free(command);
    return ok;
}

/* Deals with a journal that is there although nobody holds the lock. */
static bool clear_dead(const char *dir, journal_say *say, void *ctx, struct err *err)
{
    struct story s;
    bool ok = story_read(&s, dir, err);
    if (ok && s.exists && s.kept && of_this_boot(&s)) {
        ok = err_set(err, STATUS_FAILED,
                     "a placement was left in force by '%s' (pid %lld); 'numaload restore' puts it "
                     "back",
                     s.command ? s.command : "?", (long long)s.pid);
    } else if (s.exists) {
        speak(say, ctx,
              text_printf("a journal of pid %lld, which is gone, is in %s: putting back its values",
                          (long long)s.pid, dir));
        ok = journal_replay(dir, false, say, ctx, NULL, err);
    }
    story_free(&s);
    return ok;
}

static void journal_free(struct journal *j)
{
    if (j->fd >= 0)
        close(j->fd);
    if (j->lock_fd >= 0)
        close(j->lock_fd);
    free(j);
}

bool journal_begin(struct journal **out, const char *dir, journal_say *say, void *ctx,
                   struct err *err)
{
    *out = NULL;
    struct journal *j = calloc(1, sizeof(*j));
    if (!j)
        return err_set(err, STATUS_FAILED, "journal: out of memory");
    j->lock_fd = j->fd = j->guardian.socket = -1;
    if (!make_dir(j->dir, dir ? dir : JOURNAL_DIR, err))
        goto fail;
    j->lock_fd = take_lock(j->dir, err);
    if (j->lock_fd < 0)
        goto fail;
    /* The guardian first: a journal without one would stay behind if we were killed in between. */
    if (!clear_dead(j->dir, say, ctx, err) ||
        !guardian_start(&j->guardian, j->dir, j->lock_fd, err))
        goto fail;
    if (!write_head(j, err)) {
        guardian_dismiss(&j->guardian);
        goto fail;
    }
    *out = j;
    return true;
fail:
    journal_free(j);
    return false;
}

bool journal_before(struct journal *j, const char *path, const char *before, const char *wrote)
{
    return append(j->fd,
                  json_pack("{s:s, s:s, s:s}", "change", path, "before", before, "wrote", wrote));
}

bool journal_after(struct journal *j, const char *path, const char *after)
{
    return append(j->fd, json_pack("{s:s, s:s}", "changed", path, "after", after));
}

bool journal_end(struct journal *j, enum journal_end end, struct err *err)
{
    if (!j)
        return true;
    bool ok = true;
    char path[PATH_MAX];
    if (end == JOURNAL_KEEP && !append(j->fd, json_pack("{s:b}", "kept", 1)))
        ok = err_set(err, STATUS_FAILED, "%s/journal: %s", j->dir, strerror(errno));
    if (end == JOURNAL_DONE && journal_path(path, sizeof(path), j->dir, "journal", err))
        unlink(path);
    guardian_dismiss(&j->guardian);
    journal_free(j);
    return ok;
}

bool journal_restore(const char *dir, bool force, journal_say *say, void *ctx, unsigned *done,
                     struct err *err)
{
    if (done)
        *done = 0;
    if (!dir)
        dir = JOURNAL_DIR;
    char absolute[PATH_MAX];
    if (!realpath(dir, absolute))
        return errno == ENOENT || err_set(err, STATUS_FAILED, "%s: %s", dir, strerror(errno));
    int lock = take_lock(absolute, err);
    if (lock < 0)
        return false;
    bool ok = journal_replay(absolute, force, say, ctx, done, err);
    close(lock);
    return ok;
}
