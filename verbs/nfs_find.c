#include "nfs_find.h"

#include "mount3.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static bool usage(struct err *err, const char *text, const char *what)
{
    return err_set(err, STATUS_USAGE,
                   "'%.200s': %s; the form is nfs-rdma://host[:port]/export/file[?mountport=N]",
                   text, what);
}

static bool parse_port(const char *text, size_t bytes, unsigned *port)
{
    unsigned long n = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (!isdigit((unsigned char)text[i]) || n > 65535)
            return false;
        n = n * 10 + (unsigned long)(text[i] - '0');
    }
    *port = (unsigned)n;
    return bytes && n >= 1 && n <= 65535;
}

bool nfs_url_parse(struct nfs_url *u, const char *text, struct err *err)
{
    *u = (struct nfs_url){0};
    if (strncmp(text, NFS_URL_PREFIX, strlen(NFS_URL_PREFIX)) != 0)
        return usage(err, text, "no nfs-rdma URL");
    const char *at = text + strlen(NFS_URL_PREFIX);
    bool v6 = *at == '[';
    at += v6;
    size_t n = strcspn(at, v6 ? "]/?" : ":/?");
    if (n == 0 || n >= sizeof(u->host) || (v6 && at[n] != ']'))
        return usage(err, text, "no host");
    memcpy(u->host, at, n);
    at += n + v6;
    unsigned port = (unsigned)atoi(NFS_RDMA_PORT);
    if (*at == ':') {
        size_t digits = strcspn(++at, "/?");
        if (!parse_port(at, digits, &port))
            return usage(err, text, "the port is not a number from 1 to 65535");
        at += digits;
    }
    snprintf(u->server, sizeof(u->server), v6 ? "[%s]:%u" : "%s:%u", u->host, port);
    n = strcspn(at, "?");
    if (*at != '/' || n < 2 || at[n - 1] == '/')
        return usage(err, text, "no path of a file");
    if (n >= sizeof(u->path))
        return usage(err, text, "the path is too long");
    memcpy(u->path, at, n);
    at += n;
    static const char option[] = "?mountport=";
    if (*at && (strncmp(at, option, strlen(option)) != 0 ||
                !parse_port(at + strlen(option), strlen(at) - strlen(option), &u->mountport)))
        return usage(err, text, "after the '?' only mountport=N can stand");
    return true;
}

static bool refused(const struct nfs_url *u, const char *what, uint32_t status, struct err *err)
{
    char text[64];
    return err_set(err, STATUS_FAILED, "%s: %s: %s", u->server, what,
                   nfs3_status_text(status, text, sizeof(text)));
}

/* Asks for the handles of the folders above the file, the longest path first. *rest is what is left
 * to look up. */
static bool mount_folder(const struct nfs_url *u, const struct rpc_auth *auth, uint64_t deadline_ns,
                         struct nfs_fh *fh, const char **rest, struct err *err)
{
    char folder[sizeof(u->path)], what[sizeof(u->path) + 64];
    uint32_t first = NFS3_OK;
    size_t n = strlen(u->path);
    for (;;) {
        struct mount3_mnt r;
        while (u->path[n - 1] != '/')
            n--;
        snprintf(folder, sizeof(folder), "%.*s", (int)(n > 1 ? n - 1 : 1), u->path);
        if (!mount3_ask(u->host, u->mountport, folder, auth, deadline_ns, &r, err))
            return false;
        if (r.status == NFS3_OK && !r.auth_sys)
            return err_set(err, STATUS_FAILED, "%s: the export of %s does not allow sec=sys",
                           u->server, folder);
        if (r.status == NFS3_OK) {
            *fh = r.fh;
            *rest = u->path + n;
            return true;
        }
        if (first == NFS3_OK)
            first = r.status;
        if (n == 1)
            break;
        n--;
    }
    /* What was named may be an exported folder itself, which the caller will refuse as such. */
    struct mount3_mnt whole;
    if (mount3_ask(u->host, u->mountport, u->path, auth, deadline_ns, &whole, err) &&
        whole.status == NFS3_OK) {
        *fh = whole.fh;
        *rest = u->path + strlen(u->path);
        return true;
    }
    snprintf(what, sizeof(what), "no folder of %s can be mounted ('exportfs -v' there lists them)",
             u->path);
    return refused(u, what, first, err);
}

bool nfs_lookup(struct transport *t, const struct nfs_fh *folder, const char *name,
                const struct rpc_auth *auth, uint64_t deadline_ns, struct nfs3_lookup *r,
                struct err *err)
{
    struct nfs_call call;
    nfs_call_begin(&call);
    nfs3_put_lookup(&call.args, folder, name);
    return nfs_call(t, &call, NFS3_LOOKUP, auth, deadline_ns, err) &&
           nfs3_get_lookup(&call.results, r, err);
}

