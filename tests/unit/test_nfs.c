#include "record_util.h"

#include "../../loadgen/record/mountstats.h"

extern const struct sampler_ops nfs_sampler;

/* The shape of kernel 7.3.4 (nine fields an operation) and of kernels before 5.3 (eight). */
static const char *const form =
    "device rootfs mounted on / with fstype rootfs\n"
    "device 10.77.0.1:/srv mounted on /mnt with fstype nfs statvers=1.1\n"
    "\topts:\trw,vers=3,rsize=65536,proto=tcp\n"
    "\tper-op statistics\n"
    "\t        READ: 7 7 0 7 7 7 7 7 0\n"
    "device 10.77.0.1:/mnt/export mounted on /mnt/n\\040fs with fstype nfs statvers=1.1\n"
    "\topts:\trw,vers=3,rsize=524288,wsize=524288,namlen=255,proto=rdma,port=20049,nconnect=2\n"
    "\tage:\t%u\n"
    "\tcaps:\tcaps=0x3fc7,wtmult=4096\n"
    "\tevents:\t0 0 0 0 0 \n"
    "\tbytes:\t0 0 %u 0 %u 0 0 0 \n"
    "\tRPC iostats version: 1.1  p/v: 100003/3 (nfs)\n"
    "\txprt:\trdma 0 1 %u 0 0 %u %u 1 0 0 5 0 0 1 1 0 0 0 0 0 0 0 0 4 0 0 0\n"
    "\txprt:\trdma 0 1 1 0 0 10 10 0 0 0 5 0 0 1 1 0 0 0 0 0 0 0 0 4 0 0 0\n"
    "\tper-op statistics\n"
    "\t        NULL: 1 1 0 44 24 0 0 0\n"
    "\t        READ: %u %u 0 1000 2000 30 %u 50%s\n"
    "\t       WRITE: 0 0 0 0 0 0 0 0 0\n"
    "device sysfs mounted on /sys with fstype sysfs\n";

static char *stats(unsigned age, unsigned bytes, unsigned connects, unsigned reads, unsigned sent,
                   unsigned rtt, const char *ninth)
{
    static char text[2][4096];
    static int turn;
    turn = !turn;
    snprintf(text[turn], sizeof(text[turn]), form, age, bytes, bytes, connects, reads, reads, reads,
             sent, rtt, ninth);
    return text[turn];
}

static void test_parse(void **state)
{
    (void)state;
    struct mount_stats m;
    const char *text = stats(100, 4096, 1, 20, 21, 400, " 3");
    assert_true(mountstats_find(text, strlen(text), "/mnt/n fs/dir/file", &m));
    assert_string_equal(m.mountpoint, "/mnt/n fs");
    assert_string_equal(m.device, "10.77.0.1:/mnt/export");
    assert_true(m.nfs);
    assert_int_equal(m.age_s, 100);
    assert_int_equal(m.direct_read_bytes, 4096);
    assert_int_equal(m.read.operations, 20);
    assert_int_equal(m.read.transmissions, 21);
    assert_int_equal(m.read.rtt_ms, 400);
    assert_int_equal(m.read.errors, 3);
    assert_int_equal(m.xprts_n, 2);
    assert_string_equal(m.xprts[1].protocol, "rdma");
    assert_int_equal(m.xprts[1].sends, 10);
    assert_int_equal(m.xprts[0].bad_xids, 1);
    char value[32];
    assert_true(mount_option(m.options, "rsize", value, sizeof(value)));
    assert_string_equal(value, "524288");
    assert_true(mount_option(m.options, "proto", value, sizeof(value)));
    assert_string_equal(value, "rdma");
    assert_false(mount_option(m.options, "size", value, sizeof(value)));
    assert_false(mount_option(m.options, "rw", value, sizeof(value)));

    /* eight fields; and a neighbour whose name begins alike is not the mount */
    text = stats(100, 4096, 1, 20, 21, 400, "");
    assert_true(mountstats_find(text, strlen(text), "/mnt/n fs", &m));
    assert_int_equal(m.read.operations, 20);
    assert_true(mountstats_find(text, strlen(text), "/mnt/n fsx/file", &m));
    assert_string_equal(m.mountpoint, "/mnt");
    assert_int_equal(m.read.operations, 7);
    assert_true(mountstats_find(text, strlen(text), "/etc/passwd", &m));
    assert_false(m.nfs);
    assert_false(mountstats_find("", 0, "/x", &m));
    assert_false(mountstats_find("device x mounted on", 19, "/x", &m));
}

