/* verbs/nfs_find.h: what a URL names. Finding it needs a server: tests/lab/test_nfs_rdma.sh. */
#include "../../verbs/nfs_find.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void good(void **state)
{
    (void)state;
    static const struct {
        const char *text, *host, *server, *path;
        unsigned mountport;
    } cases[] = {
        {"nfs-rdma://10.77.0.1/mnt/export/data", "10.77.0.1", "10.77.0.1:20049", "/mnt/export/data",
         0},
        {"nfs-rdma://host.example:2050/f", "host.example", "host.example:2050", "/f", 0},
        {"nfs-rdma://[fe80::1%eth0]/a/b?mountport=635", "fe80::1%eth0", "[fe80::1%eth0]:20049",
         "/a/b", 635},
        {"nfs-rdma://[::1]:1/a", "::1", "[::1]:1", "/a", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct nfs_url u;
        struct err err = {0};
        assert_true(nfs_url_parse(&u, cases[i].text, &err));
        assert_string_equal(u.host, cases[i].host);
        assert_string_equal(u.server, cases[i].server);
        assert_string_equal(u.path, cases[i].path);
        assert_int_equal(u.mountport, cases[i].mountport);
    }
}

static void bad(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"/mnt/nfs/data", "no nfs-rdma URL"},
        {"nfs://host/a", "no nfs-rdma URL"},
        {"nfs-rdma:///a", "no host"},
        {"nfs-rdma://[::1/a", "no host"},
        {"nfs-rdma://host", "no path"},
        {"nfs-rdma://host/", "no path"},
        {"nfs-rdma://host/dir/", "no path"},
        {"nfs-rdma://host:/a", "the port"},
        {"nfs-rdma://host:0/a", "the port"},
        {"nfs-rdma://host:65536/a", "the port"},
        {"nfs-rdma://host:99999999999999999999/a", "the port"},
        {"nfs-rdma://host:20049x/a", "the port"},
        {"nfs-rdma://host/a?mountport=", "after the '?'"},
        {"nfs-rdma://host/a?mountport=1x", "after the '?'"},
        {"nfs-rdma://host/a?version=4", "after the '?'"},
    };
    char long_url[MOUNT_PATH_MAX + 64];
    struct nfs_url u;
    struct err err = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_false(nfs_url_parse(&u, cases[i].text, &err));
        assert_int_equal(err.status, STATUS_USAGE);
        if (!strstr(err.text, cases[i].says) || !strstr(err.text, "the form is nfs-rdma://"))
            fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].text, err.text, cases[i].says);
    }
    memset(long_url, 'x', sizeof(long_url));
    memcpy(long_url, "nfs-rdma://h/", 13);
    long_url[sizeof(long_url) - 1] = '\0';
    assert_false(nfs_url_parse(&u, long_url, &err));
    assert_non_null(strstr(err.text, "too long"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(good), cmocka_unit_test(bad)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
