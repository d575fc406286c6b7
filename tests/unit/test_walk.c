/* loadgen/run/walk.h: who reads which block, and how often. */
#include "../../loadgen/run/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Files of 3, 1 and 7 blocks. */
static struct target_file files[] = {
    {.first_block = 0, .end_block = 3},
    {.first_block = 3, .end_block = 4},
    {.first_block = 4, .end_block = 11},
};
static const struct target target = {.files = files, .files_n = 3, .blocks = 11};

static struct profile profile_of(const char *rw, bool once)
{
    return (struct profile){.rw = (char *)rw, .once = once, .block_bytes = 4096};
}

static void visit(const struct profile *p, unsigned threads, unsigned hits[11])
{
    memset(hits, 0, 11 * sizeof(*hits));
    for (unsigned i = 0; i < threads; i++) {
        struct walk w;
        walk_init(&w, &target, p, i, threads);
        for (uint64_t n = walk_amount(&w, p, i, threads); n; n--) {
            uint64_t b = walk_next(&w);
            assert_in_range(b, 0, 10);
            const struct target_file *f = &target.files[w.file_number];
            assert_true(f->first_block <= b && b < f->end_block);
            assert_int_equal(w.file_first, f->first_block);
            assert_int_equal(w.file_bytes, f->load_bytes);
            hits[b]++;
        }
    }
}

static void once_is_once(void **state)
{
    (void)state;
    static const char *const rws[] = {"read", "write", "randread", "randwrite"};
    unsigned hits[11];
    for (size_t r = 0; r < 4; r++)
        for (unsigned threads = 1; threads < 30; threads++)
            for (int own = 0; own < 2; own++) {
                struct profile p = profile_of(rws[r], true);
                p.own_files = own;
                visit(&p, threads, hits);
                for (unsigned b = 0; b < 11; b++)
                    assert_int_equal(hits[b], 1);
            }
}

static void an_amount_is_dealt_out(void **state)
{
    (void)state;
    unsigned hits[11];
    struct profile p = profile_of("randwrite", false);
    p.amount_bytes = 22 * 4096; /* all of it, twice */
    visit(&p, 11, hits);
    for (unsigned b = 0; b < 11; b++)
        assert_int_equal(hits[b], 2);
    p = profile_of("read", false);
    p.amount_bytes = 4 * 4096 + 1; /* 5 blocks: 2 of the first worker's 4, 2 and 1 of the others */
    visit(&p, 3, hits);
    static const unsigned want[11] = {1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0};
    assert_memory_equal(hits, want, sizeof(want));
}

static void in_order_goes_round_its_part(void **state)
{
    (void)state;
    struct profile p = profile_of("read", false);
    struct walk w;
    walk_init(&w, &target, &p, 1, 3);
    static const uint64_t want[] = {4, 5, 6, 7, 4, 5};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(walk_next(&w), want[i]);
    assert_true(walk_amount(&w, &p, 1, 3) == UINT64_MAX);
    /* More threads than blocks: all read everything, from different starts. */
    walk_init(&w, &target, &p, 12, 20);
    assert_int_equal(walk_next(&w), 1);
}

/* 110,000 draws: each block is expected 10,000 times, with a standard deviation of 95. */
static void random_draws_are_even(void **state)
{
    (void)state;
    struct profile p = profile_of("randread", false);
    struct walk w;
    unsigned hits[11] = {0};
    walk_init(&w, &target, &p, 3, 8);
    for (unsigned i = 0; i < 110000; i++)
        hits[walk_next(&w)]++;
    for (unsigned b = 0; b < 11; b++)
        assert_in_range(hits[b], 9500, 10500);
    struct walk other;
    walk_init(&other, &target, &p, 4, 8);
    unsigned same = 0;
    for (unsigned i = 0; i < 1000; i++)
        same += walk_next(&w) == walk_next(&other);
    assert_in_range(same, 50, 150); /* 91 by chance */
}

/* A shuffle of a large part is not just a rotation or a stride. */
static void shuffled_looks_random(void **state)
{
    (void)state;
    struct target_file one = {.end_block = 100000};
    const struct target big = {.files = &one, .files_n = 1, .blocks = 100000};
    struct profile p = profile_of("randread", true);
    struct walk w;
    unsigned char *seen = calloc(100000, 1);
    unsigned near = 0, up = 0;
    walk_init(&w, &big, &p, 0, 1);
    uint64_t last = 0;
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t b = walk_next(&w), d = b > last ? b - last : last - b;
        assert_int_equal(seen[b]++, 0);
        near += d < 1000;
        up += b > last;
        last = b;
    }
    free(seen);
    assert_in_range(up, 45000, 55000);
    assert_in_range(near, 200, 6000); /* 1990 when it is even */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(once_is_once),
        cmocka_unit_test(an_amount_is_dealt_out),
        cmocka_unit_test(in_order_goes_round_its_part),
        cmocka_unit_test(random_draws_are_even),
        cmocka_unit_test(shuffled_looks_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
