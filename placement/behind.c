#define _GNU_SOURCE
#include "behind.h"

#include "sysroot.h"
#include "text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NFS_PORT "2049"
#define RDMA_DIR "/sys/class/infiniband"
#define SLAVES_DEEP 8

/* ---- the mount ---- */

/* Blanks within a field of mountinfo are written \040. */
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

static bool leads_to(const char *point, const char *path)
{
    size_t n = strlen(point);
    if (n == 1)
        return true;
    return strncmp(point, path, n) == 0 && (path[n] == '/' || !path[n]);
}

bool behind_find_mount(const char *mountinfo, const char *path, struct behind_mount *out)
{
    char line[8192], point[4096];
    size_t best = 0;
    for (const char *next = mountinfo; *next;) {
        size_t n = strcspn(next, "\n");
        size_t take = n < sizeof(line) ? n : sizeof(line) - 1;
        memcpy(line, next, take);
        line[take] = '\0';
        next += n + (next[n] == '\n');
        struct behind_mount m;
        const char *dash = strstr(line, " - ");
        if (!dash ||
            sscanf(line, "%*d %*d %u:%u %*s %4095s", &m.dev_major, &m.dev_minor, point) != 3 ||
            sscanf(dash + 3, "%31s %511s %1023s", m.type, m.source, m.options) != 3)
            continue;
        unescape(point);
        unescape(m.source);
        if (strlen(point) < best || !leads_to(point, path))
            continue;
        best = strlen(point);
        *out = m;
    }
    return best > 0;
}

static bool option(const char *options, const char *key, char *buf, size_t cap)
{
    size_t k = strlen(key);
    for (const char *p = options; *p; p += strcspn(p, ","), p += *p == ',') {
        size_t n = strcspn(p, ",");
        if (n <= k || strncmp(p, key, k) != 0 || p[k] != '=' || n - k > cap)
            continue;
        memcpy(buf, p + k + 1, n - k - 1);
        buf[n - k - 1] = '\0';
        return true;
    }
    return false;
}

/* ---- the network ---- */

static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    if (!a || a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    const struct sockaddr_in6 *x = (const struct sockaddr_in6 *)a,
                              *y = (const struct sockaddr_in6 *)b;
    return a->sa_family == AF_INET6 && memcmp(&x->sin6_addr, &y->sin6_addr, 16) == 0 &&
           x->sin6_scope_id == y->sin6_scope_id;
}

/* Connecting a datagram socket sends nothing: it only asks for the route. */
static int local_address(const char *server, struct sockaddr_storage *local)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *to;
    if (getaddrinfo(server, NFS_PORT, &hints, &to))
        return EHOSTUNREACH;
    socklen_t len = sizeof(*local);
    int error = 0, fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen) ||
        getsockname(fd, (struct sockaddr *)local, &len))
        error = errno;
    if (fd >= 0)
        close(fd);
    freeaddrinfo(to);
    return error;
}

bool behind_netdev_to(const char *server, char *name, struct err *err)
{
    struct sockaddr_storage local = {0};
    struct ifaddrs *list;
    if (!sysroot_live())
        return err_set(err, STATUS_USAGE, "a recorded tree does not hold the route to %s", server);
    int error = local_address(server, &local);
    if (!error && getifaddrs(&list))
        error = errno;
    if (error)
        return err_set(err, STATUS_USAGE, "the route to the server %s: %s", server,
                       strerror(error));
    bool found = false;
    for (const struct ifaddrs *i = list; i && !found; i = i->ifa_next)
        if (same_address(i->ifa_addr, (const struct sockaddr *)&local)) {
            snprintf(name, DEVICE_NAME_MAX, "%.63s", i->ifa_name);
            found = true;
        }
    freeifaddrs(list);
    return found ||
           err_set(err, STATUS_USAGE, "no interface has the address that reaches %s", server);
}

