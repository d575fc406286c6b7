/* Devices, ports and GIDs from trees of our own, and the limits of a device. */
#include "check.h"

#include "../../verbs/device.h"
#include "../../verbs/limits.h"

#define DEV "sys/class/infiniband/"

static void put_device(const char *dir, const char *name, const char *node_type, const char *layer,
                       const char *state)
{
    char path[256], text[64];
    FORMAT(path, DEV "%s/node_type", name);
    put_file(dir, path, node_type);
    FORMAT(path, DEV "%s/ports/1/link_layer", name);
    FORMAT(text, "%s\n", layer);
    put_file(dir, path, text);
    FORMAT(path, DEV "%s/ports/1/state", name);
    FORMAT(text, "%s\n", state);
    put_file(dir, path, text);
    FORMAT(path, DEV "%s/ports/1/phys_state", name);
    put_file(dir, path, "5: LinkUp\n");
    FORMAT(path, DEV "%s/ports/1/rate", name);
    put_file(dir, path, "100 Gb/sec (4X EDR)\n");
}

/* type and netdev NULL: the attributes of an entry that sysfs refuses to read. */
static void put_gid(const char *dir, const char *name, unsigned index, const char *gid,
                    const char *type, const char *netdev)
{
    char path[256], text[64];
    FORMAT(path, DEV "%s/ports/1/gids/%u", name, index);
    FORMAT(text, "%s\n", gid);
    put_file(dir, path, text);
    if (!type)
        return;
    FORMAT(path, DEV "%s/ports/1/gid_attrs/types/%u", name, index);
    FORMAT(text, "%s\n", type);
    put_file(dir, path, text);
    FORMAT(path, DEV "%s/ports/1/gid_attrs/ndevs/%u", name, index);
    FORMAT(text, "%s\n", netdev);
    put_file(dir, path, text);
}

/* As mlx5 lists them: each address as v1 and as v2, link-local ones first, then unset entries. */
static void put_roce(const char *dir)
{
    static const struct {
        const char *gid;
        const char *type;
    } gids[] = {
        {"fe80:0000:0000:0000:0a94:efff:fe81:2c30", "IB/RoCE v1"},
        {"fe80:0000:0000:0000:0a94:efff:fe81:2c30", "RoCE v2"},
        {"2001:0db8:0000:0000:0000:0000:0000:0007", "IB/RoCE v1"},
        {"2001:0db8:0000:0000:0000:0000:0000:0007", "RoCE v2"},
        {"0000:0000:0000:0000:0000:ffff:0a4d:0001", "IB/RoCE v1"},
        {"0000:0000:0000:0000:0000:ffff:0a4d:0001", "RoCE v2"},
        {"0000:0000:0000:0000:0000:0000:0000:0000", NULL},
    };
    put_device(dir, "mlx5_0", "1: CA\n", "Ethernet", "4: ACTIVE");
    for (unsigned i = 0; i < sizeof(gids) / sizeof(*gids); i++)
        put_gid(dir, "mlx5_0", i, gids[i].gid, gids[i].type, "eth1");
}

static void must_read(struct verbs_device *d, const char *name)
{
    struct err err = {0};
    if (!verbs_device_read(d, name, &err))
        fail_msg("%s: %s", name, err.text);
}

static void roce_v2_is_chosen_and_ipv4_first(void **state)
{
    (void)state;
    struct verbs_device d;
    char *dir = make_dir();
    put_roce(dir);
    assert_true(sysroot_set(dir));
    must_read(&d, "mlx5_0");
    assert_false(d.iwarp);
    assert_int_equal(d.ports_n, 1);
    assert_string_equal(d.ports[0].state, "ACTIVE");
    assert_string_equal(d.ports[0].physical, "LinkUp");
    assert_string_equal(d.ports[0].rate, "100 Gb/sec (4X EDR)");
    assert_int_equal(d.ports[0].gids_n, 6); /* the unset entry is none */
    const struct verbs_gid *g = verbs_gid_choose(&d, &d.ports[0], GID_ANY, NULL);
    assert_int_equal(g->index, 5);
    assert_string_equal(g->text, "10.77.0.1");
    assert_int_equal(g->type, GID_ROCE_V2);
    assert_string_equal(g->netdev, "eth1");
    g = verbs_gid_choose(&d, &d.ports[0], GID_IPV6, NULL);
    assert_int_equal(g->index, 3); /* not the link-local one before it */
    assert_string_equal(g->text, "2001:db8::7");
    assert_int_equal(verbs_gid_choose(&d, &d.ports[0], GID_IPV4, NULL)->index, 5);
    /* A tree knows no limits, and says so instead of 0. */
    assert_false(d.limits.known);
    assert_contains(d.limits_reason, "recorded tree");
    json_t *o = verbs_device_json(&d);
    assert_true(json_is_null(json_object_get(o, "completion_vectors")));
    assert_true(json_is_null(json_object_get(o, "limits")));
    assert_contains(text_of(o, "limits_reason"), "recorded tree");
    json_t *port = json_array_get(json_object_get(o, "ports"), 0);
    assert_string_equal(text_of(json_object_get(port, "gid_chosen"), "address"), "10.77.0.1");
    assert_true(json_is_null(json_object_get(port, "active_mtu_bytes")));
    json_decref(o);
    verbs_device_free(&d);
    remove_dir(dir);
}

