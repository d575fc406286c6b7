/* What the unit tests share: cmocka, trees under the sysroot seam, and files of their own. */
#ifndef NUMALOAD_CHECK_H
#define NUMALOAD_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../placement/sysroot.h"
#include "../../placement/topology.h"

#include <jansson.h>

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef TEST_DATA
#define TEST_DATA "tests/data"
#endif

/* snprintf into an array that must be large enough. */
#define FORMAT(buf, ...) assert_true((size_t)snprintf(buf, sizeof(buf), __VA_ARGS__) < sizeof(buf))

/* The recorded tree of that name becomes the sysroot. */
static inline void use_tree(const char *name)
{
    char dir[PATH_MAX];
    FORMAT(dir, "%s/trees/%s", TEST_DATA, name);
    assert_true(sysroot_set(dir));
}

static inline struct topo *load_tree(const char *name)
{
    struct topo *t;
    struct err err = {0};
    use_tree(name);
    if (!topo_load(&t, &err))
        fail_msg("%s: %s", name, err.text);
    return t;
}

/* Writes a file below `dir`, making the directories on the way. */
static inline void put_file(const char *dir, const char *path, const char *text)
{
    char full[PATH_MAX];
    FORMAT(full, "%s/%s", dir, path);
    for (char *p = full + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
        *p = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* A fresh directory; the path is static until the next call. */
static inline char *make_dir(void)
{
    static char dir[] = "/tmp/numaload-test-XXXXXX";
    memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
    assert_non_null(mkdtemp(dir));
    return dir;
}

static inline int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static inline void remove_dir(const char *dir)
{
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void assert_set(hwloc_const_bitmap_t set, const char *list)
{
    char *text = set_format(set);
    assert_string_equal(text, list);
    free(text);
}

/* The object of one lever in what place_observe appended. */
static inline json_t *lever_of(json_t *levers, const char *name)
{
    size_t i;
    json_t *l;
    json_array_foreach(levers, i, l) if (strcmp(json_string_value(json_object_get(l, "lever")),
                                                name) == 0) return l;
    fail_msg("no lever %s", name);
    return NULL;
}

static inline const char *text_of(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static inline void assert_contains(const char *text, const char *part)
{
    assert_non_null(text);
    if (!strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text);
}

#endif