static void test_other_transports(void **state)
{
    (void)state;
    struct mount_stats m;
    const char *text = "no device mounted on / with fstype nfs4\n"
                       "\txprt:\ttcp 832 1 2 3 4 50 60 7 8 9 10 11 12\n"
                       "\txprt:\tudp 832 1 50 60 7 8 9 2 0 0\n"
                       "\txprt:\tlocal 1 2 3 4 50 60 7 8 9 2 0 0\n"
                       "\txprt:\ttls13x 1 2\n";
    assert_true(mountstats_find(text, strlen(text), "/f", &m));
    assert_true(m.nfs);
    assert_int_equal(m.xprts_n, 4);
    for (int i = 0; i < 3; i++) {
        assert_true(m.xprts[i].counted);
        assert_int_equal(m.xprts[i].sends, 50);
        assert_int_equal(m.xprts[i].receives, 60);
        assert_int_equal(m.xprts[i].bad_xids, 7);
    }
    assert_int_equal(m.xprts[0].connects, 2);
    assert_false(m.xprts[3].counted);
}

struct fixture {
    struct topo *topo;
    json_t *notes;
    struct sampler *s;
};

static struct fixture fixture(const char *path, const char *text)
{
    struct fixture f = {.topo = topo_make(1, 1), .notes = json_array()};
    struct err err;
    tree_new();
    tree_put("/proc/self/mountstats", "%s", text);
    struct sample_ctx ctx = {.topo = f.topo, .path = path, .edges_max = 3, .notes = f.notes};
    f.s = nfs_sampler.open(&ctx, &err);
    assert_non_null(f.s);
    return f;
}

static void fixture_end(struct fixture *f)
{
    nfs_sampler.close(f->s);
    json_decref(f->notes);
    topo_unmake(f->topo);
    tree_remove();
}

static void edge(struct fixture *f, unsigned e, const char *text)
{
    tree_put("/proc/self/mountstats", "%s", text);
    nfs_sampler.read(f->s, e);
    nfs_sampler.settle(f->s, e);
}

static json_t *between(struct fixture *f, const char *a, const char *b)
{
    edge(f, 0, a);
    edge(f, 1, b);
    return nfs_sampler.window(f->s, 0, 1, f->notes);
}

static void test_window(void **state)
{
    (void)state;
    struct fixture f = fixture("/mnt/n fs/file", stats(100, 0, 1, 20, 20, 400, " 0"));
    json_t *w = between(&f, stats(100, 0, 1, 20, 20, 400, " 0"),
                        stats(110, 1 << 20, 1, 2020, 2021, 10400, " 0"));
    assert_string_equal(json_string_value(json_at(w, "protocol", NULL)), "rdma");
    assert_string_equal(json_string_value(json_at(w, "vers", NULL)), "3");
    assert_json_int(json_at(w, "rsize_bytes", NULL), 524288);
    assert_json_int(json_at(w, "nconnect", NULL), 2);
    assert_json_int(json_at(w, "read", "operations", NULL), 2000);
    assert_json_int(json_at(w, "read", "transmissions", NULL), 2001);
    assert_json_near(json_at(w, "read", "mean_rtt_ms", NULL), 5, 1e-9);
    assert_json_near(json_at(w, "retransmitted_share", NULL), 0.0005, 1e-9);
    assert_json_int(json_at(w, "direct_read_bytes", NULL), 1 << 20);
    assert_int_equal(json_array_size(json_at(w, "connections", NULL)), 2);
    assert_json_int(json_at(json_array_get(json_at(w, "connections", NULL), 0), "sends", NULL),
                    2000);
    assert_int_equal(json_array_size(f.notes), 0);
    json_decref(w);
    fixture_end(&f);
}

static void test_invalid(void **state)
{
    (void)state;
    struct fixture f = fixture("/mnt/n fs/file", stats(100, 0, 1, 20, 20, 400, " 0"));
    /* 3 of 2000 again: 0.15 % */
    json_t *w =
        between(&f, stats(100, 0, 1, 20, 20, 400, " 0"), stats(110, 9, 1, 2020, 2023, 10400, " 0"));
    assert_true(has_note(f.notes, "invalid", "0.15 % of the READs were sent again"));
    json_decref(w);
    json_array_clear(f.notes);
    w = between(&f, stats(100, 0, 1, 20, 20, 400, " 0"), stats(110, 9, 2, 2020, 2020, 10400, " 0"));
    assert_true(has_note(f.notes, "invalid", "reconnected 1 times"));
    json_decref(w);
    json_array_clear(f.notes);
    w = between(&f, stats(100, 0, 1, 20, 20, 400, " 0"), stats(3, 9, 1, 5, 5, 40, " 0"));
    assert_true(has_note(f.notes, "invalid", "mounted anew"));
    assert_true(json_is_false(json_at(w, "available", NULL)));
    json_decref(w);
    json_array_clear(f.notes);
    w = between(&f, stats(100, 0, 1, 20, 20, 400, " 0"),
                "device rootfs mounted on / with fstype rootfs\n");
    assert_true(has_note(f.notes, "invalid", "mounted anew"));
    json_decref(w);
    fixture_end(&f);
}

