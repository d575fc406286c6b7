#define _GNU_SOURCE
#include "remount.h"

#include "../record/record.h"

#include "../../placement/sysroot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOUNTINFO "/proc/self/mountinfo"
#define HOLDERS_NAMED 4

/* ---- /proc/self/mountinfo, proc_pid_mountinfo(5) ---- */

/* Blanks, tabs, newlines and backslashes are written as \ and three octal digits. */
static char *unescape(char *text)
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
    return text;
}

static bool leads_to(const char *point, const char *path)
{
    size_t n = strlen(point);
    return strcmp(point, "/") == 0 ||
           (strncmp(point, path, n) == 0 && (path[n] == '/' || path[n] == '\0'));
}

void mount_line_free(struct mount_line *m)
{
    free(m->point);
    free(m->source);
    free(m->fstype);
    free(m->options);
    *m = (struct mount_line){0};
}

/* ID PARENT DEV ROOT POINT OPTIONS [TAG...] - TYPE SOURCE OPTIONS */
static bool parse_line(char *line, struct mount_line *m)
{
    char *dash = strstr(line, " - "), *field[6], *after[3], *save = NULL;
    if (!dash)
        return false;
    *dash = '\0';
    for (int i = 0; i < 6; i++)
        if (!(field[i] = strtok_r(i ? NULL : line, " ", &save)))
            return false;
    for (int i = 0; i < 3; i++)
        if (!(after[i] = strtok_r(i ? NULL : dash + 3, " ", &save)))
            return false;
    *m = (struct mount_line){.point = strdup(unescape(field[4])),
                             .fstype = strdup(unescape(after[0])),
                             .source = strdup(unescape(after[1]))};
    if (asprintf(&m->options, "%s,%s", field[5], unescape(after[2])) < 0)
        m->options = NULL;
    return m->point && m->fstype && m->source && m->options;
}

bool mount_line_find(const char *mountinfo, const char *path, struct mount_line *m)
{
    char *copy = strdup(mountinfo), *save = NULL;
    bool found = false;
    *m = (struct mount_line){0};
    for (char *line = copy ? strtok_r(copy, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save)) {
        struct mount_line one;
        if (!parse_line(line, &one))
            continue;
        if (leads_to(one.point, path) && (!found || strlen(one.point) >= strlen(m->point))) {
            mount_line_free(m);
            *m = one;
            found = true;
        } else {
            mount_line_free(&one);
        }
    }
    free(copy);
    return found;
}

static bool find(const char *path, struct mount_line *m)
{
    char *text;
    if (sysroot_read(MOUNTINFO, &text) < 0)
        return false;
    bool found = mount_line_find(text, path, m);
    free(text);
    return found;
}

/* ---- who holds it ---- */

static bool link_leads(const char *link, const char *point)
{
    char target[PATH_MAX];
    ssize_t n = readlink(link, target, sizeof(target) - 1);
    if (n <= 0)
        return false;
    target[n] = '\0';
    return leads_to(point, target);
}

static bool holds(const char *pid, const char *point)
{
    static const char *const links[] = {"cwd", "root", "exe"};
    char path[PATH_MAX];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "/proc/%s/%s", pid, links[i]);
        if (link_leads(path, point))
            return true;
    }
    snprintf(path, sizeof(path), "/proc/%s/fd", pid);
    DIR *dir = opendir(path);
    bool found = false;
    for (struct dirent *d; dir && !found && (d = readdir(dir));) {
        snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, d->d_name);
        found = link_leads(path, point);
    }
    if (dir)
        closedir(dir);
    return found;
}

static void name_holders(const char *point, char *buf, size_t cap)
{
    char **names;
    unsigned n = 0;
    size_t used = 0;
    snprintf(buf, cap, "nobody that /proc shows");
    if (sysroot_list("/proc", &names) < 0)
        return;
    for (char **name = names; *name && n < HOLDERS_NAMED && used < cap; name++) {
        char path[64], *comm = NULL;
        if ((*name)[0] < '1' || (*name)[0] > '9' || !holds(*name, point))
            continue;
        snprintf(path, sizeof(path), "/proc/%.20s/comm", *name);
        if (sysroot_read(path, &comm) >= 0)
            comm[strcspn(comm, "\n")] = '\0';
        used += (size_t)snprintf(buf + used, cap - used, "%s%s (pid %s)", n++ ? ", " : "",
                                 comm ? comm : "?", *name);
        free(comm);
    }
    sysroot_list_free(names);
}

/* ---- mount(8) and umount(8) ---- */

