/* loadgen/profile.h: units, ranges, places in messages, and the keys of the record. */
#include "../../loadgen/args.h"
#include "../../loadgen/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},         {"512", 512},          {"4k", 4096},
        {"4K", 4096},     {"1M", 1048576},       {"1MiB", 1048576},
        {"1Mi", 1048576}, {"10g", 10737418240u}, {"2T", UINT64_C(2199023255552)},
        {"7B", 7},
    };
    static const char *const bad[] = {"",         " 1",   "1 M",  "-1",  "1MB",
                                      "M",        "1.5M", "0x10", "1Mx", "99999999999999999999",
                                      "20000000P"};
    uint64_t bytes;
    struct err err;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_true(parse_size(good[i].text, &bytes, &err));
        assert_int_equal(bytes, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(parse_size(bad[i], &bytes, &err));
}

static void times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {{"10s", 10000000000u}, {"250ms", 250000000}, {"3us", 3000},        {"7ns", 7},
                {"2m", 120000000000u}, {"1.5s", 1500000000}, {"10", 10000000000u}, {"0s", 0}};
    static const char *const bad[] = {"",       "s",   "10 s", "10x",  "-1s",
                                      "1e400s", "nan", "inf",  "0x1s", "1sm"};
    uint64_t ns;
    struct err err;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_true(parse_time(good[i].text, &ns, &err));
        assert_int_equal(ns, good[i].ns);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(parse_time(bad[i], &ns, &err));
}

static void formats(void **state)
{
    (void)state;
    char buf[32];
    assert_string_equal(format_size(1048576, buf, sizeof(buf)), "1 MiB");
    assert_string_equal(format_size(1000, buf, sizeof(buf)), "1000 B");
    assert_string_equal(format_size(1536, buf, sizeof(buf)), "1.50 KiB");
    assert_string_equal(format_time(10000000000u, buf, sizeof(buf)), "10 s");
    assert_string_equal(format_time(3600000 * UINT64_C(1000000000), buf, sizeof(buf)), "3600000 s");
    assert_string_equal(format_time(1500, buf, sizeof(buf)), "1.5 us");
}

static void defaults_are_the_published_case(void **state)
{
    (void)state;
    struct profile p;
    struct err err;
    assert_true(profile_init(&p, &err));
    assert_string_equal(p.engine, "aio");
    assert_int_equal(p.block_bytes, 1048576);
    assert_int_equal(p.threads, 160);
    assert_int_equal(p.iodepth, 64);
    assert_int_equal(p.window_ns, 10000000000u);
    assert_int_equal(p.windows, 1);
    assert_true(p.direct);
    assert_string_equal(p.slab, "nfs_page");
    assert_false(profile_is_set(&p, "threads"));
    assert_false(profile_check(&p, &err)); /* no path */
    assert_int_equal(err.status, STATUS_USAGE);
    profile_free(&p);
}

static void nearest_keys(void **state)
{
    (void)state;
    assert_string_equal(profile_nearest("iodpeth"), "iodepth");
    assert_string_equal(profile_nearest("thread"), "threads");
    assert_string_equal(profile_nearest("windo"), "window");
    assert_null(profile_nearest("zzzzzzzzz"));
    assert_ptr_equal(profile_key("allow_merged"), profile_key("allow-merged"));
}

static void options_win_and_messages_name_their_place(void **state)
{
    (void)state;
    char file[] = "/tmp/numaload-profile-XXXXXX", where[256];
    int fd = mkstemp(file);
    static const char text[] = "; comment\nthreads = 3\n[run]\niodepth = 5\nlabel = a b\n";
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    close(fd);

    struct profile p;
    struct err err;
    bool help;
    const char *const words[] = {"run",    "--threads=9", file,    "--no-direct",
                                 "--path", "x",           "--json"};
    char *argv[8] = {0};
    for (int i = 0; i < 7; i++)
        argv[i] = (char *)words[i];
    assert_true(profile_init(&p, &err));
    assert_true(args_read(&p, 7, argv, NULL, &help, &err));
    assert_int_equal(p.threads, 9);
    assert_int_equal(p.iodepth, 5);
    assert_string_equal(p.label, "a b");
    assert_false(p.direct);
    assert_true(p.json);
    assert_string_equal(profile_where(&p, "threads", where, sizeof(where)), "--threads");
    assert_string_equal(profile_where(&p, "block", where, sizeof(where)), "block (default)");
    char expected[256];
    snprintf(expected, sizeof(expected), "%s:4: iodepth", file);
    assert_string_equal(profile_where(&p, "iodepth", where, sizeof(where)), expected);
    profile_free(&p);
    unlink(file);
}

static void the_record_has_every_key_with_its_unit(void **state)
{
    (void)state;
    struct profile p;
    struct err err;
    assert_true(profile_init(&p, &err));
    json_t *o = profile_json(&p);
    assert_int_equal(json_integer_value(json_object_get(o, "block_bytes")), 1048576);
    assert_int_equal(json_integer_value(json_object_get(o, "window_ns")), 10000000000u);
    assert_true(json_is_null(json_object_get(o, "path")));
    assert_true(json_is_false(json_object_get(o, "allow_merged")));
    size_t keys = 0;
    while (profile_keys[keys].name)
        keys++;
    assert_int_equal(json_object_size(o), keys + 1); /* and "file" */
    json_decref(o);
    profile_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(times),
        cmocka_unit_test(formats),
        cmocka_unit_test(defaults_are_the_published_case),
        cmocka_unit_test(nearest_keys),
        cmocka_unit_test(options_win_and_messages_name_their_place),
        cmocka_unit_test(the_record_has_every_key_with_its_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
