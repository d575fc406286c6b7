#include "procself.h"

#include "../../placement/sysroot.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void procself_read(uint64_t *uid, uint64_t *capabilities)
{
    char *text;
    *uid = UINT64_MAX;
    *capabilities = 0;
    if (sysroot_read("/proc/self/status", &text) < 0)
        return;
    const char *at = strstr(text, "\nUid:");
    if (!at || sscanf(at + 5, "%*u %" SCNu64, uid) != 1)
        *uid = UINT64_MAX;
    at = strstr(text, "\nCapEff:");
    if (!at || sscanf(at + 8, "%" SCNx64, capabilities) != 1)
        *capabilities = 0;
    free(text);
}

static bool limit_value(const char *text, uint64_t *value)
{
    char *end = (char *)text;
    *value = strcmp(text, "unlimited") == 0 ? UINT64_MAX : strtoull(text, &end, 10);
    return *value == UINT64_MAX || (end != text && !*end);
}

bool procself_limit_in(const char *text, const char *name, uint64_t *soft, uint64_t *hard)
{
    char first[32], second[32];
    uint64_t unused;
    size_t len = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) == 0 && line[len] == ' ')
            return sscanf(line + len, "%31s %31s", first, second) == 2 &&
                   limit_value(first, soft) && limit_value(second, hard ? hard : &unused);
    }
    return false;
}

bool procself_limit(const char *name, uint64_t *soft, uint64_t *hard)
{
    char *text;
    if (sysroot_read("/proc/self/limits", &text) < 0)
        return false;
    bool known = procself_limit_in(text, name, soft, hard);
    free(text);
    return known;
}

/* Takes the limit of one cgroup folder when fewer tasks are left there than anywhere before. */
static void take(const char *dir, bool *any, uint64_t *max, uint64_t *current)
{
    char path[PATH_MAX + 32];
    int64_t limit, tasks;
    snprintf(path, sizeof(path), "%s/pids.max", dir);
    if (sysroot_read_i64(path, &limit) || limit < 0) /* "max" is no number */
        return;
    snprintf(path, sizeof(path), "%s/pids.current", dir);
    if (sysroot_read_i64(path, &tasks) || tasks < 0)
        tasks = 0;
    if (*any && limit - tasks >= (int64_t)(*max - *current))
        return;
    *any = true;
    *max = (uint64_t)limit;
    *current = (uint64_t)tasks;
}

/* "0::/path" of version 2, or "N:pids:/path" (with other controllers beside it) of version 1. */
bool procself_cgroup(const char *line, const char **mount, const char **path)
{
    char controllers[256] = "";
    int at = 0;
    if (strncmp(line, "0::/", 4) == 0) {
        *mount = "/sys/fs/cgroup";
        *path = line + 3;
        return true;
    }
    if (sscanf(line, "%*u:%255[^:\n]:%n", controllers, &at) != 1 || !at || line[at] != '/')
        return false;
    *mount = "/sys/fs/cgroup/pids";
    *path = line + at;
    for (char *save, *c = strtok_r(controllers, ",", &save); c; c = strtok_r(NULL, ",", &save))
        if (strcmp(c, "pids") == 0)
            return true;
    return false;
}

bool procself_pids(uint64_t *max, uint64_t *current)
{
    char *text, dir[PATH_MAX];
    bool any = false;
    if (sysroot_read("/proc/self/cgroup", &text) < 0)
        return false;
    for (char *save, *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        const char *mount, *path;
        if (!procself_cgroup(line, &mount, &path) ||
            (size_t)snprintf(dir, sizeof(dir), "%s%s", mount, path) >= sizeof(dir))
            continue;
        /* Limits of every folder above count as well. */
        for (char *slash; strlen(dir) > strlen(mount) && (slash = strrchr(dir, '/')); *slash = '\0')
            take(dir, &any, max, current);
        take(mount, &any, max, current);
    }
    free(text);
    return any;
}
