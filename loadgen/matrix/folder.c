#define _GNU_SOURCE
#include "folder.h"

#include "../run/live.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RESERVE_BYTES (1 << 20)
#define REMNANT_WAIT_MS 20000
#define STEP_MS 100

static bool join(char *buf, size_t cap, const char *folder, const char *name, struct err *err)
{
    int n = snprintf(buf, cap, "%s/%s", folder, name);
    return (n > 0 && (size_t)n < cap) ||
           err_set(err, STATUS_USAGE, "%s: the path is too long", folder);
}

bool folder_make(const char *folder, struct err *err)
{
    struct stat st;
    if (mkdir(folder, 0777) && errno != EEXIST)
        return err_set(err, STATUS_USAGE,
                       "cannot make the folder \"%s\": %s; --folder names another", folder,
                       strerror(errno));
    if (stat(folder, &st) || !S_ISDIR(st.st_mode))
        return err_set(err, STATUS_USAGE, "\"%s\" is not a folder; --folder names another", folder);
    return true;
}

/* The pid in the lock file, or 0. */
static pid_t holder(int fd)
{
    char text[32];
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    long pid = strtol(text, NULL, 10);
    return pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

static bool alive(pid_t pid)
{
    return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

static bool wait_for_remnant(int fd)
{
    bool said = false;
    for (int ms = 0; ms < REMNANT_WAIT_MS; ms += STEP_MS) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (alive(holder(fd)))
            return false;
        if (!said)
            live_say("waiting for the last run of a matrix that was killed to put everything back");
        said = true;
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
    }
    return false;
}

int folder_lock(const char *folder, struct err *err)
{
    char path[PATH_MAX], text[32];
    if (!join(path, sizeof(path), folder, "lock", err))
        return -1;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
        err_set(err, STATUS_FAILED, "cannot write to the folder \"%s\": %s", folder,
                strerror(errno));
        return -1;
    }
    if (!wait_for_remnant(fd)) {
        pid_t pid = holder(fd);
        err_set(err, STATUS_FAILED,
                "another 'numaload matrix' (pid %ld) is at work on \"%s\"; wait for it, or name "
                "another --folder",
                (long)pid, folder);
        close(fd);
        return -1;
    }
    int len = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
    /* Only a courtesy to the next one: a full disk must not stand in the way here. */
    if (ftruncate(fd, 0) || pwrite(fd, text, (size_t)len, 0) != len)
        errno = 0;
    return fd;
}

int folder_log(const char *folder, struct err *err)
{
    char path[PATH_MAX];
    if (!join(path, sizeof(path), folder, "log", err))
        return -1;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        err_set(err, STATUS_FAILED, "cannot write to \"%s\": %s", path, strerror(errno));
    return fd;
}

bool folder_reserve(const char *folder, struct err *err)
{
    char path[PATH_MAX];
    struct stat st;
    if (!join(path, sizeof(path), folder, "reserve", err))
        return false;
    if (stat(path, &st) == 0 && st.st_size >= RESERVE_BYTES)
        return true;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    int error = fd < 0 ? errno : posix_fallocate(fd, 0, RESERVE_BYTES);
    if (fd >= 0)
        close(fd);
    if (!error)
        return true;
    unlink(path);
    return err_set(err, STATUS_FAILED,
                   "no room in \"%s\" (%s): a matrix keeps 1 MiB free for the record in hand; make "
                   "room and run the same command",
                   folder, strerror(error));
}

void folder_release(const char *folder)
{
    char path[PATH_MAX];
    if (join(path, sizeof(path), folder, "reserve", NULL))
        unlink(path);
}

bool folder_set_aside(const char *folder, const char *name, char *to, size_t cap, struct err *err)
{
    char from[PATH_MAX], path[PATH_MAX];
    if (!join(from, sizeof(from), folder, name, err))
        return false;
    for (unsigned i = 1;; i++) {
        if (i == 1)
            snprintf(to, cap, "%s.corrupt", name);
        else
            snprintf(to, cap, "%s.corrupt-%u", name, i);
        if (!join(path, sizeof(path), folder, to, err))
            return false;
        if (renameat2(AT_FDCWD, from, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
            return true;
        /* A file system without this flag: look first. */
        if (errno == EINVAL && access(path, F_OK) && rename(from, path) == 0)
            return true;
        if (errno != EEXIST && errno != EINVAL)
            return err_set(err, STATUS_FAILED, "cannot set \"%s\" aside: %s", from,
                           strerror(errno));
    }
}

bool folder_retire(const char *folder, char *to, size_t cap, struct err *err)
{
    for (unsigned i = 1;; i++) {
        int n = snprintf(to, cap, "%s.old-%u", folder, i);
        if (n < 0 || (size_t)n >= cap)
            return err_set(err, STATUS_USAGE, "%s: the path is too long", folder);
        if (access(to, F_OK) == 0)
            continue;
        if (rename(folder, to))
            return err_set(err, STATUS_FAILED, "cannot set \"%s\" aside: %s", folder,
                           strerror(errno));
        return true;
    }
}
