/* Markdown, CSV, JSON, and the subcommand that chooses. */
#include "record_util.h"

#include "../../loadgen/cmd.h"
#include "../../loadgen/record/notes.h"
#include "../../loadgen/record/record.h"
#include "../../loadgen/report/report.h"

#include <fcntl.h>

typedef bool (*report_fn)(FILE *out, const json_t *const *records, size_t n, struct err *err);

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

static char *make(report_fn report, json_t **records, size_t n)
{
    char *text;
    size_t len;
    struct err err;
    FILE *out = open_memstream(&text, &len);
    assert_true(report(out, (const json_t *const *)records, n, &err));
    fclose(out);
    return text;
}

static void assert_says(const char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("\"%s\" is not in:\n%s", what, text);
}

static void test_markdown(void **state)
{
    (void)state;
    json_t *r[2] = {load("t3-a-none.json"), load("t1-node0-node1.json")};
    json_object_set_new(r[0], "label", json_string("a|b <img src=x> `c`"));
    json_object_set_new(r[1], "status", json_string("invalid"));
    note_add(json_object_get(r[1], "notes"), NOTE_INVALID, "cpus", "worker 3 left its node");
    char *text = make(report_markdown, r, 2);
    assert_says(text, "a\\|b \\<img src=x\\> \\`c\\`");
    assert_says(text, "- B is INVALID\n- B: cpus: worker 3 left its node");
    assert_says(text, "| 42.00 (42.00-44.00) |");
    assert_says(text, "| free\\_slowpath | 85,039,753 |  |");
    assert_says(text, "An empty cell is unavailable: not published.");
    /* every row of a table has as many cells as its head */
    for (char *line = text; *line;) {
        size_t len = strcspn(line, "\n"), bars = 0;
        for (size_t i = 0; i < len; i++)
            bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
        assert_true(bars == 0 || bars == 9 || bars == 4);
        line += len + (line[len] == '\n');
    }
    free(text);
    json_decref(r[0]);
    json_decref(r[1]);
}

/* Number of cells of one CSV line, quotes understood; *line moves behind it. */
static size_t csv_cells(char **line)
{
    size_t cells = 1;
    bool quoted = false;
    char *p = *line;
    for (; *p && (quoted || *p != '\n'); p++) {
        if (*p == '"')
            quoted = !quoted;
        cells += !quoted && *p == ',';
    }
    *line = *p ? p + 1 : p;
    return cells;
}

static void test_csv(void **state)
{
    (void)state;
    json_t *r[3] = {load("t3-a-none.json"), load("t1-node0-node1.json"),
                    load("t2-node0-node0.json")};
    json_object_set_new(r[0], "label", json_string("=HYPERLINK(\"x\"), 1\n2"));
    char *text = make(report_csv, r, 3), *p = text;
    assert_says(text, "\"'=HYPERLINK(\"\"x\"\"), 1\n2\",");
    assert_says(text, ",slab.counters.free_slowpath.total,");
    assert_says(text, ",85039753,");
    size_t cells = csv_cells(&p), lines = 1;
    for (; *p; lines++)
        assert_int_equal(csv_cells(&p), cells);
    assert_int_equal(lines, 1 + 1 + 2 + 1); /* T1 has two windows */
    free(text);
    for (size_t i = 0; i < 3; i++)
        json_decref(r[i]);
}

static void test_json(void **state)
{
    (void)state;
    json_t *r[2] = {load("t3-b-none.json"), load("t1-node0-node1.json")};
    char *text = make(report_json, r, 2);
    json_t *report = json_loads(text, 0, NULL);
    assert_non_null(report);
    json_t *runs = json_object_get(report, "runs");
    assert_int_equal(json_array_size(runs), 2);
    assert_json_int(json_at(json_array_get(runs, 0), "counters", "free_slowpath", NULL), 2814);
    assert_json_near(json_at(json_array_get(runs, 0), "derived", "remote_free_share", NULL), 2.3e-5,
                     1e-6);
    assert_json_near(json_at(json_array_get(runs, 1), "highest_bytes_per_s", NULL), 44e9, 1);
    json_decref(report);
    free(text);
    json_decref(r[0]);
    json_decref(r[1]);
}

static char dir[64];

