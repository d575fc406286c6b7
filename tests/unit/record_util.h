/* For the tests of recorder and reports: a machine and a tree of files made by hand. */
#ifndef NUMALOAD_RECORD_UTIL_H
#define NUMALOAD_RECORD_UTIL_H

#include "../../loadgen/record/sampler.h"
#include "../../placement/sysroot.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stddef.h>

/* uses the types above without including them */
#include <cmocka.h>

#define UNUSED __attribute__((unused))

/* nodes_n nodes with the ids 0, 1, ... and cpus_each CPUs each, in order: all online. */
UNUSED static struct topo *topo_make(unsigned nodes_n, unsigned cpus_each)
{
    struct topo *t = calloc(1, sizeof(*t));
    t->numa = true;
    t->nodes_n = nodes_n;
    t->nodes = calloc(nodes_n, sizeof(*t->nodes));
    t->cpus_n = nodes_n * cpus_each;
    t->cpus = calloc(t->cpus_n, sizeof(*t->cpus));
    t->online = hwloc_bitmap_alloc();
    for (unsigned i = 0; i < nodes_n; i++) {
        t->nodes[i].id = (int)i;
        t->nodes[i].listed = hwloc_bitmap_alloc();
        t->nodes[i].mem_total_bytes = 1u << 30;
    }
    for (unsigned cpu = 0; cpu < t->cpus_n; cpu++) {
        int node = (int)(cpu / cpus_each);
        t->cpus[cpu] = (struct topo_cpu){.present = true,
                                         .online = true,
                                         .allowed = true,
                                         .node = node,
                                         .package = node,
                                         .core = (int)(cpu % cpus_each / 2)};
        hwloc_bitmap_set(t->nodes[node].listed, cpu);
        hwloc_bitmap_set(t->online, cpu);
    }
    return t;
}

UNUSED static void topo_unmake(struct topo *t)
{
    for (unsigned i = 0; i < t->nodes_n; i++)
        hwloc_bitmap_free(t->nodes[i].listed);
    hwloc_bitmap_free(t->online);
    free(t->nodes);
    free(t->cpus);
    free(t);
}

static char tree_root[64];

/* A new empty tree, set as the root of /proc and /sys. */
UNUSED static void tree_new(void)
{
    snprintf(tree_root, sizeof(tree_root), "/tmp/numaload-test-XXXXXX");
    assert_non_null(mkdtemp(tree_root));
    assert_true(sysroot_set(tree_root));
}

UNUSED static void tree_remove(void)
{
    char command[128];
    sysroot_set(NULL);
    snprintf(command, sizeof(command), "rm -rf '%s'", tree_root);
    assert_int_equal(system(command), 0);
}

UNUSED static void tree_dirs(char *full)
{
    for (char *p = full + strlen(tree_root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(full, 0777);
        *p = '/';
    }
}

UNUSED __attribute__((format(printf, 2, 3))) static void tree_put(const char *path, const char *fmt,
                                                                  ...)
{
    char full[PATH_MAX];
    snprintf(full, sizeof(full), "%s%s", tree_root, path);
    tree_dirs(full);
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    va_list ap;
    va_start(ap, fmt);
    vfprintf(f, fmt, ap);
    va_end(ap);
    fclose(f);
}

UNUSED static void tree_link(const char *path, const char *target)
{
    char full[PATH_MAX];
    snprintf(full, sizeof(full), "%s%s", tree_root, path);
    tree_dirs(full);
    assert_int_equal(symlink(target, full), 0);
}

UNUSED static void tree_delete(const char *path)
{
    char full[PATH_MAX];
    snprintf(full, sizeof(full), "%s%s", tree_root, path);
    assert_int_equal(remove(full), 0);
}

/* The integer at a path of keys, "counters", "free_fastpath", "total", NULL. */
UNUSED __attribute__((sentinel)) static json_t *json_at(json_t *o, ...)
{
    va_list ap;
    va_start(ap, o);
    for (const char *key; (key = va_arg(ap, const char *)) && o;)
        o = json_object_get(o, key);
    va_end(ap);
    return o;
}

#define assert_json_int(o, value)                                                                  \
    do {                                                                                           \
        json_t *o_ = (o);                                                                          \
        assert_true(json_is_integer(o_));                                                          \
        assert_int_equal(json_integer_value(o_), (value));                                         \
    } while (0)

#define assert_json_near(o, value, tolerance)                                                      \
    do {                                                                                           \
        json_t *o_ = (o);                                                                          \
        assert_true(json_is_number(o_));                                                           \
        double d_ = json_number_value(o_) - (value);                                               \
        assert_true(d_ <= (tolerance) && d_ >= -(tolerance));                                      \
    } while (0)

/* True when one of the notes has this level and holds this text. */
UNUSED static bool has_note(json_t *notes, const char *level, const char *text)
{
    for (size_t i = 0; i < json_array_size(notes); i++) {
        json_t *n = json_array_get(notes, i);
        if (strcmp(json_string_value(json_object_get(n, "level")), level) == 0 &&
            strstr(json_string_value(json_object_get(n, "text")), text))
            return true;
    }
    return false;
}

#endif
