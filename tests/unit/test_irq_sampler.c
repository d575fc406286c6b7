#include "record_util.h"

#include "../../loadgen/record/proctext.h"

extern const struct sampler_ops irq_sampler;

static void test_header(void **state)
{
    (void)state;
    uint32_t cpus[4];
    const char *line = "           CPU0       CPU2       CPU1023    ";
    assert_int_equal(interrupts_header(line, strlen(line), cpus, 4), 3);
    assert_int_equal(cpus[1], 2);
    assert_int_equal(cpus[2], 1023);
    assert_int_equal(interrupts_header("  CPU0 CPU", 10, cpus, 4), 0);
    assert_int_equal(interrupts_header("  CPU0x", 7, cpus, 4), 0);
    assert_int_equal(interrupts_header(" 24: 1 2", 8, cpus, 4), 0);
    assert_int_equal(interrupts_header("", 0, cpus, 4), 0);
}

static bool row(const char *line, uint64_t *sums, struct irq_text *t)
{
    static const uint16_t slot[3] = {0, 1, 1};
    memset(sums, 0, 3 * sizeof(*sums));
    return interrupts_row(line, strlen(line), slot, 3, 2, sums, t);
}

static void test_row(void **state)
{
    (void)state;
    uint64_t sums[3];
    struct irq_text t;
    assert_true(
        row(" 24:          1          2          4  IO-APIC   5-edge      eth0-rx-1  ", sums, &t));
    assert_int_equal(sums[0], 1);
    assert_int_equal(sums[1], 6);
    assert_int_equal(t.name_len, 2);
    assert_memory_equal(t.text, "IO-APIC   5-edge      eth0-rx-1", t.text_len);

    /* text that begins with digits behind the counts belongs to the text */
    assert_true(row("LOC: 1 2 3 4 timers", sums, &t));
    assert_memory_equal(t.text, "4 timers", t.text_len);
    assert_true(row("ERR:          7", sums, &t));
    assert_int_equal(sums[0], 0);
    assert_int_equal(sums[2], 7);
    assert_false(row("", sums, &t));
    assert_false(row("no colon", sums, &t));
    assert_false(row(": 1 2 3", sums, &t));
    assert_false(row("24: edge", sums, &t));
}

struct fixture {
    struct topo *topo;
    json_t *notes;
    struct sampler *s;
};

static struct fixture fixture(void)
{
    struct fixture f = {.topo = topo_make(2, 1), .notes = json_array()};
    struct sample_ctx ctx = {.topo = f.topo, .edges_max = 4, .notes = f.notes};
    struct err err;
    f.s = irq_sampler.open(&ctx, &err);
    assert_non_null(f.s);
    return f;
}

static void fixture_end(struct fixture *f)
{
    irq_sampler.close(f->s);
    json_decref(f->notes);
    topo_unmake(f->topo);
    tree_remove();
}

static void edge(struct sampler *s, unsigned e, const char *text)
{
    tree_put("/proc/interrupts", "%s", text);
    irq_sampler.read(s, e);
    irq_sampler.settle(s, e);
}

#define HEAD "       CPU0  CPU1\n"

static void test_window(void **state)
{
    (void)state;
    tree_new();
    tree_put("/proc/interrupts", HEAD);
    struct fixture f = fixture();
    edge(f.s, 0,
         HEAD " 24: 10 20 PCI-MSIX  1-edge   mlx5_comp0@pci:0000:01:00.0\n"
              " 25: 5 5 PCI-MSIX  2-edge   mlx5_comp1@pci:0000:01:00.0\n"
              "NMI: 0 0 Non-maskable interrupts\nERR: 1\n");
    edge(f.s, 1,
         HEAD " 20: 3 0 late  one\n"
              " 24: 10 120 PCI-MSIX  1-edge   mlx5_comp0@pci:0000:01:00.0\n"
              " 25: 12 5 PCI-MSIX  2-edge   mlx5_comp1@pci:0000:01:00.0\n"
              "NMI: 0 0 Non-maskable interrupts\nERR: 3\n");
    json_t *w = irq_sampler.window(f.s, 0, 1, f.notes);
    assert_json_int(json_at(w, "total", NULL), 112);
    assert_json_int(json_at(w, "by_node", "0", NULL), 10);
    assert_json_int(json_at(w, "by_node", "1", NULL), 100);
    assert_json_int(json_at(w, "node_unknown", NULL), 2);
    json_t *rows = json_at(w, "rows", NULL);
    assert_int_equal(json_array_size(rows), 4); /* NMI did not move */
    json_t *first = json_array_get(rows, 0);
    assert_string_equal(json_string_value(json_at(first, "irq", NULL)), "24");
    assert_string_equal(json_string_value(json_at(first, "text", NULL)),
                        "PCI-MSIX 1-edge mlx5_comp0@pci:0000:01:00.0");
    assert_json_int(json_at(first, "by_node", "1", NULL), 100);
    assert_int_equal(json_array_size(f.notes), 0);
    json_decref(w);
    fixture_end(&f);
}

