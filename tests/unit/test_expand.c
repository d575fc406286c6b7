/* loadgen/run/expand.h: ranges in square brackets. */
#include "../../loadgen/run/expand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char all[4096];

static bool each(const char *path, void *arg)
{
    unsigned *n = arg;
    if (++*n <= 20) {
        strcat(all, *all ? " " : "");
        strcat(all, path);
    }
    return true;
}

static void is(const char *text, const char *want)
{
    struct err err;
    unsigned n = 0;
    *all = '\0';
    assert_true(expand_path(text, each, &n, &err));
    assert_string_equal(all, want);
}

static void ranges(void **state)
{
    (void)state;
    is("/mnt/f", "/mnt/f");
    is("/mnt/f[1-4]", "/mnt/f1 /mnt/f2 /mnt/f3 /mnt/f4");
    is("f[1,3-5]x", "f1x f3x f4x f5x");
    is("n[08-11]", "n08 n09 n10 n11");
    is("[1-2]/f[0,7]", "1/f0 1/f7 2/f0 2/f7");
    is("a[b]c", "a[b]c"); /* not numbers: a name */
    is("a[]", "a[]");
    is("a[1", "a[1");
    is("a[x][1-2]", "a[x]1 a[x]2");
    is("", "");
}

static void refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "f[4-1]",        "f[1-2-3]",          "f[1,,2]",
        "f[0-99999999]", "f[1-1000][1-1000]", "f[99999999999999999999]"};
    struct err err;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        unsigned n = 0;
        *all = '\0';
        assert_false(expand_path(bad[i], each, &n, &err));
        assert_int_equal(err.status, 2);
        assert_non_null(strstr(err.text, "f["));
        assert_true(n <= EXPAND_MAX);
    }
}

/* A name that is there stands for itself, however it is spelt. */
static void files(void **state)
{
    (void)state;
    struct err err;
    char dir[] = "/tmp/test_expand.XXXXXX", name[64];
    assert_non_null(mkdtemp(dir));
    snprintf(name, sizeof(name), "%s/f[1-2]", dir);
    unsigned n = 0;
    assert_true(expand_files(name, each, &n, &err));
    assert_int_equal(n, 2);
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    fclose(f);
    n = 0;
    *all = '\0';
    assert_true(expand_files(name, each, &n, &err));
    assert_string_equal(all, name);
    unlink(name);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranges), cmocka_unit_test(refused),
                                       cmocka_unit_test(files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
