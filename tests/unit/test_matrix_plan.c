/* loadgen/matrix: axes, exclusions, order, and when a series may go on. */
#include "check.h"

#include "../../loadgen/matrix/order.h"
#include "../../loadgen/matrix/plan.h"
#include "../../loadgen/matrix/rng.h"
#include "../../loadgen/matrix/settle.h"

static char dir[64], file[128];
static struct profile profile;
static struct matrix_settings settings;
static struct plan plan;
static struct err err;

static bool make(const char *matrix)
{
    char text[2048];
    plan_free(&plan);
    settings_free(&settings);
    profile_free(&profile);
    snprintf(text, sizeof(text), "[run]\npath = /x\n[matrix]\n%s", matrix);
    put_file(dir, "p.ini", text);
    snprintf(file, sizeof(file), "%s/p.ini", dir);
    return profile_init(&profile, &err) && profile_read_ini(&profile, file, &err) &&
           settings_init(&settings, &err) && settings_from_profile(&settings, &profile, &err) &&
           plan_make(&plan, &profile, &settings, &err);
}

static void good(const char *matrix)
{
    if (!make(matrix))
        fail_msg("%s", err.text);
}

static void bad(const char *matrix, const char *where, const char *what)
{
    assert_false(make(matrix));
    assert_int_equal(err.status, STATUS_USAGE);
    assert_contains(err.text, where);
    assert_contains(err.text, what);
}

static const char *cell(unsigned i)
{
    static char buf[256];
    return cell_text(&plan.cells, i, buf, sizeof(buf));
}

/* The first outputs for seed 1234567, as published with the algorithm. */
static void generator(void **state)
{
    (void)state;
    uint64_t s = 1234567;
    assert_int_equal(splitmix_next(&s), UINT64_C(6457827717110365317));
    assert_int_equal(splitmix_next(&s), UINT64_C(3203168211198807973));
    assert_int_equal(splitmix_next(&s), UINT64_C(9817491932198370423));
    assert_int_equal(splitmix_next(&s), UINT64_C(4593380528125082431));
    assert_int_equal(splitmix_next(&s), UINT64_C(16408922859458223821));
}

/* A series that goes on with another build of numaload must go on in the order it began with.
 * Computed from the description in order.h by a program of its own. */
static void order_of_a_seed(void **state)
{
    (void)state;
    static const unsigned want[3][6] = {{0, 2, 5, 4, 1, 3}, {3, 2, 0, 5, 1, 4}, {4, 2, 3, 5, 1, 0}};
    for (unsigned block = 0; block < 3; block++) {
        unsigned c[6];
        order_random(5, block, c, 6);
        assert_memory_equal(c, want[block], sizeof(c));
    }
}

/* Each of the 6 orders of 3 cells in a sixth of 6000 blocks: 1000 give or take 5 sigma (144). */
static void every_order_is_as_likely(void **state)
{
    (void)state;
    unsigned seen[27] = {0}, orders = 0, c[3];
    for (unsigned block = 0; block < 6000; block++) {
        order_random(7, block, c, 3);
        assert_int_equal((1 << c[0]) | (1 << c[1]) | (1 << c[2]), 7);
        seen[c[0] * 9 + c[1] * 3 + c[2]]++;
    }
    for (int i = 0; i < 27; i++)
        if (seen[i]) {
            orders++;
            assert_in_range(seen[i], 856, 1144);
        }
    assert_int_equal(orders, 6);
}

static void cells_and_values(void **state)
{
    (void)state;
    good("cpus = unpinned, node:0,\"cpus:0,2\"\ncq = balanced , node:1\n"
         "exclude = cpus=cpus:0,2 cq=balanced\nbaseline = cq=node:1\n");
    assert_int_equal(plan.cells.n, 5);
    assert_string_equal(cell(0), "cpus=unpinned cq=balanced");
    assert_string_equal(cell(1), "cpus=unpinned cq=node:1");
    assert_string_equal(cell(4), "cpus=cpus:0,2 cq=node:1");
    assert_int_equal(plan.baseline, 1);
    /* The last axis runs fastest, and all values of one key reach the profile. */
    assert_true(cell_apply(&plan.cells, 4, &profile, &err));
    assert_string_equal(profile.cpus, "cpus:0,2");
    assert_string_equal(profile.cq, "node:1");
    good("path = /a, /b\n"); /* a list takes the axis' value alone */
    assert_true(cell_apply(&plan.cells, 1, &profile, &err));
    assert_string_equal(profile_path(&profile), "/b");
    assert_null(profile.paths[1]);
    good("threads = 4\n"); /* one value is allowed */
    assert_int_equal(plan.cells.n, 1);
}

