/* Sums over the threads of a process: loadgen/record/taskstats.h. Answers are laid out as
 * include/uapi/linux/taskstats.h and netlink(7) say. */
#include "check.h"

#include "../../loadgen/record/taskstats.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static union {
    struct nlmsghdr header;
    char bytes[1024];
} answer;

static size_t put_attribute(size_t at, uint16_t type, const void *value, size_t n)
{
    struct nlattr a = {.nla_len = (uint16_t)(sizeof(a) + n), .nla_type = type};
    memcpy(answer.bytes + at, &a, sizeof(a));
    if (n > 0)
        memcpy(answer.bytes + at + sizeof(a), value, n);
    return at + NLA_ALIGN(a.nla_len);
}

static size_t end_answer(uint16_t type, uint32_t sequence, size_t n)
{
    answer.header =
        (struct nlmsghdr){.nlmsg_len = (uint32_t)n, .nlmsg_type = type, .nlmsg_seq = sequence};
    return n;
}

/* As the kernel answers: a number, padding to 8 bytes, the sums. */
static size_t put_stats(const struct taskstats *stats, size_t stats_n)
{
    char inner[600];
    const uint32_t process = 77;
    memset(&answer, 0, sizeof(answer));
    size_t n = put_attribute(NLMSG_LENGTH(GENL_HDRLEN), TASKSTATS_TYPE_TGID, &process, 4);
    n = put_attribute(n, TASKSTATS_TYPE_NULL, NULL, 0);
    n = put_attribute(n, TASKSTATS_TYPE_STATS, stats, stats_n);
    n -= NLMSG_LENGTH(GENL_HDRLEN);
    memcpy(inner, answer.bytes + NLMSG_LENGTH(GENL_HDRLEN), n);
    n = put_attribute(NLMSG_LENGTH(GENL_HDRLEN), TASKSTATS_TYPE_AGGR_TGID, inner, n);
    return end_answer(31, 5, n);
}

static void test_family(void **state)
{
    (void)state;
    const uint16_t family = 31;
    memset(&answer, 0, sizeof(answer));
    size_t n = put_attribute(NLMSG_LENGTH(GENL_HDRLEN), CTRL_ATTR_FAMILY_NAME, "TASKSTATS", 10);
    size_t short_n = n;
    n = end_answer(GENL_ID_CTRL, 1, put_attribute(n, CTRL_ATTR_FAMILY_ID, &family, 2));
    assert_int_equal(taskstats_family(answer.bytes, n), 31);
    assert_int_equal(taskstats_family(answer.bytes, n - 1), 0); /* longer than what came */
    end_answer(GENL_ID_CTRL, 1, short_n);
    assert_int_equal(taskstats_family(answer.bytes, short_n), 0);
    end_answer(NLMSG_ERROR, 1, n);
    assert_int_equal(taskstats_family(answer.bytes, n), 0);
    assert_int_equal(taskstats_family(answer.bytes, 0), 0);
}

static void test_parse(void **state)
{
    (void)state;
    const struct taskstats stats = {
        .version = 16, .cpu_count = 9, .cpu_delay_total = 300, .cpu_run_virtual_total = 7000};
    struct taskstats_sums sums;
    size_t n = put_stats(&stats, sizeof(stats));
    assert_true(taskstats_parse(answer.bytes, n, 5, &sums));
    assert_int_equal(sums.run_ns, 7000);
    assert_int_equal(sums.wait_ns, 300);
    assert_false(taskstats_parse(answer.bytes, n, 6, &sums)); /* of an earlier question */
    for (size_t cut = 0; cut < n; cut++)
        assert_false(taskstats_parse(answer.bytes, cut, 5, &sums));

    /* an older kernel's struct ends earlier */
    n = put_stats(&stats, offsetof(struct taskstats, cpu_run_virtual_total) + 8);
    assert_true(taskstats_parse(answer.bytes, n, 5, &sums));
    n = put_stats(&stats, offsetof(struct taskstats, cpu_run_virtual_total));
    assert_false(taskstats_parse(answer.bytes, n, 5, &sums));

    /* without delay accounting the kernel says 0 */
    const struct taskstats nothing = {.version = 16};
    n = put_stats(&nothing, sizeof(nothing));
    assert_false(taskstats_parse(answer.bytes, n, 5, &sums));
}

static void test_closed(void **state)
{
    (void)state;
    struct taskstats_link link = {0};
    struct taskstats_sums sums;
    assert_false(taskstats_read(&link, &sums));
    taskstats_close(&link);
}

static void *spin(void *stop)
{
    while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
        ;
    return NULL;
}

/* The same as the files of all threads say: read before and after, they enclose it. */
static struct taskstats_sums of_files(void)
{
    struct taskstats_sums sums = {0};
    char command[128], line[128];
    snprintf(command, sizeof(command), "cat /proc/%d/task/*/schedstat", (int)getpid());
    FILE *f = popen(command, "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        unsigned long long run, wait;
        assert_int_equal(sscanf(line, "%llu %llu", &run, &wait), 2);
        sums.run_ns += run;
        sums.wait_ns += wait;
    }
    pclose(f);
    return sums;
}

static void test_live(void **state)
{
    (void)state;
    struct taskstats_link link;
    struct taskstats_sums sums, later;
    if (!taskstats_open(&link))
        skip();
    bool stop = false;
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, spin, &stop), 0);
    usleep(100000);
    struct taskstats_sums before = of_files();
    assert_true(taskstats_read(&link, &sums));
    struct taskstats_sums after = of_files();
    assert_true(before.run_ns <= sums.run_ns && sums.run_ns <= after.run_ns);
    assert_true(before.wait_ns <= sums.wait_ns && sums.wait_ns <= after.wait_ns);
    assert_true(sums.run_ns > 50000000);

    /* what ended threads had is not taken back */
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_true(taskstats_read(&link, &later));
    assert_true(later.run_ns >= sums.run_ns && later.wait_ns >= sums.wait_ns);
    taskstats_close(&link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_family),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_closed),
        cmocka_unit_test(test_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
