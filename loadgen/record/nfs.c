/* The NFS sampler: what the client counted on the mounts under load, from mountstats. */
#define _GNU_SOURCE
#include "jsontext.h"
#include "mountstats.h"
#include "notes.h"
#include "sampler.h"

#include "../../placement/kept.h"
#include "../../placement/sysroot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOUNTSTATS "/proc/self/mountstats"
#define RAW_MAX_BYTES (16u << 20)
#define RETRANSMITTED_MAX                                                                          \
    0.001 /* of the READs; above it the window measures the network's trouble */

/* A mount under load. */
struct mounted {
    char *path;                /* of a file on it */
    struct mount_stats *stats; /* [edge] */
    int *error;                /* [edge] */
};

struct nfs_sampler {
    struct sampler base;
    char reason[512];
    unsigned edges_max;
    size_t raw_bytes;
    struct kept_file file;
    char *raw;
    ssize_t raw_len;
    struct mounted *mounts;
    unsigned mounts_n;
};

static void free_mount(struct mounted *m)
{
    free(m->path);
    free(m->stats);
    free(m->error);
}

static void nfs_close(struct sampler *base)
{
    struct nfs_sampler *s = (struct nfs_sampler *)base;
    if (!s)
        return;
    kept_close(&s->file);
    for (unsigned i = 0; i < s->mounts_n; i++)
        free_mount(&s->mounts[i]);
    free(s->mounts);
    free(s->raw);
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

static bool add_mount(struct nfs_sampler *s, const char *path)
{
    struct mounted *grown = realloc(s->mounts, (s->mounts_n + 1) * sizeof(*grown));
    if (!grown)
        return false;
    s->mounts = grown;
    char *real = sysroot_live() ? realpath(path, NULL) : NULL;
    struct mounted *m = &s->mounts[s->mounts_n++];
    *m = (struct mounted){.path = real ? real : strdup(path),
                          .stats = calloc(s->edges_max, sizeof(*m->stats)),
                          .error = calloc(s->edges_max, sizeof(*m->error))};
    return m->path && m->stats && m->error;
}

/* Keeps those on NFS. A run without any is not worth a warning: it was asked for. */
static void find_mounts(struct nfs_sampler *s)
{
    struct mount_stats m;
    if (!s->mounts_n) {
        snprintf(s->reason, sizeof(s->reason), "no file is read");
        return;
    }
    ssize_t n = size_buffer(s);
    if (n < 0) {
        snprintf(s->reason, sizeof(s->reason), MOUNTSTATS ": %s", strerror((int)-n));
        return;
    }
    unsigned kept = 0;
    for (unsigned i = 0; i < s->mounts_n; i++) {
        bool found = mountstats_find(s->raw, (size_t)n, s->mounts[i].path, &m);
        if (found && m.nfs) {
            s->mounts[kept++] = s->mounts[i];
            continue;
        }
        if (!found && !s->reason[0])
            snprintf(s->reason, sizeof(s->reason), "no mount in " MOUNTSTATS " holds %.300s",
                     s->mounts[i].path);
        else if (!s->reason[0])
            snprintf(s->reason, sizeof(s->reason), "the file is on %s, not on NFS", m.fstype);
        free_mount(&s->mounts[i]);
    }
    s->mounts_n = kept;
    if (kept)
        s->reason[0] = '\0';
}

static struct sampler *nfs_open(const struct sample_ctx *ctx, struct err *err)
{
    struct nfs_sampler *s = calloc(1, sizeof(*s));
    bool ok = s != NULL;
    if (ok)
        s->edges_max = ctx->edges_max;
    if (ok && ctx->path)
        ok = add_mount(s, ctx->path);
    for (const char *const *path = ctx->more_paths; ok && path && *path; path++)
        ok = add_mount(s, *path);
    if (ok) {
        find_mounts(s);
        return &s->base;
    }
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
    for (unsigned i = 0; i < s->mounts_n; i++) {
        struct mounted *m = &s->mounts[i];
        m->error[edge] = s->raw_len < 0 ? (int)s->raw_len : 0;
        if (s->raw_len >= 0 &&
            !mountstats_find(s->raw, (size_t)s->raw_len, m->path, &m->stats[edge]))
            m->error[edge] = -ENOENT;
    }
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

static json_t *counts(const struct mount_stats *a, const struct mount_stats *b)
{
    return json_pack("{s:b, s:o, s:o, s:I, s:I}", "available", 1, "read",
                     op_object(&a->read, &b->read), "write", op_object(&a->write, &b->write),
                     "direct_read_bytes", (json_int_t)(b->direct_read_bytes - a->direct_read_bytes),
                     "server_read_bytes",
                     (json_int_t)(b->server_read_bytes - a->server_read_bytes));
}

static json_t *mount_window(const struct mounted *m, unsigned from, unsigned to, json_t *notes)
{
    const struct mount_stats *a = &m->stats[from], *b = &m->stats[to];
    int error = m->error[from] ? m->error[from] : m->error[to];
    if (error) {
        note_add(notes, NOTE_WARNING, "nfs", "no NFS counts: " MOUNTSTATS ": %s", strerror(-error));
        return json_unavailable(MOUNTSTATS ": %s", strerror(-error));
    }
    if (remounted(a, b)) {
        note_add(notes, NOTE_INVALID, "nfs", "%s was mounted anew during the window",
                 a->mountpoint);
        return json_unavailable("the mount changed during the window");
    }
    json_t *o = counts(a, b);
    json_object_set_new(o, "mountpoint", json_text(b->mountpoint));
    json_object_set_new(o, "source", json_text(b->device));
    json_object_set_new(o, "options", json_text(b->options));
    put_option(o, "vers", b, "vers", false);
    put_option(o, "protocol", b, "proto", false);
    put_option(o, "rsize_bytes", b, "rsize", true);
    put_option(o, "nconnect", b, "nconnect", true);
    judge_retransmissions(o, &a->read, &b->read, notes);
    json_object_set_new(o, "connections", xprt_array(a, b, notes));
    return o;
}

static void add_op(struct mount_op *sum, const struct mount_op *op)
{
    sum->operations += op->operations;
    sum->transmissions += op->transmissions;
    sum->timeouts += op->timeouts;
    sum->bytes_sent += op->bytes_sent;
    sum->bytes_received += op->bytes_received;
    sum->queue_ms += op->queue_ms;
    sum->rtt_ms += op->rtt_ms;
    sum->execute_ms += op->execute_ms;
    sum->errors += op->errors;
}

static void add_stats(struct mount_stats *sum, const struct mount_stats *m)
{
    add_op(&sum->read, &m->read);
    add_op(&sum->write, &m->write);
    sum->direct_read_bytes += m->direct_read_bytes;
    sum->server_read_bytes += m->server_read_bytes;
}

/* What is the same on all mounts; else null. */
static void put_common(json_t *o, const json_t *mounts)
{
    static const char *const keys[] = {"mountpoint", "source",      "options", "vers",
                                       "protocol",   "rsize_bytes", "nconnect"};
    size_t i;
    json_t *m;
    for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++) {
        json_t *first = json_object_get(json_array_get(mounts, 0), keys[k]);
        bool same = true;
        json_array_foreach(mounts, i, m) same &= json_equal(first, json_object_get(m, keys[k]));
        json_object_set_new(o, keys[k], same ? json_incref(first) : json_null());
    }
}

/* Sums where they mean something, and each mount in "mounts". */
static json_t *sum_window(const struct nfs_sampler *s, unsigned from, unsigned to, json_t *notes)
{
    struct mount_stats a = {0}, b = {0};
    json_t *mounts = json_array(), *connections = json_array(), *o, *ignored = json_array();
    for (unsigned i = 0; i < s->mounts_n; i++) {
        const struct mounted *m = &s->mounts[i];
        o = mount_window(m, from, to, notes);
        json_array_append_new(mounts, o);
        if (!json_is_true(json_object_get(o, "available"))) {
            json_incref(o);
            goto out;
        }
        json_array_extend(connections, json_object_get(o, "connections"));
        add_stats(&a, &m->stats[from]);
        add_stats(&b, &m->stats[to]);
    }
    o = counts(&a, &b);
    put_common(o, mounts);
    judge_retransmissions(o, &a.read, &b.read, ignored); /* each mount was judged */
    json_object_set(o, "connections", connections);
    json_object_set(o, "mounts", mounts);
out:
    json_decref(mounts);
    json_decref(connections);
    json_decref(ignored);
    return o;
}

static json_t *nfs_window(const struct sampler *base, unsigned from, unsigned to, json_t *notes)
{
    const struct nfs_sampler *s = (const struct nfs_sampler *)base;
    if (s->reason[0])
        return json_unavailable("%s", s->reason);
    if (s->mounts_n == 1)
        return mount_window(&s->mounts[0], from, to, notes);
    return sum_window(s, from, to, notes);
}

const struct sampler_ops nfs_sampler = {
    .name = "nfs",
    .open = nfs_open,
    .read = nfs_read,
    .settle = nfs_settle,
    .window = nfs_window,
    .close = nfs_close,
};
