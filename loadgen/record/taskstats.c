#include "taskstats.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdalign.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct request {
    struct nlmsghdr header;
    struct genlmsghdr command;
    struct nlattr attribute;
    char value[sizeof(TASKSTATS_GENL_NAME)];
};

#define ANSWER_BYTES 4096

void taskstats_close(struct taskstats_link *t)
{
    if (t->fd_plus_1)
        close(t->fd_plus_1 - 1);
    *t = (struct taskstats_link){0};
}

/* ---- messages ---- */

static const char *attribute(const char *at, size_t n, uint16_t type, size_t *bytes)
{
    struct nlattr a;
    while (n >= sizeof(a)) {
        memcpy(&a, at, sizeof(a));
        if (a.nla_len < sizeof(a) || a.nla_len > n)
            return NULL;
        if ((a.nla_type & NLA_TYPE_MASK) == type) {
            *bytes = a.nla_len - sizeof(a);
            return at + sizeof(a);
        }
        const size_t step = NLA_ALIGN(a.nla_len);
        if (step >= n)
            return NULL;
        at += step;
        n -= step;
    }
    return NULL;
}

/* The attributes of an answer. */
static const char *body(const void *message, size_t n, size_t *bytes)
{
    const struct nlmsghdr *h = message;
    if (n < NLMSG_LENGTH(GENL_HDRLEN) || h->nlmsg_len < NLMSG_LENGTH(GENL_HDRLEN) ||
        h->nlmsg_len > n || h->nlmsg_type < NLMSG_MIN_TYPE)
        return NULL;
    *bytes = h->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);
    return (const char *)message + NLMSG_LENGTH(GENL_HDRLEN);
}

uint16_t taskstats_family(const void *message, size_t n)
{
    size_t bytes;
    uint16_t family = 0;
    const char *at = body(message, n, &bytes);
    at = at ? attribute(at, bytes, CTRL_ATTR_FAMILY_ID, &bytes) : NULL;
    if (at && bytes >= sizeof(family))
        memcpy(&family, at, sizeof(family));
    return family;
}

/* Fields were only ever added at the end of struct taskstats. */
static bool field(const char *stats, size_t bytes, size_t offset, uint64_t *value)
{
    if (bytes < offset + sizeof(*value))
        return false;
    memcpy(value, stats + offset, sizeof(*value));
    return true;
}

bool taskstats_parse(const void *message, size_t n, uint32_t sequence, struct taskstats_sums *out)
{
    size_t bytes;
    uint64_t turns;
    const char *at = body(message, n, &bytes);
    if (!at || ((const struct nlmsghdr *)message)->nlmsg_seq != sequence)
        return false;
    at = attribute(at, bytes, TASKSTATS_TYPE_AGGR_TGID, &bytes);
    at = at ? attribute(at, bytes, TASKSTATS_TYPE_STATS, &bytes) : NULL;
    return at &&
           field(at, bytes, offsetof(struct taskstats, cpu_run_virtual_total), &out->run_ns) &&
           field(at, bytes, offsetof(struct taskstats, cpu_delay_total), &out->wait_ns) &&
           field(at, bytes, offsetof(struct taskstats, cpu_count), &turns) && turns > 0;
}

/* ---- the link ---- */

/* The kernel answers within send(): where nothing is there after it, nothing will be. */
static size_t ask(struct taskstats_link *t, uint16_t type, uint8_t command, uint16_t attribute_type,
                  const void *value, size_t bytes, void *answer)
{
    struct request q = {
        .header = {.nlmsg_type = type,
                   .nlmsg_flags = NLM_F_REQUEST,
                   .nlmsg_seq = ++t->sequence,
                   .nlmsg_len =
                       (uint32_t)(NLMSG_LENGTH(GENL_HDRLEN) + NLA_ALIGN(NLA_HDRLEN + bytes))},
        .command = {.cmd = command, .version = 1},
        .attribute = {.nla_type = attribute_type, .nla_len = (uint16_t)(NLA_HDRLEN + bytes)},
    };
    memcpy(q.value, value, bytes);
    const int fd = t->fd_plus_1 - 1;
    if (send(fd, &q, q.header.nlmsg_len, 0) < 0)
        return 0;
    ssize_t n = recv(fd, answer, ANSWER_BYTES, MSG_DONTWAIT);
    return n > 0 ? (size_t)n : 0;
}

bool taskstats_read(struct taskstats_link *t, struct taskstats_sums *out)
{
    alignas(max_align_t) char answer[ANSWER_BYTES];
    const uint32_t process = (uint32_t)getpid();
    if (!t->fd_plus_1)
        return false;
    size_t n = ask(t, t->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_TGID, &process,
                   sizeof(process), answer);
    if (taskstats_parse(answer, n, t->sequence, out))
        return true;
    taskstats_close(t);
    return false;
}

bool taskstats_open(struct taskstats_link *t)
{
    alignas(max_align_t) char answer[ANSWER_BYTES];
    struct taskstats_sums sums;
    *t = (struct taskstats_link){0};
    t->fd_plus_1 = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC) + 1;
    if (!t->fd_plus_1)
        return false;
    size_t n = ask(t, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME,
                   sizeof(TASKSTATS_GENL_NAME), answer);
    t->family = taskstats_family(answer, n);
    if (t->family)
        return taskstats_read(t, &sums);
    taskstats_close(t);
    return false;
}
