/* The memory sampler: where pages were taken from, and what is free, by node (numastat, meminfo).
 */
#include "jsontext.h"
#include "notes.h"
#include "proctext.h"
#include "sampler.h"

#include "../../placement/kept.h"
#include "../../placement/sysroot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Allocations counted since boot: the record has their steps. */
static const char *const events[] = {"numa_hit",       "numa_miss",  "numa_foreign",
                                     "interleave_hit", "local_node", "other_node"};
/* Levels: the record has the last value and how it changed. */
static const struct {
    const char *meminfo, *key, *change_key;
} levels[] = {
    {"MemFree", "free_bytes", "free_change_bytes"},
    {"FilePages", "file_bytes", "file_change_bytes"},
    {"AnonPages", "anon_bytes", "anon_change_bytes"},
    {"SReclaimable", "slab_reclaimable_bytes", "slab_reclaimable_change_bytes"},
    {"SUnreclaim", "slab_unreclaimable_bytes", "slab_unreclaimable_change_bytes"},
};

#define N(a) (sizeof(a) / sizeof(*(a)))
#define VALUES (N(events) + N(levels))
#define UNKNOWN UINT64_MAX
#define RAW_BYTES 8192

struct memory_sampler {
    struct sampler base;
    char reason[256];
    unsigned edges_max, nodes_n;
    int *node;                 /* ids */
    char (*raw)[2][RAW_BYTES]; /* [node]: numastat and meminfo */
    ssize_t (*raw_len)[2];
    struct kept_file (*file)[2];
    uint64_t *values; /* [edge][node][VALUES] */
};

static void memory_close(struct sampler *base)
{
    struct memory_sampler *s = (struct memory_sampler *)base;
    if (!s)
        return;
    for (unsigned i = 0; s->file && i < s->nodes_n; i++)
        for (int k = 0; k < 2; k++)
            kept_close(&s->file[i][k]);
    free(s->file);
    free(s->node);
    free(s->raw);
    free(s->raw_len);
    free(s->values);
    free(s);
}

static ssize_t read_node(const struct memory_sampler *s, unsigned i, int file)
{
    char path[96];
    snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/%s", s->node[i],
             file == 0 ? "numastat" : "meminfo");
    return kept_read_piece(&s->file[i][file], path, s->raw[i][file], RAW_BYTES);
}

static struct sampler *memory_open(const struct sample_ctx *ctx, struct err *err)
{
    struct memory_sampler *s = calloc(1, sizeof(*s));
    if (!s)
        goto no_memory;
    s->edges_max = ctx->edges_max;
    s->nodes_n = ctx->topo->nodes_n;
    s->node = calloc(s->nodes_n + 1u, sizeof(*s->node));
    s->raw = calloc(s->nodes_n + 1u, sizeof(*s->raw));
    s->raw_len = calloc(s->nodes_n + 1u, sizeof(*s->raw_len));
    s->file = calloc(s->nodes_n + 1u, sizeof(*s->file));
    s->values = calloc((size_t)s->edges_max * (s->nodes_n + 1u), VALUES * sizeof(*s->values));
    if (!s->node || !s->raw || !s->raw_len || !s->file || !s->values)
        goto no_memory;
    for (unsigned i = 0; i < s->nodes_n; i++)
        s->node[i] = ctx->topo->nodes[i].id;
    if (!ctx->topo->numa)
        snprintf(s->reason, sizeof(s->reason), "the kernel has no NUMA nodes");
    else if (s->nodes_n && read_node(s, 0, 1) < 0)
        snprintf(s->reason, sizeof(s->reason), "the nodes have no meminfo");
    return &s->base;
no_memory:
    memory_close(s ? &s->base : NULL);
    err_set(err, STATUS_FAILED, "memory sampler: out of memory");
    return NULL;
}

static void memory_read(struct sampler *base, unsigned edge)
{
    struct memory_sampler *s = (struct memory_sampler *)base;
    if (s->reason[0] || edge >= s->edges_max)
        return;
    for (unsigned i = 0; i < s->nodes_n; i++)
        for (int file = 0; file < 2; file++)
            s->raw_len[i][file] = read_node(s, i, file);
}

static void memory_settle(struct sampler *base, unsigned edge)
{
    struct memory_sampler *s = (struct memory_sampler *)base;
    if (s->reason[0] || edge >= s->edges_max)
        return;
    for (unsigned i = 0; i < s->nodes_n; i++) {
        uint64_t *v = s->values + ((size_t)edge * s->nodes_n + i) * VALUES;
        for (size_t k = 0; k < VALUES; k++) {
            int file = k >= N(events);
            const char *name = file ? levels[k - N(events)].meminfo : events[k];
            ssize_t n = s->raw_len[i][file];
            if (n < 0 || !text_value(s->raw[i][file], (size_t)n, name, &v[k]))
                v[k] = UNKNOWN;
            else if (file)
                v[k] *= 1024; /* all of these are in kB */
        }
    }
}

static json_t *node_object(const uint64_t *a, const uint64_t *b)
{
    json_t *o = json_object();
    for (size_t k = 0; k < N(events); k++) {
        if (a[k] == UNKNOWN || b[k] == UNKNOWN)
            json_set_missing(o, events[k], "not in numastat");
        else if (b[k] < a[k])
            json_set_missing(o, events[k], "counted backwards");
        else
            json_object_set_new(o, events[k], json_integer((json_int_t)(b[k] - a[k])));
    }
    for (size_t i = 0, k = N(events); i < N(levels); i++, k++) {
        bool known = a[k] != UNKNOWN && b[k] != UNKNOWN;
        json_object_set_new(o, levels[i].key, known ? json_integer((json_int_t)b[k]) : json_null());
        json_object_set_new(o, levels[i].change_key,
                            known ? json_integer((json_int_t)(b[k] - a[k])) : json_null());
        if (!known)
            json_object_set_new(o, "reason", json_string("not in meminfo of this kernel"));
    }
    return o;
}

static json_t *memory_window(const struct sampler *base, unsigned from, unsigned to, json_t *notes)
{
    (void)notes;
    const struct memory_sampler *s = (const struct memory_sampler *)base;
    if (s->reason[0])
        return json_unavailable("%s", s->reason);
    json_t *by_node = json_object();
    for (unsigned i = 0; i < s->nodes_n; i++) {
        char key[16];
        snprintf(key, sizeof(key), "%d", s->node[i]);
        json_object_set_new(by_node, key,
                            node_object(s->values + ((size_t)from * s->nodes_n + i) * VALUES,
                                        s->values + ((size_t)to * s->nodes_n + i) * VALUES));
    }
    return json_pack("{s:b, s:o}", "available", 1, "by_node", by_node);
}

const struct sampler_ops memory_sampler = {
    .name = "memory",
    .open = memory_open,
    .read = memory_read,
    .settle = memory_settle,
    .window = memory_window,
    .close = memory_close,
};
