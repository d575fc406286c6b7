/* The slab sampler: every statistic that the kernel keeps of one cache, in all and by node. */
#define _GNU_SOURCE
#include "slab.h"

#include "bynode.h"
#include "jsontext.h"
#include "notes.h"
#include "sampler.h"

#include "../../placement/kept.h"
#include "../../placement/sysroot.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SLAB_DIR "/sys/kernel/slab"

struct slab_sampler {
    struct sampler base;
    struct bynode nodes;
    char *reason; /* why there are no counters; NULL: there are */
    char *cache;
    json_t *shared_with;
    bool merged;
    int64_t capacity; /* of a sheaf; -1: this kernel has none */
    unsigned edges_max, counters_n;
    char **names, **paths;
    struct kept_file *files; /* [counter] */
    size_t raw_bytes;        /* room for one file */
    char *raw;               /* [counter]: what the last read() fetched */
    ssize_t *raw_len;        /* [counter]: bytes or -errno */
    /* [edge][counter] and [edge][counter][cpu]; untouched pages of it cost nothing */
    struct slab_line *lines;
    uint32_t *values;
    int *error;     /* [edge]: -errno of the first file that failed */
    uint64_t *t_ns; /* [edge]: when it was read, for what a wrap may look like */
};

static struct slab_line *line_at(const struct slab_sampler *s, unsigned edge, unsigned counter)
{
    return &s->lines[(size_t)edge * s->counters_n + counter];
}

static uint32_t *values_at(const struct slab_sampler *s, unsigned edge, unsigned counter)
{
    return &s->values[((size_t)edge * s->counters_n + counter) * s->nodes.cpus_n];
}

static void slab_close(struct sampler *base)
{
    struct slab_sampler *s = (struct slab_sampler *)base;
    if (!s)
        return;
    for (unsigned i = 0; i < s->counters_n; i++) {
        free(s->names[i]);
        free(s->paths[i]);
        if (s->files)
            kept_close(&s->files[i]);
    }
    free(s->files);
    free(s->names);
    free(s->paths);
    free(s->raw);
    free(s->raw_len);
    free(s->lines);
    free(s->values);
    free(s->error);
    free(s->t_ns);
    free(s->reason);
    free(s->cache);
    json_decref(s->shared_with);
    bynode_free(&s->nodes);
    free(s);
}

/* Finds which other names lead to the folder of this cache: SLUB keeps one cache for all that fit
 * together, and its counters are the sum over them. */
static bool find_sharers(struct slab_sampler *s)
{
    char dir[PATH_MAX], target[NAME_MAX + 1], path[PATH_MAX];
    snprintf(path, sizeof(path), SLAB_DIR "/%s", s->cache);
    bool is_link = sysroot_readlink(path, dir, sizeof(dir)) > 0;
    if (!is_link)
        snprintf(dir, sizeof(dir), "%s", s->cache);
    char **names;
    if (sysroot_list(SLAB_DIR, &names) < 0)
        return false;
    unsigned links = 0;
    for (char **name = names; *name; name++) {
        snprintf(path, sizeof(path), SLAB_DIR "/%s", *name);
        if (sysroot_readlink(path, target, sizeof(target)) < 0 || strcmp(target, dir) != 0)
            continue;
        links++;
        if (strcmp(*name, s->cache) != 0)
            json_array_append_new(s->shared_with, json_text(*name));
    }
    sysroot_list_free(names);
    int64_t aliases = 0;
    snprintf(path, sizeof(path), SLAB_DIR "/%s/aliases", s->cache);
    if (sysroot_read_i64(path, &aliases) < 0)
        aliases = 0;
    /* A link alone is not a merge: every cache that could be merged has one. */
    s->merged = aliases > 0 || links > 1;
    return true;
}

static void say_sharers(const struct slab_sampler *s, char *buf, size_t cap)
{
    size_t n = json_array_size(s->shared_with), used = 0;
    if (n == 0)
        snprintf(buf, cap, "caches that have no name in sysfs");
    for (size_t i = 0; i < n && used < cap; i++) {
        const char *name = json_string_value(json_array_get(s->shared_with, i));
        if (i == 8) {
            snprintf(buf + used, cap - used, " and %zu more", n - i);
            break;
        }
        used += (size_t)snprintf(buf + used, cap - used, "%s%s", i ? ", " : "", name);
    }
}

/* A statistic is known by its content; "0" alone says nothing, so names that are known to be
 * something else are left out. A count without any CPU is a statistic only where there is one CPU.
 */
static bool is_statistic(const struct slab_sampler *s, const char *name, const char *path,
                         int *error)
{
    if (slab_is_attribute(name))
        return false;
    char *text;
    ssize_t len = sysroot_read(path, &text);
    if (len < 0) {
        if (len == -EACCES || len == -EPERM)
            *error = (int)len;
        return false;
    }
    struct slab_line line;
    bool ok = slab_parse(text, (size_t)len, NULL, 0, &line);
    free(text);
    return ok && (line.any_cpu || line.total == 0 || s->nodes.cpus_n == 1);
}

