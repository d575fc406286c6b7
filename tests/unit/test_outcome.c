/* What a run makes of its workers: loadgen/run/outcome.h. */
#include "check.h"

#include "../../loadgen/run/outcome.h"

enum { THREADS = 3 };

static struct worker workers[THREADS];
static struct profile profile;
static struct run run;

static void new_run(void)
{
    static const struct engine_ops engine = {.name = "aio"};
    memset(workers, 0, sizeof(workers));
    profile = (struct profile){.completion = (char[]){"poll"}};
    run = (struct run){.profile = &profile,
                       .record = json_object(),
                       .notes = json_array(),
                       .workers = workers,
                       .crew = {.threads = THREADS, .engine = &engine}};
}

static void drop_run(void)
{
    for (unsigned i = 0; i < THREADS; i++)
        json_decref(workers[i].features);
    json_decref(run.record);
    json_decref(run.notes);
}

static void with_features(bool last_polls)
{
    for (unsigned i = 0; i < THREADS; i++)
        workers[i].features = json_pack("{s:b}", "polls", i + 1 < THREADS || last_polls);
    outcome_engine(&run);
}

/* Polling that was asked for and not done is said; what was not asked for is not. */
static void polling(void **state)
{
    (void)state;
    new_run();
    with_features(true);
    assert_int_equal(json_array_size(run.notes), 0);
    drop_run();

    new_run();
    with_features(false);
    assert_int_equal(json_array_size(run.notes), 1);
    json_t *note = json_array_get(run.notes, 0);
    assert_string_equal(text_of(note, "level"), "warning");
    assert_contains(text_of(note, "text"),
                    "completion = poll was not done: 1 of 3 threads slept for their completions");
    drop_run();

    new_run();
    profile.completion = (char[]){"event"};
    with_features(false);
    assert_int_equal(json_array_size(run.notes), 0);
    drop_run();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