/* Does any file of the directory hold this one line? */
static bool any_says(const char *dir, const char *line)
{
    char **names, path[PATH_MAX], text[DEVICE_NAME_MAX + 2];
    bool found = false;
    if (sysroot_list(dir, &names) < 0)
        return false;
    for (char **p = names; *p && !found; p++) {
        if (snprintf(path, sizeof(path), "%s/%s", dir, *p) >= (int)sizeof(path) ||
            sysroot_read_into(path, text, sizeof(text)) < 0)
            continue; /* an entry without a GID cannot be read */
        text[strcspn(text, "\n")] = '\0';
        found = strcmp(text, line) == 0;
    }
    sysroot_list_free(names);
    return found;
}

static bool has_gid_on(const char *rdma, const char *netdev)
{
    char **ports, path[PATH_MAX];
    bool found = false;
    snprintf(path, sizeof(path), RDMA_DIR "/%.255s/ports", rdma);
    if (sysroot_list(path, &ports) < 0)
        return false;
    for (char **p = ports; *p && !found; p++) {
        snprintf(path, sizeof(path), RDMA_DIR "/%.255s/ports/%.255s/gid_attrs/ndevs", rdma, *p);
        found = any_says(path, netdev);
    }
    sysroot_list_free(ports);
    return found;
}

static bool shares_function(const char *rdma, const char *netdev)
{
    char **names, path[PATH_MAX];
    bool found = false;
    snprintf(path, sizeof(path), RDMA_DIR "/%.255s/device/net", rdma);
    if (sysroot_list(path, &names) < 0)
        return false;
    for (char **p = names; *p && !found; p++)
        found = strcmp(*p, netdev) == 0;
    sysroot_list_free(names);
    return found;
}

bool behind_rdma_of(const char *netdev, char *name, struct err *err)
{
    char **names, *list = NULL;
    bool found = false;
    if (sysroot_list(RDMA_DIR, &names) < 0)
        return err_set(err, STATUS_USAGE, "there is no RDMA device for %s", netdev);
    for (int by_function = 0; by_function < 2 && !found; by_function++)
        for (char **p = names; *p && !found; p++)
            if (by_function ? shares_function(*p, netdev) : has_gid_on(*p, netdev)) {
                snprintf(name, DEVICE_NAME_MAX, "%.63s", *p);
                found = true;
            }
    for (char **p = names; *p; p++)
        text_append(&list, "%s%s", list ? ", " : "", *p);
    sysroot_list_free(names);
    /* An interface that is made of others may have its GIDs on one of them. */
    char **lowers = found ? NULL : device_lowers(netdev);
    for (char **lower = lowers; lower && *lower && !found; lower++)
        found = behind_rdma_of(*lower, name, NULL);
    if (lowers)
        sysroot_list_free(lowers);
    if (!found)
        err_set(err, STATUS_USAGE, "no RDMA device has a GID on %s (looked at: %s)", netdev,
                list ? list : "none");
    free(list);
    return found;
}

/* ---- the disk ---- */

/* The kernel's name of a block device, as below /sys/class/block. */
static bool block_name(const char *dir, char *name)
{
    char path[PATH_MAX], *text;
    snprintf(path, sizeof(path), "%.3000s/uevent", dir);
    if (sysroot_read(path, &text) < 0)
        return false;
    const char *at = strstr(text, "DEVNAME=");
    bool ok = at && sscanf(at, "DEVNAME=%63[^\n]", name) == 1;
    for (char *p = name; ok && *p; p++)
        if (*p == '/') /* cciss/c0d0 is cciss!c0d0 there */
            *p = '!';
    free(text);
    return ok;
}