static void test_reset_and_wrap(void **state)
{
    (void)state;
    tree_new();
    tree_put("/proc/interrupts", HEAD);
    struct fixture f = fixture();
    edge(f.s, 0, HEAD " 24: 1000 0 a\nLOC: 4294967290 0 timer\n");
    edge(f.s, 1, HEAD " 24: 4 0 a\nLOC: 4 0 timer\n");
    json_t *w = irq_sampler.window(f.s, 0, 1, f.notes);
    json_t *rows = json_at(w, "rows", NULL);
    assert_true(json_is_null(json_at(json_array_get(rows, 0), "total", NULL)));
    assert_json_int(json_at(json_array_get(rows, 1), "total", NULL), 10);
    assert_json_int(json_at(w, "total", NULL), 10);
    assert_true(has_note(f.notes, "warning", "interrupt 24 counted backwards"));
    json_decref(w);
    fixture_end(&f);
}

static void test_header_changed(void **state)
{
    (void)state;
    tree_new();
    tree_put("/proc/interrupts", HEAD);
    struct fixture f = fixture();
    edge(f.s, 0, HEAD " 24: 1000 0 a\n");
    edge(f.s, 1, " CPU0 CPU2\n 24: 1000 0 a\n");
    edge(f.s, 2, "garbage");
    json_t *w = irq_sampler.window(f.s, 0, 1, f.notes);
    assert_true(json_is_false(json_at(w, "available", NULL)));
    assert_true(has_note(f.notes, "invalid", "columns"));
    json_decref(w);
    w = irq_sampler.window(f.s, 1, 2, f.notes);
    assert_true(json_is_false(json_at(w, "available", NULL)));
    json_decref(w);
    fixture_end(&f);
}

/* 1152 CPUs and 2000 rows: 25 MB of text. */
static void test_big_machine(void **state)
{
    (void)state;
    tree_new();
    char path[128];
    struct topo *topo = topo_make(8, 144);
    for (int e = 0; e < 2; e++) {
        snprintf(path, sizeof(path), "%s/proc", tree_root);
        mkdir(path, 0777);
        snprintf(path, sizeof(path), "%s/proc/interrupts.%d", tree_root, e);
        FILE *out = fopen(path, "w");
        for (int cpu = 0; cpu < 1152; cpu++)
            fprintf(out, " CPU%-8d", cpu);
        fprintf(out, "\n");
        for (int r = 0; r < 2000; r++) {
            fprintf(out, "%5d:", r);
            for (int cpu = 0; cpu < 1152; cpu++)
                fprintf(out, " %10d", cpu == r % 1152 ? 100 + e : 0);
            fprintf(out, "  IR-PCI-MSIX-0000:41:00.0 %d-edge nvme0q%d\n", r, r);
        }
        fclose(out);
    }
    char link[128];
    snprintf(path, sizeof(path), "%s/proc/interrupts", tree_root);
    tree_link("/proc/interrupts", "interrupts.0");
    json_t *notes = json_array();
    struct sample_ctx ctx = {.topo = topo, .edges_max = 2, .notes = notes};
    struct err err;
    struct sampler *s = irq_sampler.open(&ctx, &err);
    for (unsigned e = 0; e < 2; e++) {
        unlink(path);
        snprintf(link, sizeof(link), "interrupts.%u", e);
        tree_link("/proc/interrupts", link);
        irq_sampler.read(s, e);
        irq_sampler.settle(s, e);
    }
    json_t *w = irq_sampler.window(s, 0, 1, notes);
    assert_json_int(json_at(w, "total", NULL), 2000);
    assert_json_int(json_at(w, "by_node", "0", NULL), 144 * 2);
    assert_int_equal(json_array_size(json_at(w, "rows", NULL)), 2000);
    json_decref(w);
    irq_sampler.close(s);
    json_decref(notes);
    topo_unmake(topo);
    tree_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header),         cmocka_unit_test(test_row),
        cmocka_unit_test(test_window),         cmocka_unit_test(test_reset_and_wrap),
        cmocka_unit_test(test_header_changed), cmocka_unit_test(test_big_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