static void assert_unavailable(const char *path, const char *text, const char *reason)
{
    struct fixture f = fixture(path, text);
    json_t *w = between(&f, text, text);
    assert_true(json_is_false(json_at(w, "available", NULL)));
    assert_non_null(strstr(json_string_value(json_at(w, "reason", NULL)), reason));
    assert_int_equal(json_array_size(f.notes), 0);
    json_decref(w);
    fixture_end(&f);
}

static void test_unavailable(void **state)
{
    (void)state;
    const char *text = stats(100, 0, 1, 20, 20, 400, " 0");
    assert_unavailable("/etc/hostname", text, "on rootfs, not on NFS");
    assert_unavailable(NULL, text, "no file is read");
    assert_unavailable("/x", "", "no mount");
}

/* Two mounts, of which the second has other options; `sent` are the transmissions of its READs. */
static const char *two(unsigned first, unsigned second, unsigned sent)
{
    static char text[2][2048];
    static int turn;
    turn = !turn;
    snprintf(text[turn], sizeof(text[turn]),
             "device s:/a mounted on /a with fstype nfs statvers=1.1\n"
             "\topts:\trw,vers=3,rsize=65536,proto=rdma\n"
             "\tage:\t1\n\tbytes:\t0 0 %u 0 %u 0 0 0 \n"
             "\txprt:\trdma 0 1 1 0 0 9 9 0 0 0 5 0 0 1 1 0 0 0 0 0 0 0 0 4 0 0 0\n"
             "\tper-op statistics\n\t        READ: %u %u 0 10 20 30 %u 50 0\n"
             "device s:/b mounted on /b with fstype nfs statvers=1.1\n"
             "\topts:\trw,vers=3,rsize=32768,proto=rdma\n"
             "\tage:\t1\n\tbytes:\t0 0 %u 0 %u 0 0 0 \n"
             "\txprt:\trdma 0 1 1 0 0 9 9 0 0 0 5 0 0 1 1 0 0 0 0 0 0 0 0 4 0 0 0\n"
             "\tper-op statistics\n\t        READ: %u %u 0 10 20 30 %u 50 0\n",
             first, first, first, first, first, second, second, second, sent, second);
    return text[turn];
}

static void test_several_mounts(void **state)
{
    (void)state;
    const char *const more[] = {"/b/file", "/etc/not-on-nfs", NULL};
    struct fixture f = {.topo = topo_make(1, 1), .notes = json_array()};
    struct err err;
    tree_new();
    tree_put("/proc/self/mountstats", "%s", two(0, 0, 0));
    struct sample_ctx ctx = {
        .topo = f.topo, .path = "/a/file", .more_paths = more, .edges_max = 3, .notes = f.notes};
    f.s = nfs_sampler.open(&ctx, &err);
    json_t *w = between(&f, two(0, 0, 0), two(1000, 3000, 3000));
    assert_json_int(json_at(w, "read", "operations", NULL), 4000);
    assert_json_int(json_at(w, "direct_read_bytes", NULL), 4000);
    assert_json_near(json_at(w, "read", "mean_rtt_ms", NULL), 1, 1e-9);
    assert_json_near(json_at(w, "retransmitted_share", NULL), 0, 1e-9);
    assert_string_equal(json_string_value(json_at(w, "protocol", NULL)), "rdma");
    assert_true(json_is_null(json_at(w, "rsize_bytes", NULL)));
    assert_true(json_is_null(json_at(w, "mountpoint", NULL)));
    assert_int_equal(json_array_size(json_at(w, "connections", NULL)), 2);
    json_t *mounts = json_at(w, "mounts", NULL);
    assert_int_equal(json_array_size(mounts), 2);
    assert_json_int(json_at(json_array_get(mounts, 0), "read", "operations", NULL), 1000);
    assert_json_int(json_at(json_array_get(mounts, 1), "rsize_bytes", NULL), 32768);
    assert_int_equal(json_array_size(f.notes), 0);
    json_decref(w);
    /* 6 of 3000 again: 0.2 % of that mount, although 0.06 % of both. */
    w = between(&f, two(0, 0, 0), two(7000, 3000, 3006));
    assert_true(has_note(f.notes, "invalid", "0.20 % of the READs were sent again"));
    assert_int_equal(json_array_size(f.notes), 1);
    json_decref(w);
    json_array_clear(f.notes);
    /* One of them mounted anew: its counters began again, and a sum would be wrong. */
    w = between(&f, two(9, 9, 9), two(100, 3, 3));
    assert_true(has_note(f.notes, "invalid", "/b was mounted anew"));
    assert_true(json_is_false(json_at(w, "available", NULL)));
    json_decref(w);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),       cmocka_unit_test(test_other_transports),
        cmocka_unit_test(test_window),      cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_unavailable), cmocka_unit_test(test_several_mounts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