static void complaints(void **state)
{
    (void)state;
    bad("", "p.ini: ", "no axis");
    bad("cpuz = a\n", "p.ini:4: ", "did you mean 'cpus'");
    bad("json = yes, no\n", "p.ini:4: ", "cannot be an axis");
    bad("threads = 4, x\n", "p.ini:4: threads: ", "'x' is not a whole number");
    bad("block = 1M, 1024K\n", "p.ini:4: block: ", "'1024K' is there twice");
    bad("cpus = a,, b\n", "p.ini:4: cpus: ", "an empty value");
    bad("cpus = \"a, b\n", "p.ini:4: cpus: ", "does not end");
    bad("cpus = a, b\ncpus = c\n", "p.ini:5: ", "an axis already, in line 4");
    bad("cpus = a, b\nexclude = cpus=c\n", "p.ini:5: exclude: ", "no value 'c'");
    bad("cpus = a, b\nexclude = cq=c\n", "p.ini:5: exclude: ", "'cq' is not an axis");
    bad("cpus = a\nexclude = cpus=a\n", "p.ini", "every cell of the matrix is excluded");
    bad("cpus = a, b\nexclude = cpus=a\nbaseline = cpus=a\n", "p.ini:6: baseline: ", "excluded");
    bad("cpus = a\norder = random\n", "p.ini:5: order: ", "'random' is not one of");
    bad("cpus = a\nrepeats = 2\nboots = 3\n", "p.ini:6: ", "3 boots need as many repeats");
    bad("cpus = a\nprecision = 3\n", "p.ini:5: precision: ", "not a share");
    bad("cpus = a\nrepeats-max = 9\n", "p.ini:5: ", "without precision");
    bad("cpus = a\n[expect]\nx = median(bytes_per_s, cpus=b) > 1\n", "p.ini:6: ", "b");
}

static void orders(void **state)
{
    (void)state;
    good("cpus = a, b, c\nrepeats = 4\norder = reversed-pairs\nboots = 2\n");
    assert_true(plan_order(&plan, 1, &err));
    assert_int_equal(plan.runs_n, 12);
    static const unsigned want[] = {0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0};
    for (unsigned i = 0; i < 12; i++) {
        assert_int_equal(plan.runs[i].cell, want[i]);
        assert_int_equal(plan.runs[i].run, i + 1);
        assert_int_equal(plan.runs[i].block, i / 3 + 1);
        assert_int_equal(plan.runs[i].order, i % 3 + 1);
        assert_int_equal(plan.runs[i].boot, i < 6 ? 1 : 2);
    }
    /* More repeats later do not change the order of the first ones. */
    good("cpus = a, b, c, d, e\nrepeats = 2\n");
    assert_true(plan_order(&plan, 99, &err));
    unsigned first[10];
    for (int i = 0; i < 10; i++)
        first[i] = plan.runs[i].cell;
    good("cpus = a, b, c, d, e\nrepeats = 7\nprecision = 1%\n");
    assert_true(plan_order(&plan, 99, &err));
    assert_int_equal(plan.repeats_max, 20);
    for (int i = 0; i < 10; i++)
        assert_int_equal(plan.runs[i].cell, first[i]);
    assert_false(plan.runs[34].optional);
    assert_true(plan.runs[35].optional);
}

static void agreement(void **state)
{
    (void)state;
    bool changed;
    json_t *machine = json_pack("{s:s}", "kernel_release", "7.3.4");
    json_t *other = json_pack("{s:s}", "kernel_release", "7.4.0");
    good("cpus = a, b\nrepeats = 2\n");
    assert_true(plan_order(&plan, 5, &err));
    json_t *was = plan_json(&plan, &profile, machine, "0123456789abcdef");
    assert_true(plan_agrees(was, was, &changed, &err));
    assert_false(changed);

    json_t *is = plan_json(&plan, &profile, other, "0123456789abcdef");
    assert_false(plan_agrees(was, is, &changed, &err));
    assert_contains(err.text, "machine kernel_release was \"7.3.4\" and is \"7.4.0\"");
    json_decref(is);

    profile.threads = 7;
    is = plan_json(&plan, &profile, machine, "0123456789abcdef");
    assert_false(plan_agrees(was, is, &changed, &err));
    assert_contains(err.text, "profile threads was 160 and is 7");
    json_decref(is);

    good("cpus = a, b\nrepeats = 3\n"); /* more of the same goes on */
    assert_true(plan_order(&plan, 5, &err));
    is = plan_json(&plan, &profile, machine, "0123456789abcdef");
    assert_true(plan_agrees(was, is, &changed, &err));
    assert_true(changed);
    json_decref(is);

    good("cpus = a, c\nrepeats = 2\n");
    assert_true(plan_order(&plan, 5, &err));
    is = plan_json(&plan, &profile, machine, "0123456789abcdef");
    assert_false(plan_agrees(was, is, &changed, &err));
    assert_contains(err.text, "axes was");
    json_decref(is);
    json_decref(was);
    json_decref(machine);
    json_decref(other);
}

