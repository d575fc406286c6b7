/* What samplers know of tasks, over lists that change: loadgen/record/tasks.h. */
#include "check.h"

#include "../../loadgen/record/tasks.h"

struct thing {
    long number;
    int age, seen;
};

struct owner {
    long out[16], left_out; /* those that went; never met */
    size_t out_n;
    long changed; /* another one has this number now */
};

static bool meet(void *owner, void *task)
{
    struct owner *o = owner;
    struct thing *t = task;
    assert_int_equal(t->age, 0);
    assert_int_equal(t->seen, 0);
    t->age = 1;
    return t->number != o->left_out;
}

static bool see(void *owner, void *task)
{
    struct owner *o = owner;
    struct thing *t = task;
    t->seen++;
    return t->number != o->changed;
}

static void gone(void *owner, void *task)
{
    struct owner *o = owner;
    assert_true(o->out_n < 16);
    o->out[o->out_n++] = ((struct thing *)task)->number;
}

static const struct task_kind things = {
    .bytes = sizeof(struct thing), .meet = meet, .see = see, .gone = gone};

static void assert_numbers(const struct task_set *s, const long *numbers, size_t n)
{
    const struct thing *t = s->all;
    assert_int_equal(s->n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(t[i].number, numbers[i]);
}

static void sets_follow_lists(void **state)
{
    (void)state;
    struct owner o = {.left_out = 6};
    struct task_set s = {0};
    static const long first[] = {3, 5, 6, 9}, second[] = {1, 5, 7, 9, 11};
    assert_true(task_set_update(&s, &things, &o, first, 4));
    assert_numbers(&s, (const long[]){3, 5, 9}, 3);
    assert_int_equal(o.out_n, 1); /* it was left out, and what it opened closed */
    assert_int_equal(o.out[0], 6);

    o.changed = 9;
    o.out_n = 0;
    assert_true(task_set_update(&s, &things, &o, second, 5));
    assert_numbers(&s, (const long[]){1, 5, 7, 9, 11}, 5);
    assert_int_equal(o.out_n, 2);
    assert_int_equal(o.out[0], 3);
    assert_int_equal(o.out[1], 9); /* who had the number before */
    const struct thing *t = s.all;
    assert_int_equal(t[1].seen, 1);
    assert_int_equal(t[3].seen, 0);

    o.out_n = 0;
    assert_true(task_set_update(&s, &things, &o, NULL, 0));
    assert_numbers(&s, NULL, 0);
    assert_int_equal(o.out_n, 5);
    o.out_n = 0;
    assert_true(task_set_update(&s, &things, &o, first, 2));
    task_set_free(&s, &things, &o);
    assert_int_equal(o.out_n, 2);
    assert_null(s.all);
}

static void files_of_tasks(void **state)
{
    (void)state;
    char text[64];
    struct kept_file f = {0};
    assert_true(task_read(&f, "/proc", getpid(), "comm", text, sizeof(text)) > 0);
    assert_string_equal(text, "test_tasks\n");
    assert_true(kept_is_open(&f));
    assert_true(task_read(&f, "/proc", getpid(), "comm", text, sizeof(text)) > 0);
    assert_string_equal(text, "test_tasks\n");
    kept_close(&f);
    assert_int_equal(task_read(&f, "/proc", getpid(), "no-such", text, sizeof(text)), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_follow_lists),
        cmocka_unit_test(files_of_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