static void a_port_without_a_fit_gid_is_refused(void **state)
{
    (void)state;
    struct verbs_device d;
    struct err err = {0};
    char *dir = make_dir();
    put_device(dir, "mlx5_1", "1: CA\n", "Ethernet", "4: ACTIVE");
    put_gid(dir, "mlx5_1", 0, "0000:0000:0000:0000:0000:ffff:0a4d:0002", "IB/RoCE v1", "eth2");
    assert_true(sysroot_set(dir));
    must_read(&d, "mlx5_1");
    assert_null(verbs_gid_choose(&d, &d.ports[0], GID_ANY, &err));
    assert_int_equal(err.status, STATUS_FAILED);
    assert_contains(err.text, "mlx5_1 port 1 has no RoCE v2 GID (it has: 10.77.0.2 (RoCE v1))");
    assert_contains(err.text, "ip addr add ADDRESS dev eth2");
    verbs_device_free(&d);
    remove_dir(dir);

    dir = make_dir();
    put_roce(dir);
    put_device(dir, "rxe9", "1: CA\n", "Ethernet", "1: DOWN");
    assert_true(sysroot_set(dir));
    must_read(&d, "rxe9");
    assert_null(verbs_gid_choose(&d, &d.ports[0], GID_IPV6, &err));
    assert_contains(err.text, "no RoCE v2 GID of an IPv6 address (it has: none)");
    verbs_device_free(&d);
    remove_dir(dir);
}

static void infiniband_and_iwarp_have_one_kind_of_gid(void **state)
{
    (void)state;
    struct verbs_device d;
    char *dir = make_dir();
    put_device(dir, "mlx5_2", "1: CA\n", "InfiniBand", "4: ACTIVE");
    put_gid(dir, "mlx5_2", 0, "fe80:0000:0000:0000:0002:c903:00a1:5f31", "IB/RoCE v1", "");
    put_device(dir, "siw0", "4: RNIC\n", "Ethernet", "4: ACTIVE");
    put_gid(dir, "siw0", 0, "5254:004c:0001:0000:0000:0000:0000:0000", NULL, NULL);
    assert_true(sysroot_set(dir));
    must_read(&d, "mlx5_2");
    const struct verbs_gid *g = verbs_gid_choose(&d, &d.ports[0], GID_ANY, NULL);
    assert_non_null(g);
    assert_int_equal(g->type, GID_IB);
    verbs_device_free(&d);
    must_read(&d, "siw0");
    assert_true(d.iwarp);
    g = verbs_gid_choose(&d, &d.ports[0], GID_IPV4, NULL);
    assert_non_null(g);
    assert_int_equal(g->type, GID_IWARP);
    verbs_device_free(&d);
    remove_dir(dir);
}

static void absent_and_down(void **state)
{
    (void)state;
    struct verbs_device d;
    struct err err = {0};
    char *dir = make_dir();
    put_roce(dir);
    put_device(dir, "mlx5_3", "1: CA\n", "Ethernet", "1: DOWN");
    put_file(dir, "sys/class/net/eth4/ifindex", "4\n");
    assert_true(sysroot_set(dir));
    assert_false(verbs_device_read(&d, "mlx5_9", &err));
    assert_contains(err.text, "mlx5_9");
    assert_contains(err.text, "mlx5_0, mlx5_3");
    verbs_device_free(&d);
    /* An interface is no RDMA device. */
    assert_false(verbs_device_read(&d, "eth4", &err));
    assert_contains(err.text, "device 'eth4' is a network device; RDMA devices here: mlx5_0 (port "
                              "1 ACTIVE), mlx5_3 (port 1 DOWN)");
    verbs_device_free(&d);
    must_read(&d, "mlx5_0");
    assert_true(verbs_port_usable(&d, &d.ports[0], &err));
    assert_null(verbs_device_port(&d, 2));
    verbs_device_free(&d);
    must_read(&d, "mlx5_3");
    assert_false(verbs_port_usable(&d, verbs_device_port(&d, 1), &err));
    assert_contains(err.text, "mlx5_3 port 1 is DOWN (link: LinkUp), not ACTIVE");
    verbs_device_free(&d);
    remove_dir(dir);
}

