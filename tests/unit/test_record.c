#include "record_util.h"

#include "../../loadgen/record/record.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

static char dir[64];

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/numaload-test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    return system(command);
}

static const char *in_dir(const char *name)
{
    static char path[4][160];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
    return path[turn];
}

static unsigned files_in_dir(void)
{
    unsigned n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(in_dir(name), "w");
    fputs(text, f);
    fclose(f);
}

static void test_round_trip(void **state)
{
    (void)state;
    struct err err;
    json_t *r = record_new(), *back;
    assert_string_equal(json_string_value(json_at(r, "schema", NULL)), RECORD_SCHEMA);
    assert_int_equal(strlen(json_string_value(json_at(r, "started_at", NULL))), 20);
    json_object_set_new(r, "label", json_string("node0 / node1"));
    json_object_set_new(r, "big", json_integer(INT64_MAX));
    json_object_set_new(r, "share", json_real(0.71));
    assert_true(record_write(r, in_dir("a.json"), &err));
    assert_true(record_write(r, in_dir("a.json"), &err));
    assert_int_equal(files_in_dir(), 1);
    assert_true(record_read(in_dir("a.json"), &back, &err));
    assert_true(json_equal(r, back));
    json_decref(back);

    /* a link keeps pointing to the file that was replaced */
    assert_int_equal(symlink("a.json", in_dir("link.json")), 0);
    json_object_set_new(r, "label", json_string("second"));
    assert_true(record_write(r, in_dir("link.json"), &err));
    struct stat st;
    assert_int_equal(lstat(in_dir("link.json"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_true(record_read(in_dir("a.json"), &back, &err));
    assert_string_equal(json_string_value(json_at(back, "label", NULL)), "second");
    json_decref(back);
    json_decref(r);
}

static void test_write_refused(void **state)
{
    (void)state;
    struct err err;
    json_t *r = record_new();
    assert_false(record_write(r, in_dir("no/such/folder.json"), &err));
    assert_non_null(strstr(err.text, "No such file or directory"));
    assert_false(record_write(r, dir, &err));
    assert_non_null(strstr(err.text, "not a regular file"));
    /* as root a rename would replace the device */
    assert_false(record_write(r, "/dev/null", &err));
    assert_int_equal(err.status, STATUS_USAGE);
    json_decref(r);
}

/* A limit on the size of files stands for a full disk: the write fails half way. */
static void test_disk_full(void **state)
{
    (void)state;
    struct err err;
    put("old.json", "{}");
    json_t *r = record_new();
    char *text = malloc(200001);
    memset(text, 'x', 200000);
    text[200000] = '\0';
    json_object_set_new(r, "label", json_string(text));
    free(text);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, small = {.rlim_cur = 8192};
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    bool ok = record_write(r, in_dir("old.json"), &err);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_false(ok);
    assert_int_equal(err.status, STATUS_FAILED);
    assert_non_null(strstr(err.text, "File too large"));
    assert_int_equal(files_in_dir(), 1);
    struct stat st;
    assert_int_equal(stat(in_dir("old.json"), &st), 0);
    assert_int_equal(st.st_size, 2); /* the old one is still there */
    json_decref(r);
}

/* What stdout is, while the record is printed. */
static bool print_to(const char *device, const json_t *r, struct err *err)
{
    fflush(stdout);
    int keep = dup(1), fd = device ? open(device, O_WRONLY) : -1;
    if (fd >= 0)
        dup2(fd, 1);
    else
        close(1);
    bool ok = record_print(r, err);
    clearerr(stdout);
    if (fd >= 0)
        close(fd);
    dup2(keep, 1);
    close(keep);
    return ok;
}

static void test_stdout(void **state)
{
    (void)state;
    struct err err;
    json_t *r = record_new();
    assert_true(print_to("/dev/null", r, &err));
    assert_false(print_to("/dev/full", r, &err));
    assert_non_null(strstr(err.text, "No space left"));
    assert_false(print_to(NULL, r, &err));
    assert_non_null(strstr(err.text, "Bad file descriptor"));
    json_decref(r);
}

static void assert_refused(const char *text, const char *says)
{
    struct err err;
    json_t *r;
    put("bad.json", text);
    assert_false(record_read(in_dir("bad.json"), &r, &err));
    assert_null(r);
    assert_non_null(strstr(err.text, "bad.json"));
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

static void test_read_refuses(void **state)
{
    (void)state;
    assert_refused("", "not JSON");
    assert_refused("{\"schema\": \"numaload-record\", \"schema_ver", "not JSON");
    assert_refused("{\"schema\": \"numaload-record\", \"schema\": 1}", "not JSON");
    assert_refused("{\"a\": NaN}", "not JSON");
    assert_refused("[]", "not a record");
    assert_refused("{\"fio version\": \"fio-3.33\"}", "not a record");
    assert_refused("{\"schema\": \"numaload-record\"}", "schema_version");
    assert_refused("{\"schema\": \"numaload-record\", \"schema_version\": 2}", "version 2");
    assert_refused(
        "{\"schema\": \"numaload-record\", \"schema_version\": 1, \"windows\": [{\"slab\": "
        "{\"counters\": {\"barn_put\": {\"total\": -1}}}}]}",
        "barn_put of window 1 is negative");
    assert_refused(
        "{\"schema\": \"numaload-record\", \"schema_version\": 1, \"windows\": [{\"throughput\": "
        "{\"bytes\": -1}}]}",
        "negative number of bytes");
    struct err err;
    json_t *r;
    assert_false(record_read(in_dir("absent"), &r, &err));
    assert_non_null(strstr(err.text, "No such file"));
    assert_false(record_read(dir, &r, &err));
    assert_non_null(strstr(err.text, "Is a directory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_write_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_disk_full, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stdout, setup, teardown),
        cmocka_unit_test_setup_teardown(test_read_refuses, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
