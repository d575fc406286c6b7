/* The page: well-formed, self-contained, nothing of a record becomes markup or a command. */
#include "record_util.h"

#include "../../loadgen/record/notes.h"
#include "../../loadgen/record/record.h"
#include "../../loadgen/report/report.h"
#include "../../loadgen/report/study_report.h"

static char file[64];

static json_t *load(const char *name)
{
    char path[PATH_MAX];
    struct err err;
    json_t *r;
    snprintf(path, sizeof(path), TEST_DATA "/published/%s", name);
    if (!record_read(path, &r, &err))
        fail_msg("%s", err.text);
    return r;
}

/* Writes the page to `file` and returns its text. */
static char *page(json_t **records, size_t n)
{
    struct err err;
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    assert_true(report_html(out, (const json_t *const *)records, n, &err));
    fclose(out);
    FILE *f = fopen(file, "w");
    assert_int_equal(fwrite(text, 1, len, f), len);
    fclose(f);
    return text;
}

static bool there(const char *program)
{
    char command[128];
    snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", program);
    return system(command) == 0;
}

static void assert_well_formed(void)
{
    char command[256];
    snprintf(command, sizeof(command),
             "/usr/bin/python3 -c 'import sys, xml.dom.minidom as m; "
             "m.parseString(open(sys.argv[1]).read().replace(\"<!DOCTYPE html>\", \"\"))' %s",
             file);
    assert_int_equal(system(command), 0);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
        n++;
    return n;
}

static void test_page(void **state)
{
    (void)state;
    json_t *r[4] = {load("t3-a-none.json"), load("t3-b-none.json"), load("t3-c-none.json"),
                    load("t1-node0-node1.json")};
    json_object_set_new(r[1], "status", json_string("invalid"));
    char *text = page(r, 4);
    assert_well_formed();
    assert_non_null(strstr(text, "B is INVALID"));
    assert_non_null(strstr(text, "85,039,753"));
    assert_null(strstr(text, "<script"));
    assert_null(strstr(text, "href=\"http"));
    assert_null(strstr(text, "src="));
    if (there("gnuplot")) {
        assert_int_equal(count(text, "<svg"), 4);
        assert_non_null(strstr(text, "currentColor"));
        assert_int_equal(count(text, "Not shown"), 0);
    }
    free(text);
    for (size_t i = 0; i < 4; i++)
        json_decref(r[i]);
}

static void test_hostile(void **state)
{
    (void)state;
    json_t *r[1] = {load("t3-b-none.json")};
    json_t *w = json_array_get(json_object_get(r[0], "windows"), 0);
    const char *evil =
        "</td><script>x</script>`touch /tmp/numaload-evil`\" ' \n EOD \n system('x')";
    json_object_set_new(r[0], "label", json_string(evil));
    json_object_set_new(json_object_get(r[0], "profile"), "cpus", json_string(evil));
    note_add(json_object_get(r[0], "notes"), NOTE_INVALID, "host", "%s", evil);
    json_object_set_new(json_at(w, "slab", "counters", NULL), evil, json_pack("{s:i}", "total", 5));
    json_object_set_new(json_at(w, "cpu", "by_node", NULL), evil,
                        json_pack("{s:f}", "idle_percent", 5.0));
    unlink("/tmp/numaload-evil");
    char *text = page(r, 1);
    assert_well_formed();
    assert_null(strstr(text, "<script"));
    assert_int_not_equal(access("/tmp/numaload-evil", F_OK), 0);
    free(text);
    json_decref(r[0]);
}

/* Without gnuplot the tables are still worth a page. */
static void test_no_gnuplot(void **state)
{
    (void)state;
    char *path = strdup(getenv("PATH"));
    json_t *r[1] = {load("t3-b-none.json")};
    setenv("PATH", "/nonexistent", 1);
    char *text = page(r, 1);
    setenv("PATH", path, 1);
    free(path);
    assert_non_null(strstr(text, "gnuplot is not installed"));
    assert_null(strstr(text, "<svg"));
    assert_non_null(strstr(text, "224,762"));
    assert_well_formed();
    free(text);
    json_decref(r[0]);
}

/* The page of a matrix: its four plots, hostile names in it. */
static void matrix_page(bool hostile)
{
    struct err err;
    struct study s;
    json_t *r[8];
    for (size_t i = 0; i < 8; i++) {
        json_t *w;
        char started[32];
        r[i] = load(i % 2 ? "t3-a-none.json" : "t3-b-none.json");
        w = json_array_get(json_object_get(r[i], "windows"), 0);
        snprintf(started, sizeof(started), "2026-09-01T0%zu:00:00Z", i);
        json_object_set_new(r[i], "started_at", json_string(started));
        json_object_set_new(json_object_get(w, "throughput"), "bytes_per_s",
                            json_real(45e9 + 1e8 * (double)(i * 5 % 7)));
        if (hostile && i % 2)
            json_object_set_new(json_object_get(r[i], "profile"), "cpus",
                                json_string("</td><script>`touch /tmp/numaload-evil`\n EOD\n"));
    }
    assert_true(study_make(&s, (const json_t *const *)r, 8, NULL, NULL, NULL, &err));
    FILE *f = fopen(file, "w");
    assert_true(study_html(f, &s, &err));
    fclose(f);
    study_free(&s);
    for (size_t i = 0; i < 8; i++)
        json_decref(r[i]);
}

static void test_matrix_page(void **state)
{
    (void)state;
    static char text[1 << 20];
    unlink("/tmp/numaload-evil");
    for (int hostile = 0; hostile < 2; hostile++) {
        matrix_page(hostile);
        FILE *f = fopen(file, "r");
        text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
        fclose(f);
        assert_well_formed();
        assert_null(strstr(text, "<script"));
        assert_non_null(strstr(text, "Throughput by cell"));
        if (there("gnuplot")) {
            assert_int_equal(count(text, "<svg"), 4);
            assert_int_equal(count(text, "Not shown"), 0);
        }
    }
    assert_int_not_equal(access("/tmp/numaload-evil", F_OK), 0);
}

static int setup(void **state)
{
    (void)state;
    snprintf(file, sizeof(file), "/tmp/numaload-test-%ld.html", (long)getpid());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(file);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_no_gnuplot),
        cmocka_unit_test(test_matrix_page),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
