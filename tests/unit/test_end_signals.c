/* When a signal is a second wish to end: loadgen/run/end_signals.h. */
#include "check.h"

#include "../../loadgen/run/end_signals.h"

#define MS UINT64_C(1000000)

static siginfo_t from_terminal(void)
{
    return (siginfo_t){.si_code = SI_KERNEL};
}

static siginfo_t from(pid_t pid)
{
    siginfo_t info = {.si_code = SI_USER};
    info.si_pid = pid;
    return info;
}

/* Ctrl-C: the terminal's own, and what the parent passes on, a second later on a busy machine. */
static void one_wish_both_ways(void **state)
{
    (void)state;
    struct end_wishes w = {0};
    siginfo_t direct = from_terminal(), passed_on = from(getppid());
    assert_false(end_wish_again(&w, &direct, 1000 * MS));
    assert_false(end_wish_again(&w, &passed_on, 2000 * MS));
    assert_true(end_wish_again(&w, &direct, 2500 * MS));

    w = (struct end_wishes){0};
    assert_false(end_wish_again(&w, &passed_on, 1000 * MS));
    assert_false(end_wish_again(&w, &direct, 5000 * MS));
    assert_true(end_wish_again(&w, &passed_on, 5500 * MS));
}

/* timeout(1) sends to its child and to the group: the parent gets two, and may pass both on. */
static void two_at_once(void **state)
{
    (void)state;
    struct end_wishes w = {0};
    siginfo_t passed_on = from(getppid()), other = from(getpid());
    assert_false(end_wish_again(&w, &passed_on, 1000 * MS));
    assert_false(end_wish_again(&w, &passed_on, 1001 * MS));
    assert_false(end_wish_again(&w, &other, 1900 * MS));
    assert_false(end_wish_again(&w, &other, 2000 * MS));
    assert_true(end_wish_again(&w, &other, 3000 * MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_wish_both_ways),
        cmocka_unit_test(two_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
