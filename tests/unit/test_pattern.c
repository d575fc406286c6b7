/* loadgen/pattern.h: every byte of every word is checked. */
#include "../../loadgen/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void words_are_offset_plus_salt(void **state)
{
    (void)state;
    unsigned char buf[20];
    pattern_fill(buf, sizeof(buf), 0x1000, 0x55);
    static const unsigned char want[20] = {0x55, 0x10, 0, 0, 0, 0, 0,    0,    0x5d, 0x10,
                                           0,    0,    0, 0, 0, 0, 0x65, 0x10, 0,    0};
    assert_memory_equal(buf, want, sizeof(want));
}

static void any_wrong_byte_is_found(void **state)
{
    (void)state;
    unsigned char buf[100];
    for (size_t bytes = 0; bytes <= sizeof(buf); bytes++) {
        pattern_fill(buf, bytes, 0xfffffff8, 7);
        assert_int_equal(pattern_check(buf, bytes, 0xfffffff8, 7), bytes);
        for (size_t i = 0; i < bytes; i++) {
            buf[i] ^= 0x10;
            buf[bytes - 1] ^= 1; /* the first one counts */
            assert_int_equal(pattern_check(buf, bytes, 0xfffffff8, 7), i);
            buf[i] ^= 0x10;
            buf[bytes - 1] ^= 1;
        }
    }
    pattern_fill(buf, 96, 0, 7);
    assert_int_equal(pattern_check(buf, 96, 0, 8), 0); /* another salt */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_are_offset_plus_salt),
                                       cmocka_unit_test(any_wrong_byte_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
