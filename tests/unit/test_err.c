#include "check.h"

static void set_and_prefix(void **state)
{
    (void)state;
    struct err err;
    assert_false(err_set(&err, STATUS_USAGE, "%d is odd", 3));
    assert_int_equal(err.status, STATUS_USAGE);
    assert_string_equal(err.text, "3 is odd");
    assert_false(err_prefix(&err, "number %d", 1));
    assert_string_equal(err.text, "number 1: 3 is odd");
    assert_int_equal(err.status, STATUS_USAGE);
    assert_false(err_set(NULL, STATUS_FAILED, "nobody listens"));
    assert_false(err_prefix(NULL, "nobody"));
}

static void long_text_is_cut(void **state)
{
    (void)state;
    struct err err;
    char text[2000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    err_set(&err, STATUS_FAILED, "%s", text);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    err_prefix(&err, "begin");
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_memory_equal(err.text, "begin: xxx", 10);
    err_prefix(&err, "%s", text);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_and_prefix),
        cmocka_unit_test(long_text_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