/* 0, or -errno of a file that could not be read. -ENOMEM ends the search. */
static int discover(struct slab_sampler *s)
{
    char dir[PATH_MAX];
    snprintf(dir, sizeof(dir), SLAB_DIR "/%s", s->cache);
    char **files;
    ssize_t n = sysroot_list(dir, &files);
    if (n < 0)
        return (int)n;
    int error = 0;
    s->names = calloc((size_t)n + 1, sizeof(*s->names));
    s->paths = calloc((size_t)n + 1, sizeof(*s->paths));
    for (char **f = files; *f && s->names && s->paths; f++) {
        char *path;
        if (asprintf(&path, "%s/%s", dir, *f) < 0)
            break;
        char *name = is_statistic(s, *f, path, &error) ? strdup(*f) : NULL;
        if (!name) {
            free(path);
            continue;
        }
        s->names[s->counters_n] = name;
        s->paths[s->counters_n++] = path;
    }
    sysroot_list_free(files);
    return s->names && s->paths ? error : -ENOMEM;
}

static bool allocate(struct slab_sampler *s)
{
    long page = sysconf(_SC_PAGESIZE);
    s->raw_bytes = (page > 65536 ? (size_t)page : 65536) + 1;
    size_t lines = (size_t)s->edges_max * s->counters_n;
    s->files = calloc(s->counters_n, sizeof(*s->files));
    s->raw = calloc(s->counters_n, s->raw_bytes);
    s->raw_len = calloc(s->counters_n, sizeof(*s->raw_len));
    s->lines = calloc(lines, sizeof(*s->lines));
    s->values = calloc(lines, (s->nodes.cpus_n + 1u) * sizeof(*s->values));
    s->error = calloc(s->edges_max, sizeof(*s->error));
    s->t_ns = calloc(s->edges_max, sizeof(*s->t_ns));
    return s->files && s->raw && s->raw_len && s->lines && s->values && s->error && s->t_ns;
}

static bool set_reason(struct slab_sampler *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static bool set_reason(struct slab_sampler *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&s->reason, fmt, ap);
    va_end(ap);
    if (n < 0)
        s->reason = NULL;
    return n >= 0;
}

/* Decides whether there is anything to read; false when memory is out. */
static bool find_counters(struct slab_sampler *s, json_t *notes)
{
    if (!*s->cache || strcmp(s->cache, "none") == 0)
        return set_reason(s, "no cache was asked for");
    if (strchr(s->cache, '/') || s->cache[0] == '.')
        return set_reason(s, "\"%s\" is not the name of a slab cache", s->cache);
    int error = discover(s);
    if (error == -ENOMEM)
        return false;
    if (s->counters_n > 0)
        return true;
    if (error == -EACCES || error == -EPERM)
        set_reason(s, "reading " SLAB_DIR "/%s needs root", s->cache);
    else if (error == -ENOENT)
        set_reason(s, "there is no cache \"%s\" in " SLAB_DIR " (module not loaded?)", s->cache);
    else if (error < 0)
        set_reason(s, SLAB_DIR "/%s: %s", s->cache, strerror(-error));
    else
        set_reason(s, "the kernel was built without CONFIG_SLUB_STATS");
    note_add(notes, NOTE_WARNING, "slab", "no slab counters: %s", s->reason ? s->reason : "");
    return s->reason != NULL;
}

static struct sampler *slab_open(const struct sample_ctx *ctx, struct err *err)
{
    struct slab_sampler *s = calloc(1, sizeof(*s));
    if (!s || !bynode_init(&s->nodes, ctx->topo))
        goto no_memory;
    s->edges_max = ctx->edges_max;
    s->cache = strdup(ctx->slab ? ctx->slab : "");
    s->shared_with = json_array();
    if (!s->cache || !s->shared_with || !find_counters(s, ctx->notes))
        goto no_memory;
    if (s->reason)
        return &s->base;
    if (!find_sharers(s))
        note_add(ctx->notes, NOTE_WARNING, "slab", "cannot tell whether %s is a merged cache",
                 s->cache);
    if (s->merged) {
        char sharers[512];
        say_sharers(s, sharers, sizeof(sharers));
        if (!ctx->allow_merged) {
            err_set(
                err, STATUS_FAILED,
                "the cache %s is merged with %s: its counters are the sum over all of them. Boot "
                "with slab_nomerge, or accept it with --allow-merged",
                s->cache, sharers);
            slab_close(&s->base);
            return NULL;
        }
        note_add(ctx->notes, NOTE_WARNING, "slab",
                 "the counters of %s include those of %s (merged caches)", s->cache, sharers);
    }
    char path[PATH_MAX];
    snprintf(path, sizeof(path), SLAB_DIR "/%s/sheaf_capacity", s->cache);
    if (sysroot_read_i64(path, &s->capacity) < 0)
        s->capacity = -1;
    if (allocate(s))
        return &s->base;
no_memory:
    slab_close(s ? &s->base : NULL);
    err_set(err, STATUS_FAILED, "slab sampler: out of memory");
    return NULL;
}