/* Follows the names from `rest` up to `end`. */
static bool follow(struct transport *t, const struct nfs_url *u, const char *rest, const char *end,
                   const struct rpc_auth *auth, uint64_t deadline_ns, struct nfs_fh *fh,
                   struct err *err)
{
    while (rest < end) {
        struct nfs3_lookup r;
        char name[NFS3_NAME_MAX + 1];
        size_t n = strcspn(rest, "/");
        if (n >= sizeof(name))
            return err_set(err, STATUS_USAGE, "%s: a name of more than %d bytes", u->path,
                           NFS3_NAME_MAX);
        memcpy(name, rest, n);
        name[n] = '\0';
        rest += n + strspn(rest + n, "/");
        if (!nfs_lookup(t, fh, name, auth, deadline_ns, &r, err))
            return false;
        if (r.status != NFS3_OK)
            return refused(u, u->path, r.status, err);
        *fh = r.fh;
    }
    return true;
}

bool nfs_limits(struct transport *t, const struct nfs_fh *fh, const struct rpc_auth *auth,
                uint64_t deadline_ns, struct nfs3_fsinfo *limits, struct err *err)
{
    struct nfs_call call;
    char text[64];
    nfs_call_begin(&call);
    nfs3_put_fh(&call.args, fh);
    if (!nfs_call(t, &call, NFS3_FSINFO, auth, deadline_ns, err) ||
        !nfs3_get_fsinfo(&call.results, limits, err))
        return false;
    return limits->status == NFS3_OK ||
           err_set(err, STATUS_FAILED, "FSINFO: %s",
                   nfs3_status_text(limits->status, text, sizeof(text)));
}

bool nfs_find(struct transport *t, const struct nfs_url *u, const struct rpc_auth *auth,
              uint64_t deadline_ns, struct nfs_found *found, struct err *err)
{
    struct nfs_call call;
    struct nfs3_getattr attr;
    const char *rest = u->path;
    if (!mount_folder(u, auth, deadline_ns, &found->fh, &rest, err) ||
        !follow(t, u, rest, u->path + strlen(u->path), auth, deadline_ns, &found->fh, err))
        return false;
    nfs_call_begin(&call);
    nfs3_put_fh(&call.args, &found->fh);
    if (!nfs_call(t, &call, NFS3_GETATTR, auth, deadline_ns, err) ||
        !nfs3_get_getattr(&call.results, &attr, err))
        return false;
    if (attr.status != NFS3_OK)
        return refused(u, u->path, attr.status, err);
    if (attr.attr.type != NF3REG)
        return err_set(err, STATUS_FAILED, "%s: %s is %s, not a file", u->server, u->path,
                       attr.attr.type == NF3DIR ? "a directory" : "something else");
    found->attr = attr.attr;
    return nfs_limits(t, &found->fh, auth, deadline_ns, &found->limits, err) ||
           err_prefix(err, "%s", u->server);
}

bool nfs_find_folder(struct transport *t, const struct nfs_url *u, const struct rpc_auth *auth,
                     uint64_t deadline_ns, struct nfs_fh *folder, const char **name,
                     struct err *err)
{
    const char *rest = u->path;
    if (!mount_folder(u, auth, deadline_ns, folder, &rest, err))
        return false;
    *name = strrchr(u->path, '/') + 1;
    if (!*rest)
        return err_set(err, STATUS_FAILED, "%s: %s is a directory, not a file", u->server, u->path);
    return follow(t, u, rest, *name, auth, deadline_ns, folder, err);
}

bool nfs_create(struct transport *t, const struct nfs_fh *folder, const char *name,
                const struct rpc_auth *auth, uint64_t deadline_ns, struct nfs_fh *file,
                struct err *err)
{
    struct nfs_call call;
    struct nfs3_lookup r;
    char text[64];
    nfs_call_begin(&call);
    nfs3_put_create(&call.args, folder, name);
    if (!nfs_call(t, &call, NFS3_CREATE, auth, deadline_ns, err) ||
        !nfs3_get_create(&call.results, &r, err))
        return false;
    if (r.status == NFS3_OK && r.fh.bytes == 0 && /* the handle is optional in CREATE */
        !nfs_lookup(t, folder, name, auth, deadline_ns, &r, err))
        return false;
    if (r.status != NFS3_OK)
        return err_set(err, STATUS_FAILED, "making %s: %s", name,
                       nfs3_status_text(r.status, text, sizeof(text)));
    *file = r.fh;
    return true;
}