bool behind_disk_of(unsigned dev_major, unsigned dev_minor, char *name, struct err *err)
{
    char dir[512], path[PATH_MAX], **slaves;
    int64_t part;
    snprintf(dir, sizeof(dir), "/sys/dev/block/%u:%u", dev_major, dev_minor);
    for (int deep = 0; deep < SLAVES_DEEP; deep++) {
        snprintf(path, sizeof(path), "%s/partition", dir);
        if (sysroot_read_i64(path, &part) == 0)
            strcat(dir, "/..");
        if (!block_name(dir, name))
            return err_set(err, STATUS_USAGE, "%s does not name a block device", dir);
        snprintf(path, sizeof(path), "%s/slaves", dir);
        ssize_t n = sysroot_list(path, &slaves);
        if (n == 1)
            snprintf(dir, sizeof(dir), "/sys/class/block/%.255s", slaves[0]);
        if (n >= 0)
            sysroot_list_free(slaves);
        if (n <= 0)
            return true;
        if (n > 1)
            return err_set(err, STATUS_USAGE, "%s is made of %zd disks; name one", name, n);
    }
    return err_set(err, STATUS_USAGE, "%s: too many layers of block devices", name);
}

/* ---- together ---- */

bool behind_server(const char *path, bool bare, char *host, size_t cap)
{
    const char *at = strstr(path, "://");
    if (!at && !bare)
        return false;
    at = at ? at + 3 : path;
    bool brackets = *at == '[';
    at += brackets;
    size_t n = strcspn(at, brackets ? "]" : ":/?");
    if (!n || n >= cap)
        return false;
    memcpy(host, at, n);
    host[n] = '\0';
    return true;
}

bool behind_find_server(const char *host, bool rdma, char *name, char **how, struct err *err)
{
    char netdev[DEVICE_NAME_MAX];
    *how = NULL;
    if (!behind_netdev_to(host, netdev, err))
        return false;
    if (!rdma)
        snprintf(name, DEVICE_NAME_MAX, "%s", netdev);
    else if (!behind_rdma_of(netdev, name, err))
        return false;
    *how = text_printf("server %s is reached through %s%s", host, netdev,
                       rdma ? ", whose RDMA device it is" : "");
    return true;
}

static bool find_nfs(const struct behind_mount *m, char *name, char **how, struct err *err)
{
    char server[128], proto[16] = "";
    if (!option(m->options, "addr", server, sizeof(server)))
        return err_set(err, STATUS_USAGE, "the NFS mount of %s does not say its server's address",
                       m->source);
    option(m->options, "proto", proto, sizeof(proto));
    return behind_find_server(server, strcmp(proto, "rdma") == 0, name, how, err);
}

static bool find_disk(const char *path, unsigned dev_major, unsigned dev_minor, char *name,
                      char **how, struct err *err)
{
    if (!behind_disk_of(dev_major, dev_minor, name, err))
        return false;
    *how = text_printf("the disk behind %s (%u:%u)", path, dev_major, dev_minor);
    return true;
}

bool behind_find(const char *path, char *name, char **how, struct err *err)
{
    struct behind_mount m;
    struct stat st;
    char *text;
    *how = NULL;
    if (sysroot_live() && stat(path, &st) == 0 && S_ISBLK(st.st_mode))
        return find_disk(path, major(st.st_rdev), minor(st.st_rdev), name, how, err);
    ssize_t n = sysroot_read("/proc/self/mountinfo", &text);
    if (n < 0)
        return err_set(err, STATUS_USAGE, "/proc/self/mountinfo: %s", strerror((int)-n));
    char *real = sysroot_live() ? realpath(path, NULL) : strdup(path);
    bool ok = real && *real == '/' && behind_find_mount(text, real, &m);
    free(real);
    free(text);
    if (!ok)
        return err_set(err, STATUS_USAGE, "no mount is known that holds %s", path);
    if (strcmp(m.type, "nfs") == 0 || strcmp(m.type, "nfs4") == 0)
        return find_nfs(&m, name, how, err);
    if (m.dev_major)
        return find_disk(path, m.dev_major, m.dev_minor, name, how, err);
    /* btrfs has a number of its own, but names its disk. */
    if (sysroot_live() && *m.source == '/' && stat(m.source, &st) == 0 && S_ISBLK(st.st_mode))
        return find_disk(path, major(st.st_rdev), minor(st.st_rdev), name, how, err);
    return err_set(err, STATUS_USAGE, "%s is on %s, which has no device behind it", path, m.type);
}
