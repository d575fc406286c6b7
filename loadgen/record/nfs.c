/* The NFS sampler: what the client counted on the mount under load, from mountstats. */
#define _GNU_SOURCE
#include "jsontext.h"
#include "kept.h"
#include "mountstats.h"
#include "notes.h"
#include "sampler.h"

#include "../../placement/sysroot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOUNTSTATS "/proc/self/mountstats"
#define RAW_MAX_BYTES (16u << 20)
#define RETRANSMITTED_MAX                                                                          \
    0.001 /* of the READs; above it the window measures the network's trouble */

struct nfs_sampler {
    struct sampler base;
    char reason[512];
    char *path;
    unsigned edges_max;
    size_t raw_bytes;
    struct kept_file file;
    char *raw;
    ssize_t raw_len;
    struct mount_stats *stats; /* [edge] */
    int *error;                /* [edge] */
};

static void nfs_close(struct sampler *base)
{
    struct nfs_sampler *s = (struct nfs_sampler *)base;
    if (!s)
        return;
    free(s->path);
    kept_close(&s->file);
    free(s->raw);
    free(s->stats);
    free(s->error);
    free(s);
}

/* Length of the file, with room in the buffer for mounts to come, or -errno. */
static ssize_t size_buffer(struct nfs_sampler *s)
{
    for (size_t cap = 64u << 10; cap <= RAW_MAX_BYTES; cap *= 2) {
        char *bigger = realloc(s->raw, cap);
        if (!bigger)
            return -ENOMEM;
        s->raw = bigger;
        s->raw_bytes = cap;
        ssize_t n = kept_read(&s->file, MOUNTSTATS, s->raw, cap);
        if (n != -EOVERFLOW && (n < 0 || (size_t)n < cap / 2))
            return n;
    }
    return -EFBIG;
}

/* A run without NFS is not worth a warning: it was asked for. */
static void find_mount(struct nfs_sampler *s)
{
    struct mount_stats m;
    if (!s->path) {
        snprintf(s->reason, sizeof(s->reason), "no file is read");
        return;
    }
    ssize_t n = size_buffer(s);
    if (n < 0)
        snprintf(s->reason, sizeof(s->reason), MOUNTSTATS ": %s", strerror((int)-n));
    else if (!mountstats_find(s->raw, (size_t)n, s->path, &m))
        snprintf(s->reason, sizeof(s->reason), "no mount in " MOUNTSTATS " holds %.300s", s->path);
    else if (!m.nfs)
        snprintf(s->reason, sizeof(s->reason), "the file is on %s, not on NFS", m.fstype);
}

static struct sampler *nfs_open(const struct sample_ctx *ctx, struct err *err)
{
    struct nfs_sampler *s = calloc(1, sizeof(*s));
    if (!s)
        goto no_memory;
    s->edges_max = ctx->edges_max;
    s->stats = calloc(ctx->edges_max, sizeof(*s->stats));
    s->error = calloc(ctx->edges_max, sizeof(*s->error));
    if (ctx->path) {
        s->path = sysroot_live() ? realpath(ctx->path, NULL) : NULL;
        if (!s->path && !(s->path = strdup(ctx->path)))
            goto no_memory;
    }
    if (!s->stats || !s->error)
        goto no_memory;
    find_mount(s);
    return &s->base;
no_memory:
    nfs_close(s ? &s->base : NULL);
    err_set(err, STATUS_FAILED, "nfs sampler: out of memory");
    return NULL;
}

static void nfs_read(struct sampler *base, unsigned edge)
{
    struct nfs_sampler *s = (struct nfs_sampler *)base;
    if (!s->reason[0] && edge < s->edges_max)
        s->raw_len = kept_read(&s->file, MOUNTSTATS, s->raw, s->raw_bytes);
}

static void nfs_settle(struct sampler *base, unsigned edge)
{
    struct nfs_sampler *s = (struct nfs_sampler *)base;
    if (s->reason[0] || edge >= s->edges_max)
        return;
    s->error[edge] = s->raw_len < 0 ? (int)s->raw_len : 0;
    if (s->raw_len >= 0 && !mountstats_find(s->raw, (size_t)s->raw_len, s->path, &s->stats[edge]))
        s->error[edge] = -ENOENT;
}

static void put_option(json_t *o, const char *key, const struct mount_stats *m, const char *option,
                       bool number)
{
    char value[64], *end;
    if (!mount_option(m->options, option, value, sizeof(value))) {
        json_object_set_new(o, key, json_null());
        return;
    }
    long long n = strtoll(value, &end, 10);
    bool is_number = number && *value && !*end;
    json_object_set_new(o, key, is_number ? json_integer(n) : json_text(value));
}

static json_t *op_object(const struct mount_op *a, const struct mount_op *b)
{
    uint64_t n = b->operations - a->operations;
    json_t *o = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "operations", (json_int_t)n,
        "transmissions", (json_int_t)(b->transmissions - a->transmissions), "timeouts",
        (json_int_t)(b->timeouts - a->timeouts), "bytes_sent",
        (json_int_t)(b->bytes_sent - a->bytes_sent), "bytes_received",
        (json_int_t)(b->bytes_received - a->bytes_received), "queue_ms",
        (json_int_t)(b->queue_ms - a->queue_ms), "rtt_ms", (json_int_t)(b->rtt_ms - a->rtt_ms),
        "execute_ms", (json_int_t)(b->execute_ms - a->execute_ms), "errors",
        (json_int_t)(b->errors - a->errors));
    static const char *const means[][2] = {{"mean_queue_ms", "queue_ms"},
                                           {"mean_rtt_ms", "rtt_ms"},
                                           {"mean_execute_ms", "execute_ms"}};
    for (size_t i = 0; i < 3; i++) {
        double sum = json_number_value(json_object_get(o, means[i][1]));
        json_object_set_new(o, means[i][0], n ? json_real(sum / (double)n) : json_null());
    }
    return o;
}

