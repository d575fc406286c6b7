/* loadgen/run/worker.h: no two threads and no two windows share a cache line. */
#include "../../loadgen/run/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void layout(void **state)
{
    (void)state;
    assert_int_equal(offsetof(struct crew, phase) % CACHE_LINE, 0);
    assert_int_equal(offsetof(struct crew, failed) % CACHE_LINE, 0);
    assert_true(offsetof(struct crew, failed) - offsetof(struct crew, phase) >= CACHE_LINE);
    assert_int_equal(offsetof(struct worker, outstanding) % CACHE_LINE, 0);
    assert_int_equal(sizeof(struct worker) % CACHE_LINE, 0);
    assert_int_equal(sizeof(struct phase_counters) % CACHE_LINE, 0);
    for (unsigned cpus = 1; cpus < 5000; cpus += 97) {
        size_t bytes = worker_phase_bytes(cpus);
        assert_int_equal(bytes % CACHE_LINE, 0);
        assert_true(bytes >= sizeof(struct phase_counters) + cpus * sizeof(counter));
    }
}

static json_int_t ios_of_octave(const json_t *latency, size_t at)
{
    return json_integer_value(
        json_object_get(json_array_get(json_object_get(latency, "octaves"), at), "ios"));
}

/* Two made-up workers, three phases: the window is phase 1 alone. */
static void sums_of_a_window(void **state)
{
    (void)state;
    static const struct engine_ops engine = {.name = "test"};
    struct profile profile = {.rw = (char *)"read"};
    struct crew crew = {
        .profile = &profile, .engine = &engine, .threads = 2, .phases = 3, .cpus_n = 4};
    crew.phase_bytes = worker_phase_bytes(4);
    crew.latencies = calloc(3 * HIST_BUCKETS, sizeof(counter));
    assert_non_null(crew.latencies);
    struct worker *w = aligned_alloc(CACHE_LINE, 2 * sizeof(*w));
    assert_non_null(w);
    for (unsigned i = 0; i < 2; i++) {
        w[i] = (struct worker){.crew = &crew, .number = i};
        w[i].phase_memory = aligned_alloc(CACHE_LINE, 3 * crew.phase_bytes);
        for (unsigned p = 0; p < 3; p++) {
            struct phase_counters *pc = worker_phase(&w[i], p);
            *pc = (struct phase_counters){0};
            counter_set(&pc->ios, 10 * (p + 1) + i);
            counter_set(&pc->bytes, 1000 * (p + 1) + i);
        }
        struct phase_counters *pc = worker_phase(&w[i], 1);
        counter_set(&pc->latency_min_ns, 5 + i);
        counter_set(&pc->latency_max_ns, 50 + i);
        counter_set(&pc->latency_sum_ns, 410);
    }
    /* The first one is over: it has booked all. The second still counts into the window, or into
     * what follows it. */
    const unsigned twenty = hist_bucket(20), forty = hist_bucket(40);
    counter_set(&crew.latencies[HIST_BUCKETS + twenty], 20);
    counter_set(&crew.latencies[2 * HIST_BUCKETS + forty], 30);
    counter_set(&w[0].counts_into, 2);
    for (unsigned i = 0; i < 2; i++) {
        w[i].hist = calloc(HIST_BUCKETS, sizeof(counter));
        w[i].booked = calloc(HIST_BUCKETS, sizeof(counter));
        assert_true(w[i].hist && w[i].booked);
        counter_set(&w[i].hist[twenty], 20 + i + 10);
        counter_set(&w[i].booked[twenty], i ? 10 : 30);
    }
    counter_set(&w[1].counts_into, 1);
    json_t *window = json_object(), *notes = json_array();
    struct span span = {1, 1, 1000000000, 3000000000};
    window_fill(window, w, &crew, &span, notes);
    json_t *t = json_object_get(window, "throughput"), *l = json_object_get(window, "latency");
    assert_int_equal(json_integer_value(json_object_get(t, "bytes")), 4001);
    assert_int_equal(json_integer_value(json_object_get(t, "ios")), 41);
    assert_true(json_real_value(json_object_get(t, "bytes_per_s")) == 2000.5); /* over 2 s */
    assert_int_equal(json_integer_value(json_object_get(l, "count")), 41);
    assert_int_equal(json_integer_value(json_object_get(l, "min_ns")), 5);
    assert_int_equal(json_integer_value(json_object_get(l, "max_ns")), 51);
    assert_int_equal(json_integer_value(json_object_get(l, "mean_ns")), 20);
    assert_int_equal(json_integer_value(json_object_get(l, "p50_ns")), 20);
    assert_int_equal(json_array_size(json_object_get(l, "octaves")), 1);
    assert_int_equal(ios_of_octave(l, 0), 41);
    assert_int_equal(json_array_size(notes), 0);
    json_decref(window);
    span.first_phase = span.last_phase = 2;
    window = json_object();
    window_fill(window, w, &crew, &span, notes);
    assert_int_equal(ios_of_octave(json_object_get(window, "latency"), 0), 30);
    json_decref(window);
    span.first_phase = span.last_phase = 1;

    /* A thread without I/O invalidates. */
    counter_set(&worker_phase(&w[1], 1)->bytes, 0);
    window = json_object();
    window_fill(window, w, &crew, &span, notes);
    assert_int_equal(json_array_size(notes), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(notes, 0), "level")),
                        "invalid");
    json_decref(window);
    json_decref(notes);
    for (unsigned i = 0; i < 2; i++) {
        free(w[i].phase_memory);
        free(w[i].hist);
        free(w[i].booked);
    }
    free(crew.latencies);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout),
        cmocka_unit_test(sums_of_a_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
