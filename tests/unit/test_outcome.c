/* What a run makes of its workers: loadgen/run/outcome.h. */
#include "check.h"

#include "../../loadgen/run/outcome.h"

enum { THREADS = 3 };

static struct worker workers[THREADS];
static struct profile profile;
static struct run run;
static char poll_word[] = "poll", event_word[] = "event";

static void new_run(void)
{
    static const struct engine_ops engine = {.name = "aio"};
    memset(workers, 0, sizeof(workers));
    profile = (struct profile){.completion = poll_word};
    run = (struct run){.profile = &profile,
                       .record = json_object(),
                       .notes = json_array(),
                       .workers = workers,
                       .crew = {.threads = THREADS, .engine = &engine},
                       .launched_ns = 1000,
                       .threads_ns = 1100,
                       .ready_ns = 1500};
}

static void drop_run(void)
{
    for (unsigned i = 0; i < THREADS; i++)
        json_decref(workers[i].features);
    json_decref(run.record);
    json_decref(run.notes);
}

static json_int_t setup_ns(const char *key)
{
    json_t *v = json_object_get(json_object_get(run.record, "setup"), key);
    assert_true(json_is_integer(v));
    return json_integer_value(v);
}

static void start_up(void **state)
{
    (void)state;
    new_run();
    counter_set(&workers[0].first_io_ns, 1520);
    counter_set(&workers[2].first_io_ns, 1510); /* the second thread had nothing to do */
    outcome_setup(&run);
    assert_int_equal(setup_ns("launch_to_threads_ns"), 100);
    assert_int_equal(setup_ns("launch_to_ready_ns"), 500);
    assert_int_equal(setup_ns("ready_to_first_io_ns"), 10);
    assert_int_equal(setup_ns("ready_to_all_io_ns"), 20);
    drop_run();
}

static void start_up_without_io(void **state)
{
    (void)state;
    new_run();
    outcome_setup(&run);
    json_t *setup = json_object_get(run.record, "setup");
    assert_int_equal(setup_ns("launch_to_ready_ns"), 500);
    assert_true(json_is_null(json_object_get(setup, "ready_to_first_io_ns")));
    assert_true(json_is_null(json_object_get(setup, "ready_to_all_io_ns")));
    assert_string_equal(text_of(setup, "reason"), "no I/O was begun");
    drop_run();
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
    profile.completion = event_word;
    with_features(false);
    assert_int_equal(json_array_size(run.notes), 0);
    drop_run();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_up),
        cmocka_unit_test(start_up_without_io),
        cmocka_unit_test(polling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
