/* Skimming a JSON text keeps what was asked for, byte for byte, and never makes JSON of what is
 * none. */
#include "../../loadgen/record/skim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct skim leaf[] = {{"x", NULL}, {0}};
static const struct skim any[] = {{"*", leaf}, {0}};
static const struct skim keep[] = {{"a", NULL}, {"o", leaf}, {"any", any}, {0}};

static void skims(const char *text, const char *want)
{
    size_t len = strlen(text);
    char *out = malloc(len + 1); /* of its own size, for the sanitizer */
    size_t n = skim_text(text, len, keep, out);
    out[n] = '\0';
    assert_string_equal(out, want);
    free(out);
}

static void parts(void **state)
{
    (void)state;
    skims("{}", "{}");
    skims(" { \"a\" : 1 , \"b\" : 2 } ", "{\"a\":1 }");
    skims("{\"b\":2,\"a\":[1,{\"q\":2}]}", "{\"a\":[1,{\"q\":2}]}");
    skims("{\"b\":{\"a\":\"}\\\"]\"},\"a\":\"\\\\\"}", "{\"a\":\"\\\\\"}");
    skims("{\"o\":{\"y\":1,\"x\":2,\"z\":[]},\"c\":null}", "{\"o\":{\"x\":2}}");
    skims("{\"o\":[{\"y\":1},{\"x\":true}]}", "{\"o\":[{},{\"x\":true}]}");
    skims("{\"o\":5,\"any\":{\"p\":{\"x\":1,\"y\":2},\"q\":7}}",
          "{\"o\":5,\"any\":{\"p\":{\"x\":1},\"q\":7}}");
    skims("{\"ab\":1,\"\":2}", "{}");
}

static void what_is_no_json(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "5",
        "[]",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":}",
        "{\"a\":1",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{a:1}",
        "{\"a\":1}x",
        "{\"b\":\"}",
        "{\"b\":[}",
        "{\"o\":[1 2]}",
        "{\"a\":1 \"b\":2}",
        "{\"b\":{\"c\":1}",
        "{\"a\":\"\\\"}",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        char out[64];
        size_t n = skim_text(bad[i], strlen(bad[i]), keep, out);
        json_t *o = n ? json_loadb(out, n, JSON_REJECT_DUPLICATES, NULL) : NULL;
        if (o)
            fail_msg("\"%s\" became \"%.*s\"", bad[i], (int)n, out);
    }
    char deep[2000];
    memset(deep, '[', sizeof(deep));
    memcpy(deep, "{\"o\":", 5);
    char out[2000];
    assert_int_equal(skim_text(deep, sizeof(deep), keep, out), 0);
}

static void a_key_with_a_nul(void **state)
{
    (void)state;
    static const char text[] = "{\"a\0bcdefghijklmnop\":1,\"a\":2}";
    char out[sizeof(text)];
    size_t n = skim_text(text, sizeof(text) - 1, keep, out);
    out[n] = '\0';
    assert_string_equal(out, "{\"a\":2}");
}

/* A document and its text are skimmed alike. */
static void documents(void **state)
{
    (void)state;
    const char *text = "{\"b\":1,\"a\":{\"r\":[1,2]},\"o\":[{\"x\":1,\"y\":2}],"
                       "\"any\":{\"p\":{\"y\":1},\"q\":{\"x\":[]}}}";
    char out[200];
    json_t *whole = json_loads(text, 0, NULL), *part;
    size_t n = skim_text(text, strlen(text), keep, out);
    part = json_loadb(out, n, 0, NULL);
    skim_object(whole, keep);
    assert_non_null(part);
    assert_true(json_equal(whole, part));
    json_decref(whole);
    json_decref(part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts),
        cmocka_unit_test(what_is_no_json),
        cmocka_unit_test(a_key_with_a_nul),
        cmocka_unit_test(documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
