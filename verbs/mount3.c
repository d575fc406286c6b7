#define _GNU_SOURCE
#include "mount3.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* RPC over a stream: 4 bytes in front of each piece, its length and whether it is the last one
 * (RFC 5531, 11). */
#define LAST_PIECE 0x80000000u
enum { MESSAGE_MAX = 4096, RESERVED_FIRST = 665, RESERVED_LAST = 1023 };

struct stream {
    int fd;
    char name[160]; /* for messages */
};

static bool bind_reserved(int fd, int family)
{
    unsigned start = (unsigned)getpid() % (RESERVED_LAST - RESERVED_FIRST + 1);
    for (unsigned i = 0; i <= RESERVED_LAST - RESERVED_FIRST; i++) {
        uint16_t port =
            (uint16_t)(RESERVED_FIRST + (start + i) % (RESERVED_LAST - RESERVED_FIRST + 1));
        struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
        struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
        int r = family == AF_INET ? bind(fd, (struct sockaddr *)&v4, sizeof(v4))
                                  : bind(fd, (struct sockaddr *)&v6, sizeof(v6));
        if (r == 0)
            return true;
        if (errno != EADDRINUSE)
            return false;
    }
    return false;
}

static bool stream_open(struct stream *s, const char *host, unsigned port, uint64_t deadline_ns,
                        struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    struct timeval limit = {.tv_sec = (time_t)(deadline_ns / 1000000000),
                            .tv_usec = (suseconds_t)(deadline_ns % 1000000000 / 1000)};
    char service[16];
    int error = 0;
    s->fd = -1;
    snprintf(service, sizeof(service), "%u", port);
    snprintf(s->name, sizeof(s->name), "%s of %.100s (TCP port %u)",
             port == PORTMAP_PORT ? "the port mapper" : "mountd", host, port);
    int r = getaddrinfo(host, service, &hints, &list);
    if (r)
        return err_set(err, STATUS_FAILED, "%s: %s", host, gai_strerror(r));
    for (struct addrinfo *a = list; a && s->fd < 0; a = a->ai_next) {
        s->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (s->fd < 0)
            continue;
        bind_reserved(s->fd, a->ai_family); /* without it mountd may still answer */
        setsockopt(s->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        if (connect(s->fd, a->ai_addr, a->ai_addrlen) == 0)
            break;
        error = errno;
        close(s->fd);
        s->fd = -1;
    }
    freeaddrinfo(list);
    return s->fd >= 0 || err_set(err, STATUS_FAILED, "%s cannot be reached: %s", s->name,
                                 strerror(error == EINPROGRESS ? ETIMEDOUT : error));
}

static bool move_all(struct stream *s, uint8_t *data, size_t bytes, bool out, struct err *err)
{
    while (bytes) {
        ssize_t n = out ? send(s->fd, data, bytes, MSG_NOSIGNAL) : recv(s->fd, data, bytes, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_set(err, STATUS_FAILED, "%s: %s", s->name,
                           n == 0            ? "it closed the connection"
                           : errno == EAGAIN ? "no answer in time"
                                             : strerror(errno));
        data += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool read_message(struct stream *s, uint8_t *data, size_t *bytes, struct err *err)
{
    *bytes = 0;
    for (;;) {
        uint8_t head[4];
        if (!move_all(s, head, sizeof(head), false, err))
            return false;
        struct xdr_in in = xdr_in(head, sizeof(head));
        uint32_t mark = xdr_u32(&in), piece = mark & ~LAST_PIECE;
        if (piece > MESSAGE_MAX - *bytes)
            return err_set(err, STATUS_FAILED, "%s: a message of more than %d bytes", s->name,
                           MESSAGE_MAX);
        if (!move_all(s, data + *bytes, piece, false, err))
            return false;
        *bytes += piece;
        if (mark & LAST_PIECE)
            return true;
        if (piece == 0)
            return err_set(err, STATUS_FAILED, "%s: an empty piece of a message", s->name);
    }
}

/* `out` begins with 4 bytes for the record mark and holds the call. */
static bool exchange(struct stream *s, struct xdr_out *out, uint32_t xid, uint8_t *reply,
                     struct xdr_in *in, struct err *err)
{
    size_t bytes = xdr_written(out);
    struct xdr_out mark = xdr_out(out->begin, 4);
    if (!out->ok)
        return err_set(err, STATUS_FAILED, "%s: the path is too long", s->name);
    xdr_put_u32(&mark, LAST_PIECE | (uint32_t)(bytes - 4));
    if (!move_all(s, out->begin, bytes, true, err) || !read_message(s, reply, &bytes, err))
        return false;
    *in = xdr_in(reply, bytes);
    return rpc_get_reply(in, xid, err) || err_prefix(err, "%s", s->name);
}

static uint32_t new_xid(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint32_t)ts.tv_nsec ^ (uint32_t)ts.tv_sec << 20;
}

static bool ask_port(const char *host, uint64_t deadline_ns, unsigned *port, struct err *err)
{
    struct stream s;
    uint8_t call[MESSAGE_MAX], reply[MESSAGE_MAX];
    struct xdr_in in;
    uint32_t xid = new_xid();
    if (!stream_open(&s, host, PORTMAP_PORT, deadline_ns, err))
        return err_prefix(err, "looking for mountd (or give ?mountport=N in the path)");
    struct xdr_out out = xdr_out(call, sizeof(call));
    xdr_put_u32(&out, 0);
    rpc_put_call(&out, xid, PORTMAP_PROGRAM, PORTMAP_VERSION, PORTMAP_GETPORT, NULL);
    portmap_put_getport(&out, MOUNT_PROGRAM, MOUNT_VERSION);
    bool ok = exchange(&s, &out, xid, reply, &in, err);
    *port = ok ? xdr_u32(&in) : 0;
    close(s.fd);
    if (!ok)
        return false;
    if (!in.ok || *port > 65535)
        return err_set(err, STATUS_FAILED, "%s: a malformed answer", s.name);
    return *port || err_set(err, STATUS_FAILED,
                            "%s: mountd (MOUNT version 3 over TCP) is not registered there; is the "
                            "NFS server running, with NFSv3?",
                            host);
}

bool mount3_ask(const char *host, unsigned mountport, const char *path, const struct rpc_auth *auth,
                uint64_t deadline_ns, struct mount3_mnt *r, struct err *err)
{
    struct stream s;
    uint8_t call[MESSAGE_MAX], reply[MESSAGE_MAX];
    struct xdr_in in;
    if (!mountport && !ask_port(host, deadline_ns, &mountport, err))
        return false;
    if (!stream_open(&s, host, mountport, deadline_ns, err))
        return false;
    uint32_t xid = new_xid();
    struct xdr_out out = xdr_out(call, sizeof(call));
    xdr_put_u32(&out, 0);
    rpc_put_call(&out, xid, MOUNT_PROGRAM, MOUNT_VERSION, MOUNT_MNT, auth);
    xdr_put_string(&out, path);
    bool ok = exchange(&s, &out, xid, reply, &in, err) && mount3_get_mnt(&in, r, err);
    close(s.fd);
    return ok;
}
