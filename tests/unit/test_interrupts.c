#include "check.h"

#include "../../placement/interrupts.h"

static void rows_follow_the_header(void **state)
{
    (void)state;
    struct interrupts in;
    struct err err = {0};
    /* CPU 2 is offline: the third column is CPU 3. */
    const char *text = "           CPU0       CPU1       CPU3       \n"
                       "  9:          1          2          3   IO-APIC   9-fasteoi   acpi\n"
                       " 24:         10          0 4294967296  PCI-MSIX-0000:00:04.0   1-edge      "
                       "virtio1-input.0\n"
                       " 30:          0          0          0  dummy\n"
                       "NMI:          7          8          9   Non-maskable interrupts\n"
                       "ERR:          5\n"
                       "MIS:          0\n";
    if (!interrupts_parse(&in, text, &err))
        fail_msg("%s", err.text);
    assert_int_equal(in.cpus_n, 3);
    assert_int_equal(in.cpus[2], 3);
    assert_int_equal(in.rows_n, 6);
    const struct interrupts_row *row = interrupts_find(&in, 24);
    assert_non_null(row);
    assert_string_equal(row->action, "virtio1-input.0");
    assert_true(row->counts[2] == 4294967296);
    assert_string_equal(interrupts_find(&in, 9)->action, "acpi");
    assert_null(interrupts_find(&in, 2));
    assert_int_equal(in.rows[3].irq, -1);
    assert_string_equal(in.rows[3].label, "NMI");
    assert_int_equal(in.rows[4].counts[0], 5);
    assert_int_equal(in.rows[4].counts[1], 0);
    interrupts_free(&in);
}

static void shared_lines_keep_all_names(void **state)
{
    (void)state;
    struct interrupts in;
    assert_true(
        interrupts_parse(&in, "     CPU0\n 11:   8  IO-APIC   11-fasteoi      eth7, usb1\n", NULL));
    assert_string_equal(in.rows[0].action, "eth7, usb1");
    interrupts_free(&in);
    /* No handler: the text ends with the trigger. */
    assert_true(interrupts_parse(&in, "     CPU0\n 11:   8  IO-APIC   11-fasteoi   \n", NULL));
    assert_string_equal(in.rows[0].action, "11-fasteoi");
    interrupts_free(&in);
}

static void long_rows(void **state)
{
    (void)state;
    const unsigned cpus = 1152;
    size_t cap = 64 * 1024, at = 0;
    char *text = malloc(cap);
    for (unsigned c = 0; c < cpus; c++)
        at += (size_t)snprintf(text + at, cap - at, "       CPU%u", c);
    at += (size_t)snprintf(text + at, cap - at, "\n 500:");
    for (unsigned c = 0; c < cpus; c++)
        at += (size_t)snprintf(text + at, cap - at, " %10u", c);
    snprintf(text + at, cap - at, "  PCI-MSIX-0000:81:00.0   9-edge      mlx5_comp9@pci:0\n");
    struct interrupts in;
    assert_true(interrupts_parse(&in, text, NULL));
    assert_int_equal(in.cpus_n, cpus);
    assert_int_equal(interrupts_find(&in, 500)->counts[1151], 1151);
    interrupts_free(&in);
    free(text);
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "names no CPU"},
        {"\n", "names no CPU"},
        {"hello\n", "a header of CPU0"},
        {"CPU\n", "a header of CPU0"},
        {"CPU0 CPUx\n", "a header of CPU0"},
        {"CPU1 CPU0\n", "not in order"},
        {"CPU1 CPU1\n", "not in order"},
        {"CPU65536\n", "a header of CPU0"},
        {"CPU0\n24 1 edge\n", "a label with a colon"},
        {"CPU0\n: 1\n", "a label with a colon"},
        {"CPU0 CPU1\n24: 1\n", "fewer counts"},
        {"CPU0 CPU1\n24: 1 PCI-MSI x\n", "fewer counts"},
        {"CPU0\n24: 1x PCI-MSI x\n", "not a number"},
        {"CPU0\n24: 99999999999999999999 PCI-MSI x\n", "not a number"},
        {"CPU0\n99999999999: 1 PCI-MSI x\n", "the interrupt number"},
        {"CPU0\n24a: 1 PCI-MSI x\n", "the interrupt number"},
        {"CPU0\n2 4: 1 PCI-MSI x\n", "neither a number nor a name"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct interrupts in;
        struct err err = {0};
        if (interrupts_parse(&in, bad[i].text, &err))
            fail_msg("'%s' was taken", bad[i].text);
        assert_contains(err.text, bad[i].why);
        assert_contains(err.text, "/proc/interrupts, line ");
        interrupts_free(&in);
    }
}

static void columns_are_compared(void **state)
{
    (void)state;
    struct interrupts a, b;
    assert_true(interrupts_parse(&a, "CPU0 CPU1\n", NULL));
    assert_true(interrupts_parse(&b, "CPU0 CPU2\n", NULL));
    assert_true(interrupts_same_cpus(&a, &a));
    assert_false(interrupts_same_cpus(&a, &b));
    interrupts_free(&a);
    interrupts_free(&b);
}

static void this_machine(void **state)
{
    (void)state;
    struct interrupts in;
    struct err err = {0};
    sysroot_set(NULL);
    if (!interrupts_read(&in, &err))
        fail_msg("%s", err.text);
    assert_int_equal(in.cpus_n, sysconf(_SC_NPROCESSORS_ONLN));
    interrupts_free(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_follow_the_header),
        cmocka_unit_test(shared_lines_keep_all_names),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(refusals),
        cmocka_unit_test(columns_are_compared),
        cmocka_unit_test(this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