/* Runs the subcommand with stdout and stderr in files; returns its exit status. */
static int report(char *out, size_t cap, const char *a, const char *b, const char *c)
{
    char name[16] = "report", arg[3][PATH_MAX], path[96];
    const char *given[] = {a, b, c};
    char *argv[5] = {name};
    int argc = 1;
    for (int i = 0; i < 3 && given[i]; i++) {
        snprintf(arg[i], sizeof(arg[i]), "%s", given[i]);
        argv[argc++] = arg[i];
    }
    fflush(stdout);
    fflush(stderr);
    int keep_out = dup(1), keep_err = dup(2);
    snprintf(path, sizeof(path), "%s/output", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(fd, 1);
    dup2(fd, 2);
    int status = cmd_report(argc, argv);
    fflush(stdout);
    fflush(stderr);
    dup2(keep_out, 1);
    dup2(keep_err, 2);
    ssize_t n = pread(fd, out, cap - 1, 0);
    out[n > 0 ? n : 0] = '\0';
    close(fd);
    close(keep_out);
    close(keep_err);
    return status;
}

static void put(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
}

static void test_command(void **state)
{
    (void)state;
    static char out[200000];
    snprintf(dir, sizeof(dir), "/tmp/numaload-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    const char *one = TEST_DATA "/published/t3-b-none.json";

    assert_int_equal(report(out, sizeof(out), one, NULL, NULL), 0);
    assert_says(out, "224,795 against 224,762 failed barn puts");
    assert_int_equal(report(out, sizeof(out), TEST_DATA "/published", NULL, NULL), 0);
    assert_says(out, "numaload: 15 runs");
    assert_int_equal(report(out, sizeof(out), "--format=markdown", one, one), 0);
    assert_says(out, "# numaload: 2 runs");
    assert_int_equal(report(out, sizeof(out), "--format", "csv", one), 0);
    assert_says(out, "left_out,cell,label,started_at");
    assert_int_equal(report(out, sizeof(out), "--help", NULL, NULL), 0);
    assert_says(out, "usage: numaload report");

    assert_int_equal(report(out, sizeof(out), NULL, NULL, NULL), STATUS_USAGE);
    assert_int_equal(report(out, sizeof(out), one, "--bogus", NULL), STATUS_USAGE);
    assert_says(out, "unknown option '--bogus'");
    assert_int_equal(report(out, sizeof(out), one, "--format", "pdf"), STATUS_USAGE);
    assert_says(out, "text, markdown, csv, json");
    assert_int_equal(report(out, sizeof(out), one, "--format", NULL), STATUS_USAGE);
    assert_int_equal(report(out, sizeof(out), "/no/such/record", NULL, NULL), STATUS_FAILED);
    assert_says(out, "No such file");

    assert_int_equal(report(out, sizeof(out), dir, NULL, NULL), STATUS_FAILED);
    assert_says(out, "holds no records");
    put("plan.json", "{}");
    assert_int_equal(report(out, sizeof(out), dir, NULL, NULL), STATUS_FAILED);
    assert_says(out, "holds no records");
    assert_says(out, "is not a plan that this program reads: schema missing");
    put("notes.json", "{}");
    assert_int_equal(report(out, sizeof(out), dir, NULL, NULL), STATUS_FAILED);
    assert_says(out, "none of the files is a record");
    put("cut.json", "{\"schema\": \"numaload-rec");
    put("old.json", "{\"schema\": \"numaload-record\", \"schema_version\": 7}");
    put("good.json", "{\"schema\": \"numaload-record\", \"schema_version\": 1}");
    assert_int_equal(report(out, sizeof(out), dir, one, NULL), 0);
    assert_says(out, "left out: \"");
    assert_says(out, "cut.json\" is not JSON");
    assert_says(out, "schema version 7");
    assert_says(out, "numaload: 2 runs");

    /* many: several readers, the order of the folder */
    for (int i = 0; i < 100; i++) {
        char name[32], text[128];
        snprintf(name, sizeof(name), "run-%d.json", i);
        snprintf(text, sizeof(text),
                 "{\"schema\": \"numaload-record\", \"schema_version\": 1, \"label\": \"n%d\"}", i);
        put(name, text);
    }
    assert_int_equal(report(out, sizeof(out), "--format=json", dir, NULL), 0);
    json_t *all = json_loads(strchr(out, '{'), JSON_DISABLE_EOF_CHECK, NULL);
    json_t *runs = json_object_get(all, "runs");
    assert_int_equal(json_array_size(runs), 101);
    for (size_t i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%zu", i);
        assert_string_equal(
            json_string_value(json_object_get(json_array_get(runs, i + 1), "label")), name);
    }
    json_decref(all);

    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_markdown),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
