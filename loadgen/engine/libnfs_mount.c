#define _GNU_SOURCE
#ifdef HAVE_LIBNFS
#include "libnfs_mount.h"

#include "../profile.h"
#include "../run/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* libnfs wants to be called about so often, for its own timers and reconnects. */
#define TURN_MS 100
#define RELEASE_NS UINT64_C(1000000000)

bool nfs_mount_turn(struct nfs_mount *m, int wait_ms)
{
    struct pollfd p = {.fd = nfs_get_fd(m->nfs), .events = (short)nfs_which_events(m->nfs)};
    int n = poll(&p, 1, wait_ms);
    if (n < 0)
        return errno == EINTR;
    return nfs_service(m->nfs, n > 0 ? p.revents : 0) == 0;
}

/* ---- calls ---- */

static void on_status(int status, struct nfs_context *nfs, void *data, void *arg)
{
    struct nfs_call *c = arg;
    (void)nfs;
    (void)data;
    c->status = status;
    c->over = true;
}

static void on_open(int status, struct nfs_context *nfs, void *data, void *arg)
{
    struct nfs_call *c = arg;
    if (status == 0)
        c->file = data;
    on_status(status, nfs, data, arg);
}

static void on_stat(int status, struct nfs_context *nfs, void *data, void *arg)
{
    struct nfs_call *c = arg;
    if (status == 0)
        c->stat = *(const struct nfs_stat_64 *)data;
    on_status(status, nfs, data, arg);
}

/* Waits for the call that was queued (queued < 0: it was not). Returns its status. */
static int await(struct nfs_mount *m, int queued, uint64_t deadline_ns)
{
    uint64_t until = now_ns() + deadline_ns;
    if (queued < 0)
        return -ENOMEM;
    while (!m->call.over) {
        if (!nfs_mount_turn(m, TURN_MS))
            return m->call.over && m->call.status < 0 ? m->call.status : -ECONNRESET;
        if (!m->call.over && now_ns() >= until)
            return -ETIMEDOUT;
    }
    return m->call.status;
}

/* libnfs's own words, which name the NFS status; without them errno's. */
static const char *words(struct nfs_mount *m, int status)
{
    const char *text = nfs_get_error(m->nfs);
    return status != -ETIMEDOUT && text && *text ? text : strerror(-status);
}

/* ---- URLs ---- */

static const char *arguments(const char *url)
{
    const char *at = strchr(url, '?');
    return at ? at : "";
}

/* server and "/folder/file" of a URL; both are the caller's. */
static bool split(struct nfs_context *nfs, const char *url, char **server, char **path,
                  struct err *err)
{
    struct nfs_url *u = nfs_parse_url_full(nfs, url);
    if (!u)
        return err_set(err, STATUS_USAGE,
                       "\"%s\": %s; engine libnfs reads nfs://SERVER/FOLDER/FILE, with arguments "
                       "such as ?version=4&nfsport=PORT",
                       url, nfs_get_error(nfs));
    *server = strdup(u->server);
    const char *folder = strcmp(u->path, "/") == 0 ? "" : u->path;
    int n = asprintf(path, "%s/%s", folder, u->file + strspn(u->file, "/"));
    nfs_destroy_url(u);
    return (*server && n >= 0) || err_set(err, STATUS_FAILED, "out of memory");
}

/* Cuts folder down to what it shares with the folder of path, component by component. */
static void share_folder(char *folder, const char *path)
{
    size_t same = 0, end = 0;
    while (folder[same] && folder[same] == path[same]) {
        if (folder[same] == '/')
            end = same;
        same++;
    }
    if (!folder[same] && path[same] == '/')
        end = same;
    folder[end] = '\0';
}

static bool find_folder(struct nfs_mount *m, const char *const *urls, unsigned n, struct err *err)
{
    bool ok = true;
    for (unsigned i = 0; i < n && ok; i++) {
        char *server = NULL, *path = NULL;
        ok = split(m->nfs, urls[i], &server, &path, err);
        if (!ok) {
            /* said */
        } else if (i == 0) {
            m->server = server;
            m->folder = path;
            *strrchr(m->folder, '/') = '\0';
            continue;
        } else if (strcmp(server, m->server) != 0 ||
                   strcmp(arguments(urls[i]), arguments(urls[0])) != 0) {
            ok = err_set(err, STATUS_USAGE,
                         "engine libnfs reads all files through one mount a thread: \"%s\" and "
                         "\"%s\" have different servers or arguments",
                         urls[0], urls[i]);
        } else {
            share_folder(m->folder, path);
        }
        free(server);
        free(path);
    }
    return ok;
}

