/* The network sampler: bytes, packets, errors and drops of every interface, from /proc/net/dev. */
#include "jsontext.h"
#include "netdev.h"
#include "notes.h"
#include "sampler.h"

#include "../../placement/kept.h"
#include "../../placement/sysroot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NETDEV "/proc/net/dev"
#define LINE_BYTES 512 /* a line has a name and 16 numbers of at most 20 digits */
#define SPARE_LINES 64 /* interfaces that may appear during the run */

struct net_edge {
    int error;
    size_t n;
    struct netdev *devices;
};

struct net_sampler {
    struct sampler base;
    char reason[256];
    unsigned edges_max;
    size_t raw_bytes;
    struct kept_file file;
    char *raw;
    ssize_t raw_len;
    struct net_edge *edges;
};

static void net_close(struct sampler *base)
{
    struct net_sampler *s = (struct net_sampler *)base;
    if (!s)
        return;
    for (unsigned i = 0; s->edges && i < s->edges_max; i++)
        free(s->edges[i].devices);
    free(s->edges);
    kept_close(&s->file);
    free(s->raw);
    free(s);
}

static struct sampler *net_open(const struct sample_ctx *ctx, struct err *err)
{
    struct net_sampler *s = calloc(1, sizeof(*s));
    char *text = NULL;
    if (!s)
        goto no_memory;
    ssize_t n = sysroot_read(NETDEV, &text);
    if (n < 0)
        snprintf(s->reason, sizeof(s->reason), NETDEV ": %s", strerror((int)-n));
    s->raw_bytes = (n < 0 ? 0 : 2 * (size_t)n) + SPARE_LINES * LINE_BYTES;
    free(text);
    s->edges_max = ctx->edges_max;
    s->raw = malloc(s->raw_bytes);
    s->edges = calloc(ctx->edges_max, sizeof(*s->edges));
    if (s->raw && s->edges)
        return &s->base;
no_memory:
    net_close(s ? &s->base : NULL);
    err_set(err, STATUS_FAILED, "net sampler: out of memory");
    return NULL;
}

static void net_read(struct sampler *base, unsigned edge)
{
    struct net_sampler *s = (struct net_sampler *)base;
    if (!s->reason[0] && edge < s->edges_max)
        s->raw_len = kept_read(&s->file, NETDEV, s->raw, s->raw_bytes);
}

static void net_settle(struct sampler *base, unsigned edge)
{
    struct net_sampler *s = (struct net_sampler *)base;
    if (s->reason[0] || edge >= s->edges_max)
        return;
    struct net_edge *e = &s->edges[edge];
    free(e->devices);
    *e = (struct net_edge){.error = s->raw_len < 0 ? (int)s->raw_len : 0};
    if (e->error)
        return;
    size_t max = 1;
    for (ssize_t i = 0; i < s->raw_len; i++)
        max += s->raw[i] == '\n';
    e->devices = calloc(max, sizeof(*e->devices));
    e->error = e->devices ? 0 : -ENOMEM;
    if (e->devices)
        e->n = netdev_parse(s->raw, (size_t)s->raw_len, e->devices, max);
}

static const struct netdev *find(const struct net_edge *e, const char *name)
{
    for (size_t i = 0; i < e->n; i++)
        if (strcmp(e->devices[i].name, name) == 0)
            return &e->devices[i];
    return NULL;
}

/* The counters that moved, or NULL when none did. */
static json_t *device_object(const struct netdev *a, const struct netdev *b, json_t *notes)
{
    static const struct netdev none;
    json_t *o = NULL;
    if (!a)
        a = &none;
    for (int f = 0; f < NETDEV_FIELDS; f++) {
        if (b->values[f] == a->values[f])
            continue;
        if (!o)
            o = json_object();
        if (b->values[f] > a->values[f]) {
            json_object_set_new(o, netdev_keys[f],
                                json_integer((json_int_t)(b->values[f] - a->values[f])));
            continue;
        }
        json_set_missing(o, netdev_keys[f], "counted backwards: the interface was reset");
        note_add(notes, NOTE_WARNING, "net", "counters of %s went backwards: it was reset",
                 b->name);
    }
    return o;
}

static json_t *net_window(const struct sampler *base, unsigned from, unsigned to, json_t *notes)
{
    const struct net_sampler *s = (const struct net_sampler *)base;
    if (s->reason[0])
        return json_unavailable("%s", s->reason);
    const struct net_edge *a = &s->edges[from], *b = &s->edges[to];
    int error = a->error ? a->error : b->error;
    if (error)
        return json_unavailable(NETDEV ": %s", strerror(-error));
    json_t *interfaces = json_object();
    for (size_t i = 0; i < b->n; i++) {
        json_t *o = device_object(find(a, b->devices[i].name), &b->devices[i], notes);
        json_t *name = json_text(b->devices[i].name);
        if (o)
            json_object_set_new(interfaces, json_string_value(name), o);
        json_decref(name);
    }
    return json_pack("{s:b, s:o}", "available", 1, "interfaces", interfaces);
}

const struct sampler_ops net_sampler = {
    .name = "net",
    .open = net_open,
    .read = net_read,
    .settle = net_settle,
    .window = net_window,
    .close = net_close,
};
