/* The libaio engine where the kernel's completion ring is as this code knows it, and where not. */
#include "check.h"

#ifdef HAVE_AIO
#include "../../loadgen/engine/aio.c" /* struct engine is not in a header */

#include <fcntl.h>

enum { DEPTH = 4, BLOCK = 4096 };

static char buffers[DEPTH][BLOCK];

static struct engine *open_engine(const char *completion, int *fd)
{
    static struct profile profile;
    struct err err = {0};
    char *dir = make_dir(), path[PATH_MAX];
    static char text[BLOCK * DEPTH + 1];
    memset(text, 'x', BLOCK * DEPTH);
    put_file(dir, "data", text);
    FORMAT(path, "%s/data", dir);
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(*fd >= 0);
    remove_dir(dir);
    profile = (struct profile){.completion = (char *)completion};
    const struct engine_setup setup = {.profile = &profile, .fds = fd, .iodepth = DEPTH};
    struct engine *e = engine_aio.open(&setup, &err);
    if (!e)
        print_message("%s\n", err.text);
    return e;
}

/* All slots are read, whichever way completions are taken. */
static void read_all(struct engine *e)
{
    struct io ios[DEPTH];
    uint32_t slots[DEPTH];
    struct completion done[DEPTH];
    memset(buffers, 0, sizeof(buffers));
    for (uint32_t i = 0; i < DEPTH; i++) {
        slots[i] = i;
        ios[i] = (struct io){.buf = buffers[i], .offset = i * BLOCK, .bytes = BLOCK};
    }
    assert_int_equal(engine_aio.submit(e, ios, slots, DEPTH), DEPTH);
    unsigned seen = 0;
    for (int left = DEPTH; left > 0;) {
        int n = engine_aio.reap(e, done, DEPTH, UINT64_C(5000000000));
        assert_true(n > 0);
        for (int i = 0; i < n; i++) {
            assert_int_equal(done[i].result, BLOCK);
            seen |= 1u << done[i].slot;
        }
        left -= n;
    }
    assert_int_equal(seen, (1u << DEPTH) - 1);
    for (int i = 0; i < DEPTH; i++)
        assert_int_equal(buffers[i][BLOCK - 1], 'x');
    assert_int_equal(engine_aio.reap(e, done, DEPTH, 0), 0);
}

static void features_are(const struct engine *e, bool user_space, bool polls)
{
    json_t *f = engine_aio.features(e);
    assert_int_equal(json_is_true(json_object_get(f, "reaps_in_user_space")), user_space);
    assert_int_equal(json_is_true(json_object_get(f, "polls")), polls);
    json_decref(f);
}

static void with_completion(const char *completion, bool polls)
{
    int fd;
    struct engine *e = open_engine(completion, &fd);
    if (!e)
        skip();
    if (e->ring) {
        features_are(e, true, polls);
        read_all(e);
    }
    e->ring = NULL; /* as if it were not known */
    features_are(e, false, false);
    read_all(e);
    assert_false(engine_aio.waiting(e));
    engine_aio.close(e);
    close(fd);
}

static void by_events(void **state)
{
    (void)state;
    with_completion("event", false);
}

static void by_polling(void **state)
{
    (void)state;
    with_completion("poll", true);
}

static void only_the_known_ring_is_used(void **state)
{
    (void)state;
    struct aio_ring ring = {.magic = AIO_RING_MAGIC, .header_bytes = sizeof(ring)};
    assert_ptr_equal(find_ring((io_context_t)&ring), &ring);
    ring.incompat_features = 1;
    assert_null(find_ring((io_context_t)&ring));
    ring.incompat_features = 0;
    ring.header_bytes++;
    assert_null(find_ring((io_context_t)&ring));
    ring.header_bytes--;
    ring.magic++;
    assert_null(find_ring((io_context_t)&ring));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_events),
        cmocka_unit_test(by_polling),
        cmocka_unit_test(only_the_known_ring_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    return 77;
}
#endif
