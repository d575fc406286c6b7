/* The RDMA sampler: counters of every port,
 * /sys/class/infiniband/DEV/ports/N/{counters,hw_counters}. Names and units are the kernel's:
 * port_xmit_data and port_rcv_data count 4 bytes. */
#define _GNU_SOURCE
#include "jsontext.h"
#include "notes.h"
#include "sampler.h"

#include "../../placement/kept.h"
#include "../../placement/sysroot.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASS "/sys/class/infiniband"

struct port_counter {
    char *port; /* "mlx5_0/1" */
    char *name;
    char *path;
    struct kept_file file;
};

struct rdma_sampler {
    struct sampler base;
    char reason[256];
    unsigned edges_max;
    size_t n, cap;
    struct port_counter *counters;
    int64_t *values; /* [edge][counter]; -1: could not be read */
};

static void rdma_close(struct sampler *base)
{
    struct rdma_sampler *s = (struct rdma_sampler *)base;
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++) {
        kept_close(&s->counters[i].file);
        free(s->counters[i].port);
        free(s->counters[i].name);
        free(s->counters[i].path);
    }
    free(s->counters);
    free(s->values);
    free(s);
}

static bool add_counter(struct rdma_sampler *s, const char *port, const char *name,
                        const char *path)
{
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 64;
        struct port_counter *bigger = realloc(s->counters, cap * sizeof(*bigger));
        if (!bigger)
            return false;
        s->counters = bigger;
        s->cap = cap;
    }
    struct port_counter c = {.port = strdup(port), .name = strdup(name), .path = strdup(path)};
    s->counters[s->n++] = c;
    return c.port && c.name && c.path;
}

/* Files of a folder that hold a number now; others ("N/A", write-only) are no counters. */
static bool add_folder(struct rdma_sampler *s, const char *port, const char *folder)
{
    char **names;
    bool ok = true;
    if (sysroot_list(folder, &names) < 0)
        return true; /* soft-RoCE has no "counters" */
    for (char **name = names; *name && ok; name++) {
        char path[PATH_MAX];
        int64_t value;
        snprintf(path, sizeof(path), "%s/%s", folder, *name);
        /* "lifespan" is a setting: for how long the device's numbers are kept */
        if (strcmp(*name, "lifespan") != 0 && sysroot_read_i64(path, &value) == 0 && value >= 0)
            ok = add_counter(s, port, *name, path);
    }
    sysroot_list_free(names);
    return ok;
}

static bool add_device(struct rdma_sampler *s, const char *device)
{
    char folder[PATH_MAX], port[256];
    char **ports;
    bool ok = true;
    snprintf(folder, sizeof(folder), CLASS "/%s/ports", device);
    if (sysroot_list(folder, &ports) < 0)
        return true;
    for (char **p = ports; *p && ok; p++) {
        snprintf(port, sizeof(port), "%.200s/%.32s", device, *p);
        snprintf(folder, sizeof(folder), CLASS "/%s/ports/%s/counters", device, *p);
        ok = add_folder(s, port, folder);
        snprintf(folder, sizeof(folder), CLASS "/%s/ports/%s/hw_counters", device, *p);
        ok = ok && add_folder(s, port, folder);
    }
    sysroot_list_free(ports);
    return ok;
}

static struct sampler *rdma_open(const struct sample_ctx *ctx, struct err *err)
{
    struct rdma_sampler *s = calloc(1, sizeof(*s));
    char **devices;
    bool ok = s;
    if (!s)
        goto no_memory;
    s->edges_max = ctx->edges_max;
    ssize_t n = sysroot_list(CLASS, &devices);
    for (ssize_t i = 0; i < n && ok; i++)
        ok = add_device(s, devices[i]);
    if (n >= 0)
        sysroot_list_free(devices);
    if (!ok)
        goto no_memory;
    if (n <= 0)
        snprintf(s->reason, sizeof(s->reason), "there is no RDMA device");
    else if (s->n == 0)
        snprintf(s->reason, sizeof(s->reason), "the RDMA devices have no counters");
    s->values = calloc((size_t)s->edges_max * (s->n + 1), sizeof(*s->values));
    if (s->values)
        return &s->base;
no_memory:
    rdma_close(s ? &s->base : NULL);
    err_set(err, STATUS_FAILED, "rdma sampler: out of memory");
    return NULL;
}

static void rdma_read(struct sampler *base, unsigned edge)
{
    struct rdma_sampler *s = (struct rdma_sampler *)base;
    if (s->reason[0] || edge >= s->edges_max)
        return;
    int64_t *values = s->values + (size_t)edge * s->n;
    for (size_t i = 0; i < s->n; i++)
        if (kept_read_i64(&s->counters[i].file, s->counters[i].path, &values[i]) < 0)
            values[i] = -1;
}

static json_t *rdma_window(const struct sampler *base, unsigned from, unsigned to, json_t *notes)
{
    const struct rdma_sampler *s = (const struct rdma_sampler *)base;
    if (s->reason[0])
        return json_unavailable("%s", s->reason);
    json_t *ports = json_object();
    for (size_t i = 0; i < s->n; i++) {
        const struct port_counter *c = &s->counters[i];
        int64_t a = s->values[(size_t)from * s->n + i], b = s->values[(size_t)to * s->n + i];
        json_t *port = json_object_get(ports, c->port);
        if (!port) {
            port = json_object();
            json_object_set_new(ports, c->port, port);
        }
        if (a == b && a >= 0)
            continue;
        if (a < 0 || b < 0) {
            json_set_missing(port, c->name, "could not be read");
        } else if (b < a) {
            json_set_missing(port, c->name, "counted backwards: it was reset");
            note_add(notes, NOTE_WARNING, "rdma", "%s of %s went backwards: it was reset", c->name,
                     c->port);
        } else {
            json_object_set_new(port, c->name, json_integer(b - a));
        }
    }
    return json_pack("{s:b, s:o}", "available", 1, "ports", ports);
}

const struct sampler_ops rdma_sampler = {
    .name = "rdma",
    .open = rdma_open,
    .read = rdma_read,
    .window = rdma_window,
    .close = rdma_close,
};
