#include "record_util.h"

#include "../../loadgen/record/slab.h"

extern const struct sampler_ops slab_sampler;

#define DIR "/sys/kernel/slab/nfs_page"

static uint64_t second = 1000000000u;

static bool parse(const char *text, uint32_t *values, unsigned cpus_n, struct slab_line *line)
{
    return slab_parse(text, strlen(text), values, cpus_n, line);
}

static void test_parse(void **state)
{
    (void)state;
    uint32_t v[6];
    struct slab_line l;
    assert_true(parse("66030 C2=17780 C3=48250\n", v, 6, &l));
    assert_int_equal(l.total, 66030);
    assert_int_equal(l.sum, 66030);
    assert_int_equal(v[0], 0);
    assert_int_equal(v[2], 17780);
    assert_int_equal(v[3], 48250);
    assert_true(l.cpus_seen == UINT64_MAX);

    assert_true(parse("0\n", v, 6, &l));
    assert_false(l.any_cpu);
    assert_true(parse("0", v, 6, &l));
    /* a CPU that the topology does not know */
    assert_true(parse("12 C1=5 C9=7\n", v, 6, &l));
    assert_int_equal(l.beyond, 7);
    assert_int_equal(l.sum, 12);
    assert_true(parse("4294967295 C0=4294967295\n", v, 6, &l));
}

