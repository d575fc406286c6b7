/* Which run an instrumented one is held against: loadgen/report/perturbed.h. */
#include "check.h"

#include "../../loadgen/report/perturbed.h"

static json_t *record(const char *instrument, const char *rw, int threads)
{
    return json_pack("{s:{s:s, s:s, s:i}}", "profile", "instrument", instrument, "rw", rw,
                     "threads", threads);
}

static void the_nearest_of_the_same_load(void **state)
{
    (void)state;
    json_t *runs[] = {record("none", "read", 4), record("none", "randread", 4),
                      record("perf-stat", "read", 4), record("none", "read", 8)};
    const json_t *const *all = (const json_t *const *)runs;
    assert_int_equal(perturbed_partner(all, 4, 2), 0);
    assert_int_equal(perturbed_partner(all, 4, 0), SIZE_MAX); /* it has no instrument */
    json_decref(runs[0]);
    runs[0] = record("none", "write", 4);
    assert_int_equal(perturbed_partner(all, 4, 2), SIZE_MAX);
    json_decref(runs[3]);
    runs[3] = record("none", "read", 4);
    assert_int_equal(perturbed_partner(all, 4, 2), 3);
    for (size_t i = 0; i < 4; i++)
        json_decref(runs[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_of_the_same_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