static void settings_are_no_keys(void **state)
{
    (void)state;
    for (const struct key *k = matrix_keys; k->name; k++)
        assert_null(profile_key(k->name));
}

static void quiet(void **state)
{
    (void)state;
    struct stat_totals a, b;
    struct quiet q, level;
    struct settle_rule rule = {.idle_points = 5, .interrupts_percent = 50};
    assert_true(
        settle_parse("cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 1 1 1\nintr 1000 5 5\n", &a));
    assert_true(settle_parse("cpu  110 0 110 770 110 0 0 0 0 0\nintr 1400 5 5\n", &b));
    assert_int_equal(a.all, 1000);
    assert_int_equal(a.idle, 800);
    assert_true(settle_between(&a, &b, 2, &level));
    assert_float_equal(level.idle_percent, 80, 1e-9);
    assert_float_equal(level.interrupts_per_s, 200, 1e-9);
    assert_false(settle_between(&a, &a, 2, &q));
    assert_false(settle_parse("intr 5\n", &a));
    assert_false(settle_parse("cpu  1 2 3 4\n", &a));
    /* 50 % of 200 and 100 more: up to 400 a second; idle down to 75. */
    assert_true(settle_is_back(&(struct quiet){75, 400}, &level, &rule));
    assert_false(settle_is_back(&(struct quiet){74.9, 0}, &level, &rule));
    assert_false(settle_is_back(&(struct quiet){100, 401}, &level, &rule));
}

/* What a machine does, a look a second. */
struct machine {
    const struct quiet *looks;
    unsigned n, looked, waited;
};

static bool machine_look(void *arg, struct quiet *q)
{
    struct machine *m = arg;
    if (m->looked == m->n)
        return false;
    *q = m->looks[m->looked++];
    return true;
}

static uint64_t machine_clock(void *arg)
{
    return ((struct machine *)arg)->looked * UINT64_C(1000000000);
}

static void machine_waiting(void *arg, const struct quiet *now, const struct quiet *level)
{
    assert_true(now->idle_percent < level->idle_percent);
    ((struct machine *)arg)->waited++;
}

/* The level is that of before the first run, whatever comes later; a machine that stays busy holds
 * a run up for no longer than it may; one that is back holds it up no longer. */
static void settling(void **state)
{
    (void)state;
    static const struct quiet looks[] = {{90, 100}, {20, 9000}, {60, 300}, {86, 240}, {99, 10}};
    const struct settle_rule rule = {.idle_points = 5, .interrupts_percent = 50};
    const uint64_t second = 1000000000;
    struct machine m = {.looks = looks, .n = 5};
    const struct settle_with with = {machine_look, machine_clock, machine_waiting, &m};
    struct quiet level;
    struct settle_seen seen;
    bool known = false;
    assert_true(settle_until(&level, &known, &rule, 30 * second, &with, &seen));
    assert_true(known && seen.back);
    assert_float_equal(level.idle_percent, 90, 0);
    assert_int_equal(m.looked, 1);

    assert_true(settle_until(&level, &known, &rule, 30 * second, &with, &seen));
    assert_true(seen.back);
    assert_int_equal(m.looked, 4); /* 86 % is within 5 points, 240/s within 50 % and 100 */
    assert_int_equal(m.waited, 2);
    assert_true(seen.waited_ns == 3 * second);
    assert_float_equal(seen.now.idle_percent, 86, 0);
    assert_float_equal(level.idle_percent, 90, 0);

    m = (struct machine){.looks = looks + 1, .n = 2};
    assert_true(settle_until(&level, &known, &rule, second, &with, &seen));
    assert_false(seen.back);
    assert_int_equal(m.looked, 1);
    assert_float_equal(seen.now.idle_percent, 20, 0);

    m = (struct machine){.looks = looks + 1, .n = 1}; /* interrupted while it waits */
    assert_false(settle_until(&level, &known, &rule, 30 * second, &with, &seen));
}

static int begin(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "%s", make_dir());
    return 0;
}

static int end(void **state)
{
    (void)state;
    plan_free(&plan);
    settings_free(&settings);
    profile_free(&profile);
    remove_dir(dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generator),
        cmocka_unit_test(order_of_a_seed),
        cmocka_unit_test(every_order_is_as_likely),
        cmocka_unit_test(cells_and_values),
        cmocka_unit_test(complaints),
        cmocka_unit_test(orders),
        cmocka_unit_test(agreement),
        cmocka_unit_test(settings_are_no_keys),
        cmocka_unit_test(quiet),
        cmocka_unit_test(settling),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