static unsigned version_of(const char *url)
{
    const char *at = strstr(arguments(url), "version=");
    return at && at[strlen("version=")] == '4' ? 4 : 3;
}

/* ---- mount and files ---- */

/* What libnfs could keep or read ahead would never cross the wire. */
static void no_caches(struct nfs_context *nfs)
{
    (void)nfs;
#ifdef LIBNFS_FEATURE_READAHEAD
    nfs_set_readahead(nfs, 0);
#endif
#ifdef LIBNFS_FEATURE_PAGECACHE
    nfs_set_pagecache(nfs, 0);
#endif
}

static void name_client(struct nfs_context *nfs, unsigned id)
{
    char host[128] = "", name[256];
    uint64_t verifier = now_ns() ^ ((uint64_t)getpid() << 32) ^ ((uint64_t)id << 16);
    gethostname(host, sizeof(host) - 1);
    snprintf(name, sizeof(name), "numaload %s %d %u %" PRIu64, host, (int)getpid(), id, verifier);
    nfs4_set_client_name(nfs, name);
    nfs4_set_verifier(nfs, (const char *)&verifier); /* 8 opaque bytes, RFC 7530 */
}

bool nfs_mount_open(struct nfs_mount *m, const char *const *urls, unsigned n, unsigned id,
                    uint64_t deadline_ns, struct err *err)
{
    *m = (struct nfs_mount){.deadline_ns = deadline_ns, .version = version_of(urls[0])};
    m->nfs = nfs_init_context();
    if (!m->nfs)
        return err_set(err, STATUS_FAILED, "engine libnfs: out of memory for a context");
    if (!find_folder(m, urls, n, err))
        goto fail;
    no_caches(m->nfs);
    if (m->version == 4)
        name_client(m->nfs, id);
    const char *folder = *m->folder ? m->folder : "/";
    int status =
        await(m, nfs_mount_async(m->nfs, m->server, folder, on_status, &m->call), deadline_ns);
    if (status == 0)
        return true;
    char time[32];
    if (status == -ETIMEDOUT)
        err_set(err, STATUS_FAILED,
                "%s: server %s did not answer the mount of %s within %s (key deadline)", urls[0],
                m->server, folder, format_time(deadline_ns, time, sizeof(time)));
    else
        err_set(err, STATUS_FAILED,
                "%s: cannot mount %s of server %s with NFSv%u: %s; 'showmount -e %s' lists what it "
                "exports, version=, nfsport= and mountport= in the URL choose the service",
                urls[0], folder, m->server, m->version, words(m, status), m->server);
fail:
    nfs_mount_close(m);
    return false;
}

static bool file_failed(struct nfs_mount *m, const char *url, const char *doing, int status,
                        struct err *err)
{
    switch (status) {
    case -ENOENT:
        return err_set(err, STATUS_FAILED, "%s: no such file on server %s", url, m->server);
    case -EACCES:
    case -EPERM:
        return err_set(err, STATUS_FAILED,
                       "%s: no permission to %s it (%s); uid= and gid= in the URL say as whom", url,
                       doing, words(m, status));
    default:
        return err_set(err, STATUS_FAILED, "%s: %s: %s", url, doing, words(m, status));
    }
}

bool nfs_mount_file(struct nfs_mount *m, const char *url, struct nfsfh **file,
                    struct nfs_stat_64 *stat, struct err *err)
{
    char *server = NULL, *path = NULL;
    bool ok = split(m->nfs, url, &server, &path, err);
    no_caches(m->nfs); /* parsing applies the URL's arguments again */
    if (!ok)
        goto out;
    m->call = (struct nfs_call){0};
    int status =
        await(m, nfs_open_async(m->nfs, path + strlen(m->folder), O_RDONLY, on_open, &m->call),
              m->deadline_ns);
    ok = status == 0 || file_failed(m, url, "read", status, err);
    if (!ok)
        goto out;
    *file = m->call.file;
    m->call = (struct nfs_call){0};
    status = await(m, nfs_fstat64_async(m->nfs, *file, on_stat, &m->call), m->deadline_ns);
    ok = status == 0 || file_failed(m, url, "look at", status, err);
    *stat = m->call.stat;
    if (!ok)
        nfs_mount_release(m, *file);
out:
    free(server);
    free(path);
    return ok;
}

void nfs_mount_release(struct nfs_mount *m, struct nfsfh *file)
{
    m->call = (struct nfs_call){0};
    await(m, nfs_close_async(m->nfs, file, on_status, &m->call), RELEASE_NS);
}

void nfs_mount_close(struct nfs_mount *m)
{
    if (m->nfs)
        nfs_destroy_context(m->nfs);
    free(m->server);
    free(m->folder);
    m->nfs = NULL;
    m->server = m->folder = NULL;
}
#endif