static void test_parse_refuses(void **state)
{
    (void)state;
    uint32_t v[6];
    struct slab_line l;
    static const char *const bad[] = {
        "",
        "\n",
        "-1\n",
        "64 N0=64\n",
        "0(0)\n",
        "5 C1\n",
        "5 C1=\n",
        "5 C=5\n",
        "5  C1=5\n",
        "5 C1=5 \n",
        "5\n5\n",
        "x\n",
        "5 C3=1 C1=4\n",
        "5 C1=4294967296\n",
        "5 C1=1 C1=4\n",
        "99999999999999999999999 C0=1\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(parse(bad[i], v, 6, &l));
}

/* Makes the line that the kernel makes for cpus CPUs with this value each, cut at a page. */
static size_t long_line(char *buf, unsigned cpus, uint64_t value)
{
    char full[65536];
    int n = snprintf(full, sizeof(full), "%llu", (unsigned long long)(cpus * value));
    for (unsigned cpu = 0; cpu < cpus; cpu++)
        n += snprintf(full + n, sizeof(full) - (size_t)n, " C%u=%llu", cpu,
                      (unsigned long long)value);
    n += snprintf(full + n, sizeof(full) - (size_t)n, "\n");
    size_t len = n > 4095 ? 4095 : (size_t)n;
    memcpy(buf, full, len);
    return len;
}

static void test_cut_line(void **state)
{
    (void)state;
    char a[4096], b[4096];
    static uint32_t va[512], vb[512];
    static uint64_t by_cpu[512];
    struct slab_line la, lb;
    size_t len = long_line(a, 512, 1000000);
    assert_int_equal(len, 4095);
    assert_true(slab_parse(a, len, va, 512, &la));
    assert_true(la.cpus_seen < 512);
    assert_int_equal(va[la.cpus_seen - 1], 1000000); /* the half field behind it is not read */
    assert_int_equal(la.total, 512000000);

    len = long_line(b, 512, 1000007);
    assert_true(slab_parse(b, len, vb, 512, &lb));
    struct slab_delta d = slab_subtract(&la, va, &lb, vb, 512, 10 * second, by_cpu);
    assert_false(d.reset);
    assert_false(d.complete);
    assert_int_equal(d.total, 512 * 7);
    assert_int_equal(by_cpu[0], 7);
    assert_int_equal(by_cpu[511], 0);
}

static struct slab_delta subtract(const char *from, const char *to, uint64_t *by_cpu)
{
    uint32_t va[4], vb[4];
    struct slab_line la, lb;
    assert_true(parse(from, va, 4, &la));
    assert_true(parse(to, vb, 4, &lb));
    return slab_subtract(&la, va, &lb, vb, 4, 10 * second, by_cpu);
}

static void test_wrap(void **state)
{
    (void)state;
    uint64_t by_cpu[4];
    /* CPU 1 wraps from 2^32 - 10 to 90; the printed total falls by 2^32 - 300 */
    struct slab_delta d =
        subtract("4294967386 C0=100 C1=4294967286\n", "390 C0=300 C1=90\n", by_cpu);
    assert_false(d.reset);
    assert_true(d.complete);
    assert_int_equal(d.total, 300);
    assert_int_equal(by_cpu[0], 200);
    assert_int_equal(by_cpu[1], 100);
}

static void test_reset(void **state)
{
    (void)state;
    uint64_t by_cpu[4];
    assert_true(subtract("119684629 C0=60000000 C1=59684629\n", "7 C0=7\n", by_cpu).reset);
    /* 3e9 on one CPU: 1.3e9 modulo 2^32 would be 130 million a second */
    assert_true(subtract("3000000000 C0=3000000000\n", "100 C0=100\n", by_cpu).reset);
}

static void put_counters(const char *fast, const char *slow)
{
    tree_put(DIR "/free_fastpath", "%s\n", fast);
    tree_put(DIR "/free_slowpath", "%s\n", slow);
    tree_put(DIR "/barn_put_fail", "0\n");
    tree_put(DIR "/aliases", "0\n");
    tree_put(DIR "/trace", "0\n");
    tree_put(DIR "/object_size", "128\n");
    tree_put(DIR "/min_partial", "5\n");
    tree_put(DIR "/unheard_of", "77\n");
    tree_put(DIR "/objects", "64 N0=64\n");
    tree_put(DIR "/slabs_cpu_partial", "0(0)\n");
    tree_put(DIR "/shrink", "%s", "");
    tree_put(DIR "/sheaf_capacity", "60\n");
}

struct fixture {
    struct topo *topo;
    json_t *notes;
    struct sample_ctx ctx;
    struct err err;
};

static struct fixture fixture(void)
{
    struct fixture f = {.topo = topo_make(2, 2), .notes = json_array()};
    f.ctx =
        (struct sample_ctx){.topo = f.topo, .slab = "nfs_page", .edges_max = 4, .notes = f.notes};
    return f;
}

static void fixture_end(struct fixture *f)
{
    topo_unmake(f->topo);
    json_decref(f->notes);
    tree_remove();
}

static void edge(struct sampler *s, unsigned e)
{
    slab_sampler.read(s, e);
    slab_sampler.settle(s, e);
}

static void test_window(void **state)
{
    (void)state;
    tree_new();
    put_counters("100 C0=100", "50 C3=50");
    struct fixture f = fixture();
    struct sampler *s = slab_sampler.open(&f.ctx, &f.err);
    assert_non_null(s);
    assert_int_equal(json_array_size(f.notes), 0);
    edge(s, 0);
    put_counters("1100 C0=600 C1=500", "60 C2=3 C3=57");
    edge(s, 1);
    put_counters("1101 C0=600 C1=501", "60 C2=3 C3=57");
    edge(s, 2);

    json_t *w = slab_sampler.window(s, 0, 1, f.notes);
    assert_true(json_is_true(json_at(w, "available", NULL)));
    assert_true(json_is_false(json_at(w, "merged", NULL)));
    assert_true(json_is_true(json_at(w, "per_node_complete", NULL)));
    assert_json_int(json_at(w, "sheaf_capacity", NULL), 60);
    json_t *c = json_at(w, "counters", NULL);
    /* what is no statistic is not taken for one */
    assert_int_equal(json_object_size(c), 3);
    assert_json_int(json_at(c, "free_fastpath", "total", NULL), 1000);
    assert_json_int(json_at(c, "free_fastpath", "by_node", "0", NULL), 1000);
    assert_json_int(json_at(c, "free_fastpath", "by_node", "1", NULL), 0);
    assert_json_int(json_at(c, "free_slowpath", "total", NULL), 10);
    assert_json_int(json_at(c, "free_slowpath", "by_node", "1", NULL), 10);
    assert_json_int(json_at(c, "barn_put_fail", "total", NULL), 0);
    json_decref(w);
    w = slab_sampler.window(s, 0, 2, f.notes);
    assert_json_int(json_at(w, "counters", "free_fastpath", "total", NULL), 1001);
    json_decref(w);
    assert_int_equal(json_array_size(f.notes), 0);
    slab_sampler.close(s);
    fixture_end(&f);
}

static void test_window_reset(void **state)
{
    (void)state;
    tree_new();
    put_counters("100000 C0=100000", "50 C3=50");
    struct fixture f = fixture();
    struct sampler *s = slab_sampler.open(&f.ctx, &f.err);
    edge(s, 0);
    put_counters("7 C0=7", "60 C3=60");
    edge(s, 1);
    json_t *w = slab_sampler.window(s, 0, 1, f.notes);
    assert_true(json_is_null(json_at(w, "counters", "free_fastpath", "total", NULL)));
    assert_json_int(json_at(w, "counters", "free_slowpath", "total", NULL), 10);
    assert_true(has_note(f.notes, "invalid", "counted backwards"));
    json_decref(w);
    slab_sampler.close(s);
    fixture_end(&f);
}

static void test_window_cut(void **state)
{
    (void)state;
    tree_new();
    char line[4096];
    struct fixture f = fixture();
    topo_unmake(f.topo);
    f.ctx.topo = f.topo = topo_make(2, 256);
    line[long_line(line, 512, 1000000)] = '\0';
    tree_put(DIR "/free_fastpath", "%s", line);
    struct sampler *s = slab_sampler.open(&f.ctx, &f.err);
    edge(s, 0);
    line[long_line(line, 512, 1000001)] = '\0';
    tree_put(DIR "/free_fastpath", "%s", line);
    edge(s, 1);
    json_t *w = slab_sampler.window(s, 0, 1, f.notes);
    assert_true(json_is_false(json_at(w, "per_node_complete", NULL)));
    assert_json_int(json_at(w, "counters", "free_fastpath", "total", NULL), 512);
    assert_json_int(json_at(w, "counters", "free_fastpath", "by_node", "0", NULL), 256);
    assert_true(json_is_null(json_at(w, "sheaf_capacity", NULL)));
    assert_true(json_is_string(json_at(w, "sheaf_capacity_reason", NULL)));
    assert_true(has_note(f.notes, "warning", "incomplete"));
    json_decref(w);
    slab_sampler.close(s);
    fixture_end(&f);
}

static void make_merged(void)
{
    tree_put("/sys/kernel/slab/:0000128/free_fastpath", "9 C0=9\n");
    tree_put("/sys/kernel/slab/:0000128/aliases", "2\n");
    tree_put("/sys/kernel/slab/:0000256/free_fastpath", "9 C0=9\n");
    tree_link(DIR, ":0000128");
    tree_link("/sys/kernel/slab/eventpoll_epi", ":0000128");
    tree_link("/sys/kernel/slab/uid_cache", ":0000128");
    tree_link("/sys/kernel/slab/other", ":0000256");
}

static void test_merged(void **state)
{
    (void)state;
    tree_new();
    make_merged();
    struct fixture f = fixture();
    assert_null(slab_sampler.open(&f.ctx, &f.err));
    assert_int_equal(f.err.status, STATUS_FAILED);
    assert_non_null(strstr(f.err.text, "eventpoll_epi, uid_cache"));
    assert_non_null(strstr(f.err.text, "slab_nomerge"));

    f.ctx.allow_merged = true;
    struct sampler *s = slab_sampler.open(&f.ctx, &f.err);
    assert_non_null(s);
    assert_true(has_note(f.notes, "warning", "uid_cache"));
    edge(s, 0);
    edge(s, 1);
    json_t *w = slab_sampler.window(s, 0, 1, f.notes);
    assert_true(json_is_true(json_at(w, "merged", NULL)));
    assert_int_equal(json_array_size(json_at(w, "shared_with", NULL)), 2);
    json_decref(w);
    slab_sampler.close(s);

    /* a link alone: this cache could be merged, and is not */
    f.ctx.allow_merged = false;
    f.ctx.slab = "other";
    s = slab_sampler.open(&f.ctx, &f.err);
    assert_non_null(s);
    slab_sampler.close(s);
    fixture_end(&f);
}

static void assert_unavailable(struct fixture *f, const char *reason)
{
    struct sampler *s = slab_sampler.open(&f->ctx, &f->err);
    assert_non_null(s);
    edge(s, 0);
    edge(s, 1);
    json_t *w = slab_sampler.window(s, 0, 1, f->notes);
    assert_true(json_is_false(json_at(w, "available", NULL)));
    assert_non_null(strstr(json_string_value(json_at(w, "reason", NULL)), reason));
    json_decref(w);
    slab_sampler.close(s);
}

static void test_unavailable(void **state)
{
    (void)state;
    tree_new();
    struct fixture f = fixture();
    assert_unavailable(&f, "no cache \"nfs_page\"");
    assert_true(has_note(f.notes, "warning", "no slab counters"));

    tree_put(DIR "/object_size", "128\n");
    tree_put(DIR "/aliases", "0\n");
    tree_put(DIR "/trace", "0\n");
    assert_unavailable(&f, "CONFIG_SLUB_STATS");

    f.ctx.slab = "../../secret";
    assert_unavailable(&f, "not the name");
    f.ctx.slab = "none";
    json_array_clear(f.notes);
    assert_unavailable(&f, "no cache was asked for");
    assert_int_equal(json_array_size(f.notes), 0);
    fixture_end(&f);
}

static void test_needs_root(void **state)
{
    (void)state;
    tree_new();
    put_counters("1 C0=1", "1 C0=1");
    char command[256];
    snprintf(command, sizeof(command), "chmod 755 %s; chmod 0 %s" DIR "/*", tree_root, tree_root);
    assert_int_equal(system(command), 0);
    struct fixture f = fixture();
    if (geteuid() == 0)
        assert_int_equal(seteuid(65534), 0);
    assert_unavailable(&f, "needs root");
    if (getuid() == 0)
        assert_int_equal(seteuid(0), 0);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),        cmocka_unit_test(test_parse_refuses),
        cmocka_unit_test(test_cut_line),     cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_reset),        cmocka_unit_test(test_window),
        cmocka_unit_test(test_window_reset), cmocka_unit_test(test_window_cut),
        cmocka_unit_test(test_merged),       cmocka_unit_test(test_unavailable),
        cmocka_unit_test(test_needs_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