static void strange_trees_are_read_without_harm(void **state)
{
    (void)state;
    struct verbs_device d;
    char *dir = make_dir();
    put_device(dir, "odd0", "", "", "");
    put_gid(dir, "odd0", 0, "not a gid", "?", "");
    put_gid(dir, "odd0", 999999, "fe80:0000:0000:0000:0000:0000:0000:0001", "RoCE v2", "e");
    put_file(dir, DEV "odd0/ports/x/state", "4: ACTIVE\n");
    put_file(dir, DEV "odd0/ports/1/gids/one", "fe80:0000:0000:0000:0000:0000:0000:0001\n");
    assert_true(sysroot_set(dir));
    must_read(&d, "odd0");
    assert_int_equal(d.ports_n, 1);
    assert_int_equal(d.ports[0].gids_n, 0);
    json_t *o = verbs_device_json(&d);
    assert_true(json_is_null(
        json_object_get(json_array_get(json_object_get(o, "ports"), 0), "gid_chosen")));
    json_decref(o);
    verbs_device_free(&d);
    remove_dir(dir);
}

/* A device with the limits that soft-RoCE has on Linux 6.1, where they differ from "many". */
static struct verbs_device small_device(void)
{
    return (struct verbs_device){
        .base = {.name = "rxe0"},
        .limits = {.known = true,
                   .comp_vectors = 8,
                   .max_qp = 100,
                   .max_qp_wr = 1024,
                   .max_sge = 32,
                   .max_sge_rd = 32,
                   .max_cq = 100,
                   .max_cqe = 32767,
                   .max_mr = 200,
                   .max_pd = 50,
                   .max_mr_size = 1u << 30,
                   .max_qp_rd_atom = 128,
                   .max_qp_init_rd_atom = 128},
    };
}

static void refused(struct verbs_need need, const char *want)
{
    struct verbs_device d = small_device();
    struct err err = {0};
    if (!need.threads)
        need.threads = 1;
    assert_false(verbs_limits_check(&d, &need, &err));
    assert_int_equal(err.status, STATUS_FAILED);
    assert_contains(err.text, want);
}

static void limits_are_named(void **state)
{
    (void)state;
    struct verbs_device d = small_device();
    struct err err = {0};
    struct verbs_need all = {.threads = 50,
                             .depth = 1023,
                             .extra = 1,
                             .sge = 32,
                             .mr_bytes = 1u << 30,
                             .mrs_per_thread = 4,
                             .connections = 2,
                             .comp_vector = 7};
    assert_true(verbs_limits_check(&d, &all, &err));

    refused((struct verbs_need){.comp_vector = 8}, "vector 8: rxe0 has 0..7");
    refused((struct verbs_need){.depth = 1024, .extra = 1},
            "requests in one queue pair (iodepth): 1025 asked for, but rxe0 allows 1024 "
            "(max_qp_wr); lower iodepth");
    refused((struct verbs_need){.sge = 33}, "33 asked for, but rxe0 allows 32 (max_sge)");
    refused((struct verbs_need){.mr_bytes = (1u << 30) + 1},
            "1073741825 asked for, but rxe0 allows 1073741824 (max_mr_size)");
    refused((struct verbs_need){.threads = 51}, "51 asked for, but rxe0 allows 50 (max_pd)");
    refused((struct verbs_need){.threads = 50, .connections = 3},
            "queue pairs: 150 asked for, but rxe0 allows 100 (max_qp)");
    refused((struct verbs_need){.threads = 50, .mrs_per_thread = 5},
            "250 asked for, but rxe0 allows 200 (max_mr)");
    refused((struct verbs_need){.cq_count = 2}, "rxe0 cannot moderate");

    d.limits.max_cq_count = 64;
    d.limits.max_cq_period_us = 1000;
    all.cq_count = 64;
    all.cq_period_us = 1000;
    assert_true(verbs_limits_check(&d, &all, &err));
    all.cq_period_us = 1001;
    assert_false(verbs_limits_check(&d, &all, &err));
    assert_contains(err.text, "1001 asked for, but rxe0 allows 1000 (max_cq_period)");
    /* What is not known forbids nothing. */
    d.limits.known = false;
    assert_true(verbs_limits_check(&d, &all, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roce_v2_is_chosen_and_ipv4_first),
        cmocka_unit_test(a_port_without_a_fit_gid_is_refused),
        cmocka_unit_test(infiniband_and_iwarp_have_one_kind_of_gid),
        cmocka_unit_test(absent_and_down),
        cmocka_unit_test(strange_trees_are_read_without_harm),
        cmocka_unit_test(limits_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