static bool went_back(const struct mount_op *a, const struct mount_op *b)
{
    return b->operations < a->operations || b->transmissions < a->transmissions ||
           b->bytes_received < a->bytes_received || b->bytes_sent < a->bytes_sent ||
           b->queue_ms < a->queue_ms || b->rtt_ms < a->rtt_ms || b->execute_ms < a->execute_ms ||
           b->timeouts < a->timeouts || b->errors < a->errors;
}

/* The mount of the first edge is gone, or another one is in its place. */
static bool remounted(const struct mount_stats *a, const struct mount_stats *b)
{
    return !b->nfs || strcmp(a->mountpoint, b->mountpoint) != 0 ||
           strcmp(a->device, b->device) != 0 || b->age_s < a->age_s || b->xprts_n != a->xprts_n ||
           went_back(&a->read, &b->read) || went_back(&a->write, &b->write);
}

static json_t *xprt_array(const struct mount_stats *a, const struct mount_stats *b, json_t *notes)
{
    json_t *list = json_array();
    uint64_t connects = 0;
    for (unsigned i = 0; i < b->xprts_n && i < MOUNT_XPRTS_MAX; i++) {
        const struct mount_xprt *x = &a->xprts[i], *y = &b->xprts[i];
        json_t *o = json_pack("{s:o}", "protocol", json_text(y->protocol));
        if (y->counted && y->connects >= x->connects && y->sends >= x->sends) {
            connects += y->connects - x->connects;
            json_object_set_new(o, "connects",
                                json_integer((json_int_t)(y->connects - x->connects)));
            json_object_set_new(o, "sends", json_integer((json_int_t)(y->sends - x->sends)));
            json_object_set_new(o, "receives",
                                json_integer((json_int_t)(y->receives - x->receives)));
            json_object_set_new(o, "bad_xids",
                                json_integer((json_int_t)(y->bad_xids - x->bad_xids)));
        } else {
            json_set_missing(o, "sends", "the fields of this transport are not known");
        }
        json_array_append_new(list, o);
    }
    if (connects)
        note_add(notes, NOTE_INVALID, "nfs",
                 "the mount reconnected %llu times: completions may have moved to other vectors",
                 (unsigned long long)connects);
    return list;
}

static void judge_retransmissions(json_t *o, const struct mount_op *a, const struct mount_op *b,
                                  json_t *notes)
{
    uint64_t reads = b->operations - a->operations;
    uint64_t sent = b->transmissions - a->transmissions;
    if (reads == 0) {
        json_set_missing(o, "retransmitted_share", "no READ ended in the window");
        return;
    }
    double share = sent > reads ? (double)(sent - reads) / (double)reads : 0;
    json_object_set_new(o, "retransmitted_share", json_real(share));
    if (share > RETRANSMITTED_MAX)
        note_add(notes, NOTE_INVALID, "nfs",
                 "%.2f %% of the READs were sent again (%llu transmissions for %llu READs)",
                 100 * share, (unsigned long long)sent, (unsigned long long)reads);
}

static json_t *nfs_window(const struct sampler *base, unsigned from, unsigned to, json_t *notes)
{
    const struct nfs_sampler *s = (const struct nfs_sampler *)base;
    if (s->reason[0])
        return json_unavailable("%s", s->reason);
    int error = s->error[from] ? s->error[from] : s->error[to];
    if (error) {
        note_add(notes, NOTE_WARNING, "nfs", "no NFS counts: " MOUNTSTATS ": %s", strerror(-error));
        return json_unavailable(MOUNTSTATS ": %s", strerror(-error));
    }
    const struct mount_stats *a = &s->stats[from], *b = &s->stats[to];
    if (remounted(a, b)) {
        note_add(notes, NOTE_INVALID, "nfs", "%s was mounted anew during the window",
                 a->mountpoint);
        return json_unavailable("the mount changed during the window");
    }
    json_t *o =
        json_pack("{s:b, s:o, s:o, s:o}", "available", 1, "mountpoint", json_text(b->mountpoint),
                  "source", json_text(b->device), "options", json_text(b->options));
    put_option(o, "vers", b, "vers", false);
    put_option(o, "protocol", b, "proto", false);
    put_option(o, "rsize_bytes", b, "rsize", true);
    put_option(o, "nconnect", b, "nconnect", true);
    json_object_set_new(o, "read", op_object(&a->read, &b->read));
    json_object_set_new(o, "write", op_object(&a->write, &b->write));
    json_object_set_new(o, "direct_read_bytes",
                        json_integer((json_int_t)(b->direct_read_bytes - a->direct_read_bytes)));
    json_object_set_new(o, "server_read_bytes",
                        json_integer((json_int_t)(b->server_read_bytes - a->server_read_bytes)));
    judge_retransmissions(o, &a->read, &b->read, notes);
    json_object_set_new(o, "connections", xprt_array(a, b, notes));
    return o;
}

const struct sampler_ops nfs_sampler = {
    .name = "nfs",
    .open = nfs_open,
    .read = nfs_read,
    .settle = nfs_settle,
    .window = nfs_window,
    .close = nfs_close,
};