/* Runs a program and waits; its last line on stderr in said. Returns its exit status, or -1. */
static int run_tool(const char *const argv[], char *said, size_t cap)
{
    int fds[2], status;
    said[0] = '\0';
    if (pipe2(fds, O_CLOEXEC))
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], STDERR_FILENO);
        dup2(fds[1], STDOUT_FILENO);
        execvp(argv[0], (char *const *)argv);
        dprintf(STDERR_FILENO, "%s: %s", argv[0], strerror(errno));
        _exit(127);
    }
    close(fds[1]);
    size_t used = 0;
    ssize_t n;
    while (used + 1 < cap && (n = read(fds[0], said + used, cap - 1 - used)) > 0)
        used += (size_t)n;
    said[used] = '\0';
    close(fds[0]);
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return -1;
    for (char *c = said; *c; c++)
        if (*c == '\n')
            *c = ' ';
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool mount_it(const struct mount_line *m, struct err *err)
{
    char said[512];
    const char *const argv[] = {"mount",    "-t",      m->fstype, "-o",
                                m->options, m->source, m->point,  NULL};
    if (run_tool(argv, said, sizeof(said)) == 0)
        return true;
    return err_set(err, STATUS_FAILED,
                   "mount -t %s -o %s %s %s: %s; it is not mounted now, and 'numaload restore' "
                   "tries again",
                   m->fstype, m->options, m->source, m->point, said);
}

static bool write_journal(const char *journal, const struct mount_line *m, struct err *err)
{
    json_t *o = json_pack("{s:s, s:s, s:s, s:s}", "point", m->point, "source", m->source, "fstype",
                          m->fstype, "options", m->options);
    char dir[PATH_MAX];
    snprintf(dir, sizeof(dir), "%s", journal);
    *strrchr(dir, '/') = '\0';
    if (mkdir(dir, 0755) && errno != EEXIST) {
        json_decref(o);
        return err_set(err, STATUS_FAILED, "cannot make \"%s\": %s", dir, strerror(errno));
    }
    bool good = o && record_write(o, journal, err);
    json_decref(o);
    return good;
}

/* In the process that must not be disturbed. */
static bool both(const struct mount_line *m, struct err *err)
{
    char said[512], holders[512];
    const char *const argv[] = {"umount", m->point, NULL};
    if (!write_journal(REMOUNT_JOURNAL, m, err))
        return false;
    if (run_tool(argv, said, sizeof(said)) != 0) {
        unlink(REMOUNT_JOURNAL);
        name_holders(m->point, holders, sizeof(holders));
        return err_set(err, STATUS_FAILED, "remount: %s cannot be unmounted (%s); it is held by %s",
                       m->point, said, holders);
    }
    if (!mount_it(m, err))
        return false;
    unlink(REMOUNT_JOURNAL);
    return true;
}

static bool in_own_process(const struct mount_line *m, struct err *err)
{
    int fds[2], status;
    if (pipe2(fds, O_CLOEXEC))
        return err_set(err, STATUS_FAILED, "no pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        signal(SIGPIPE, SIG_IGN);
        /* Its working directory must not be what keeps the mount busy. */
        struct err e = {0};
        bool good = chdir("/") == 0 && both(m, &e);
        if (!good && write(fds[1], e.text, strlen(e.text)) < 0)
            _exit(STATUS_FAILED);
        _exit(good ? STATUS_OK : STATUS_FAILED);
    }
    close(fds[1]);
    char text[1024];
    size_t used = 0;
    ssize_t n;
    while (used + 1 < sizeof(text) && (n = read(fds[0], text + used, sizeof(text) - 1 - used)) > 0)
        used += (size_t)n;
    text[used] = '\0';
    close(fds[0]);
    if (pid < 0)
        return err_set(err, STATUS_FAILED, "no process for the remount: %s", strerror(errno));
    if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    return err_set(err, STATUS_FAILED, "%s", used ? text : "the remount was killed");
}

bool remount_nfs(const char *path, struct err *err)
{
    struct mount_line m;
    char real[PATH_MAX];
    if (!realpath(path, real))
        return err_set(err, STATUS_FAILED, "remount: %s: %s", path, strerror(errno));
    if (!find(real, &m))
        return err_set(err, STATUS_FAILED, "remount: no mount found for %s", real);
    bool good = true;
    if (strncmp(m.fstype, "nfs", 3) != 0)
        good = err_set(err, STATUS_USAGE,
                       "remount: %s is on %s (%s), not on NFS; leave 'remount = none'", path,
                       m.point, m.fstype);
    else if (geteuid() != 0)
        good = err_set(err, STATUS_FAILED, "remount: only root can unmount %s", m.point);
    else
        good = in_own_process(&m, err);
    mount_line_free(&m);
    return good;
}

bool remount_restore(const char *journal, bool *done, struct err *err)
{
    json_error_t e;
    struct mount_line now = {0};
    char *point, *source, *fstype, *options;
    *done = false;
    if (access(journal, F_OK))
        return true;
    json_t *o = json_load_file(journal, JSON_REJECT_DUPLICATES, &e);
    if (!o || json_unpack(o, "{s:s, s:s, s:s, s:s}", "point", &point, "source", &source, "fstype",
                          &fstype, "options", &options)) {
        json_decref(o);
        return err_set(err, STATUS_FAILED,
                       "%s, which a killed remount left, cannot be read: see what is mounted, and "
                       "remove it",
                       journal);
    }
    struct mount_line m = {point, source, fstype, options};
    bool mounted =
        find(point, &now) && strcmp(now.point, point) == 0 && strcmp(now.source, source) == 0;
    bool good = mounted || mount_it(&m, err);
    if (good) {
        *done = !mounted;
        unlink(journal);
    }
    mount_line_free(&now);
    json_decref(o);
    return good;
}