static void slab_read(struct sampler *base, unsigned edge)
{
    struct slab_sampler *s = (struct slab_sampler *)base;
    if (s->reason || edge >= s->edges_max)
        return;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    s->t_ns[edge] = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    for (unsigned i = 0; i < s->counters_n; i++)
        s->raw_len[i] =
            kept_read_piece(&s->files[i], s->paths[i], s->raw + i * s->raw_bytes, s->raw_bytes);
}

static void slab_settle(struct sampler *base, unsigned edge)
{
    struct slab_sampler *s = (struct slab_sampler *)base;
    if (s->reason || edge >= s->edges_max)
        return;
    s->error[edge] = 0;
    for (unsigned i = 0; i < s->counters_n; i++) {
        int error = s->raw_len[i] < 0 ? (int)s->raw_len[i] : 0;
        if (!error && !slab_parse(s->raw + i * s->raw_bytes, (size_t)s->raw_len[i],
                                  values_at(s, edge, i), s->nodes.cpus_n, line_at(s, edge, i)))
            error = -EBADMSG;
        if (error && !s->error[edge])
            s->error[edge] = error;
    }
}

/* One counter's object; clears *complete when its nodes do not add up. */
static json_t *counter_object(const struct slab_sampler *s, unsigned counter, unsigned from,
                              unsigned to, uint64_t *by_cpu, uint64_t *by_node, bool *complete,
                              json_t *notes)
{
    struct slab_delta d = slab_subtract(line_at(s, from, counter), values_at(s, from, counter),
                                        line_at(s, to, counter), values_at(s, to, counter),
                                        s->nodes.cpus_n, s->t_ns[to] - s->t_ns[from], by_cpu);
    json_t *o = json_object();
    if (d.reset) {
        note_add(notes, NOTE_INVALID, "slab",
                 "%s/%s counted backwards: somebody reset it during the window", s->cache,
                 s->names[counter]);
        json_set_missing(o, "total", "counted backwards on CPU %u: reset during the window",
                         d.reset_cpu);
        return o;
    }
    memset(by_node, 0, s->nodes.n * sizeof(*by_node));
    uint64_t sum = 0;
    for (unsigned cpu = 0; cpu < s->nodes.cpus_n; cpu++) {
        by_node[bynode_slot(&s->nodes, cpu)] += by_cpu[cpu];
        sum += by_cpu[cpu];
    }
    if (d.complete)
        by_node[s->nodes.n - 1] += d.total - sum;
    json_object_set_new(o, "total", json_integer((json_int_t)d.total));
    bynode_put(&s->nodes, o, by_node);
    *complete &= d.complete;
    return o;
}

static json_t *slab_window(const struct sampler *base, unsigned from, unsigned to, json_t *notes)
{
    const struct slab_sampler *s = (const struct slab_sampler *)base;
    if (s->reason)
        return json_unavailable("%s", s->reason);
    int error = s->error[from] ? s->error[from] : s->error[to];
    if (error) {
        note_add(notes, NOTE_WARNING, "slab", "no slab counters: %s/%s: %s", SLAB_DIR, s->cache,
                 strerror(-error));
        return json_unavailable("%s/%s: %s", SLAB_DIR, s->cache, strerror(-error));
    }
    uint64_t *by_cpu = calloc(s->nodes.cpus_n + 1u, sizeof(*by_cpu));
    uint64_t *by_node = calloc(s->nodes.n, sizeof(*by_node));
    if (!by_cpu || !by_node) {
        free(by_cpu);
        free(by_node);
        return json_unavailable("out of memory");
    }
    bool complete = true;
    json_t *counters = json_object();
    for (unsigned i = 0; i < s->counters_n; i++)
        json_object_set_new(counters, s->names[i],
                            counter_object(s, i, from, to, by_cpu, by_node, &complete, notes));
    free(by_cpu);
    free(by_node);
    if (!complete)
        note_add(notes, NOTE_WARNING, "slab",
                 "per-node figures are incomplete: the kernel cuts a line of per-CPU values at one "
                 "page; totals are right");
    json_t *o = json_pack("{s:b, s:s, s:b, s:O, s:I}", "available", 1, "cache", s->cache, "merged",
                          s->merged, "shared_with", s->shared_with, "page_bytes",
                          (json_int_t)sysconf(_SC_PAGESIZE));
    if (s->capacity >= 0)
        json_object_set_new(o, "sheaf_capacity", json_integer(s->capacity));
    else
        json_set_missing(o, "sheaf_capacity", "this kernel's caches have no sheaves");
    json_object_set_new(o, "per_node_complete", json_boolean(complete));
    json_object_set_new(o, "counters", counters);
    return o;
}

const struct sampler_ops slab_sampler = {
    .name = "slab",
    .open = slab_open,
    .read = slab_read,
    .settle = slab_settle,
    .window = slab_window,
    .close = slab_close,
};
