#include "record_util.h"

#include "../../loadgen/record/jsontext.h"
#include "../../loadgen/record/notes.h"

static void test_once(void **state)
{
    (void)state;
    json_t *notes = json_array();
    assert_int_equal(note_worst(notes), -1);
    note_add(notes, NOTE_INFO, "slab", "no %s", "sheaves");
    note_add(notes, NOTE_INFO, "slab", "no %s", "sheaves");
    assert_int_equal(json_array_size(notes), 1);
    assert_int_equal(note_worst(notes), NOTE_INFO);
    note_add(notes, NOTE_INVALID, "slab", "no sheaves");
    note_add(notes, NOTE_WARNING, "cpu", "no sheaves");
    assert_int_equal(json_array_size(notes), 3);
    assert_int_equal(note_worst(notes), NOTE_INVALID);
    note_add(notes, NOTE_ERROR, "run", "EIO");
    assert_int_equal(note_worst(notes), NOTE_ERROR);
    note_add(NULL, NOTE_ERROR, "run", "nowhere to put it");
    json_decref(notes);
}

static void test_strange_text(void **state)
{
    (void)state;
    json_t *notes = json_array();
    note_add(notes, NOTE_ERROR, "run", "/mnt/caf\xe9: gone");
    assert_string_equal(json_string_value(json_at(json_array_get(notes, 0), "text", NULL)),
                        "/mnt/caf?: gone");
    json_decref(notes);
    json_t *s = json_text("ok \xc3\xa9 \xed\xa0\x80 \xc0\xaf \xf0\x9f\x98\x80 \xe2\x82");
    assert_string_equal(json_string_value(s), "ok \xc3\xa9 ??? ?? \xf0\x9f\x98\x80 ??");
    json_decref(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_strange_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
