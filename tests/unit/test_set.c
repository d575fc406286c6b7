#include "check.h"

static void parses(const char *text, const char *list)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    struct err err = {0};
    if (!set_parse(set, text, &err))
        fail_msg("'%s': %s", text, err.text);
    assert_set(set, list);
    hwloc_bitmap_free(set);
}

static void refuses(bool (*parse)(hwloc_bitmap_t, const char *, struct err *), const char *text)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    struct err err = {0};
    if (parse(set, text, &err))
        fail_msg("'%s' was taken", text);
    assert_int_equal(err.status, STATUS_USAGE);
    assert_contains(err.text, "'");
    assert_true(hwloc_bitmap_iszero(set));
    hwloc_bitmap_free(set);
}

static void lists(void **state)
{
    (void)state;
    parses("", "");
    parses("\n", "");
    parses("0\n", "0");
    parses("0-3,8\n", "0-3,8");
    parses("8,0-3", "0-3,8");
    parses("0-1,1-2", "0-2");
    parses("65535", "65535");
    parses("0-65535", "0-65535");
    parses("007", "7");
}

static void lists_refused(void **state)
{
    (void)state;
    const char *const bad[] = {"a",   "1-",      "-1",    "1,,2",    ",1",
                               "1,",  "3-1",     "65536", "0-65536", "99999999999999999999",
                               "1 2", "0-6:2/3", "1-2-3", "+1",      "0x1",
                               "1;2", "0-",      "all"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        refuses(set_parse, bad[i]);
}

static void mask_is(const char *text, const char *list)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    struct err err = {0};
    if (!set_parse_mask(set, text, &err))
        fail_msg("'%s': %s", text, err.text);
    assert_set(set, list);
    hwloc_bitmap_free(set);
}

static void masks(void **state)
{
    (void)state;
    mask_is("ff,ffffc000,000fffff,fc000000\n", "26-51,78-103");
    mask_is("3\n", "0-1");
    mask_is("0", "");
    mask_is("00000000,00000003", "0-1");
    mask_is("ffffffffff", "0-39");
    mask_is("FfF", "0-11");
    mask_is("1,00000000,00000000", "64");
}

static void masks_refused(void **state)
{
    (void)state;
    const char *const bad[] = {"",
                               ",",
                               "g",
                               "0x3",
                               "1,2",
                               "1,",
                               ",00000001",
                               "1,0000000g",
                               "1,000000000",
                               "123456789,00000000",
                               "1,,00000000",
                               "-1",
                               "1 1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        refuses(set_parse_mask, bad[i]);

    /* One bit above the highest id: 16384 digits and one. */
    char *wide = malloc(16386);
    memset(wide, '0', 16385);
    wide[0] = '1';
    wide[16385] = '\0';
    refuses(set_parse_mask, wide);
    mask_is(wide + 1, "");
    free(wide);
}

static void mask_round_trip(void **state)
{
    (void)state;
    const char *const masks[] = {"0", "1", "80000000", "1,00000000",
                                 "ff,ffffc000,000fffff,fc000000"};
    for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
        hwloc_bitmap_t set = hwloc_bitmap_alloc();
        assert_true(set_parse_mask(set, masks[i], NULL));
        char *text = set_format_mask(set);
        assert_string_equal(text, masks[i]);
        free(text);
        hwloc_bitmap_free(set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),         cmocka_unit_test(lists_refused),   cmocka_unit_test(masks),
        cmocka_unit_test(masks_refused), cmocka_unit_test(mask_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
