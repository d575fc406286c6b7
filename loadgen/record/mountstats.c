#include "mountstats.h"

#include "proctext.h"

#include <stdio.h>
#include <string.h>

struct span {
    const char *p, *end;
};

static struct span next_line(const char **p, const char *end)
{
    const char *newline = memchr(*p, '\n', (size_t)(end - *p));
    struct span line = {*p, newline ? newline : end};
    *p = newline ? newline + 1 : end;
    return line;
}

static struct span next_word(struct span *line)
{
    text_skip_blanks(&line->p, line->end);
    struct span word = {line->p, line->p};
    while (word.end < line->end && *word.end != ' ' && *word.end != '\t')
        word.end++;
    line->p = word.end;
    return word;
}

static bool is(struct span word, const char *text)
{
    return (size_t)(word.end - word.p) == strlen(text) && memcmp(word.p, text, strlen(text)) == 0;
}

/* Copies a word; "\040" is a space, as the kernel writes it. */
static void copy(char *buf, size_t cap, struct span word)
{
    size_t n = 0;
    for (const char *p = word.p; p < word.end && n + 1 < cap; n++) {
        bool octal = *p == '\\' && word.end - p >= 4;
        for (int i = 1; octal && i <= 3; i++)
            octal = p[i] >= '0' && p[i] <= '7';
        buf[n] = octal ? (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + p[3] - '0') : *p;
        p += octal ? 4 : 1;
    }
    buf[n] = '\0';
}

/* "device D mounted on M with fstype T ...", also "no device mounted on ...". */
static bool mount_line(struct span line, struct mount_stats *m)
{
    struct span word = next_word(&line), device = {line.p, line.p};
    if (is(word, "no"))
        next_word(&line);
    else if (is(word, "device"))
        device = next_word(&line);
    else
        return false;
    if (!is(next_word(&line), "mounted") || !is(next_word(&line), "on"))
        return false;
    struct span point = next_word(&line);
    if (!is(next_word(&line), "with") || !is(next_word(&line), "fstype"))
        return false;
    struct span type = next_word(&line);
    *m = (struct mount_stats){0};
    copy(m->device, sizeof(m->device), device);
    copy(m->mountpoint, sizeof(m->mountpoint), point);
    copy(m->fstype, sizeof(m->fstype), type);
    m->nfs = is(type, "nfs") || is(type, "nfs4");
    return point.end > point.p;
}

/* True when `path` is at or below the mount point. */
static bool leads_to(const char *mountpoint, const char *path)
{
    size_t len = strlen(mountpoint);
    if (len && mountpoint[len - 1] == '/')
        len--;
    return strncmp(mountpoint, path, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static size_t numbers(struct span *line, uint64_t *values, size_t max)
{
    size_t n = 0;
    for (; n < max; n++) {
        text_skip_blanks(&line->p, line->end);
        if (!text_number(&line->p, line->end, UINT64_MAX, &values[n]))
            break;
    }
    return n;
}

static void op_line(struct span line, struct mount_op *op)
{
    uint64_t v[9] = {0};
    if (numbers(&line, v, 9) < 8)
        return;
    *op = (struct mount_op){.operations = v[0],
                            .transmissions = v[1],
                            .timeouts = v[2],
                            .bytes_sent = v[3],
                            .bytes_received = v[4],
                            .queue_ms = v[5],
                            .rtt_ms = v[6],
                            .execute_ms = v[7],
                            .errors = v[8]};
}

/* The fields begin with port, bind count, connect count, connect time, idle time, sends, receives,
 * bad xids; local has no port, udp has neither connects nor times. */
static void xprt_line(struct span line, struct mount_stats *m)
{
    struct mount_xprt x = {0};
    uint64_t v[8] = {0};
    struct span protocol = next_word(&line);
    copy(x.protocol, sizeof(x.protocol), protocol);
    size_t n = numbers(&line, v, 8);
    if (is(protocol, "tcp") || is(protocol, "rdma")) {
        x = (struct mount_xprt){
            .counted = n >= 8, .connects = v[2], .sends = v[5], .receives = v[6], .bad_xids = v[7]};
    } else if (is(protocol, "local")) {
        x = (struct mount_xprt){
            .counted = n >= 7, .connects = v[1], .sends = v[4], .receives = v[5], .bad_xids = v[6]};
    } else if (is(protocol, "udp")) {
        x = (struct mount_xprt){
            .counted = n >= 5, .sends = v[2], .receives = v[3], .bad_xids = v[4]};
    }
    copy(x.protocol, sizeof(x.protocol), protocol);
    if (m->xprts_n < MOUNT_XPRTS_MAX)
        m->xprts[m->xprts_n] = x;
    m->xprts_n++;
}

/* One line of the block below a mount. */
static void detail_line(struct span line, struct mount_stats *m)
{
    struct span word = next_word(&line);
    uint64_t v[6] = {0};
    if (is(word, "opts:"))
        copy(m->options, sizeof(m->options), next_word(&line));
    else if (is(word, "age:") && numbers(&line, v, 1) == 1)
        m->age_s = v[0];
    else if (is(word, "bytes:") && numbers(&line, v, 6) == 6) {
        m->direct_read_bytes = v[2];
        m->server_read_bytes = v[4];
    } else if (is(word, "xprt:"))
        xprt_line(line, m);
    else if (is(word, "READ:"))
        op_line(line, &m->read);
    else if (is(word, "WRITE:"))
        op_line(line, &m->write);
}

bool mountstats_find(const char *text, size_t len, const char *path, struct mount_stats *out)
{
    const char *p = text, *end = text + len, *best = NULL;
    struct mount_stats m;
    size_t best_len = 0;
    while (p < end) {
        const char *start = p;
        struct span line = next_line(&p, end);
        if (!mount_line(line, &m) || !leads_to(m.mountpoint, path))
            continue;
        if (!best || strlen(m.mountpoint) >= best_len) {
            best = start;
            best_len = strlen(m.mountpoint);
        }
    }
    if (!best)
        return false;
    p = best;
    mount_line(next_line(&p, end), out);
    while (p < end) {
        struct span line = next_line(&p, end);
        if (mount_line(line, &m))
            break;
        detail_line(line, out);
    }
    return true;
}

bool mount_option(const char *options, const char *key, char *buf, size_t cap)
{
    size_t len = strlen(key);
    for (const char *p = options; *p;) {
        size_t n = strcspn(p, ",");
        if (n > len && strncmp(p, key, len) == 0 && p[len] == '=') {
            snprintf(buf, cap, "%.*s", (int)(n - len - 1), p + len + 1);
            return true;
        }
        p += n + (p[n] == ',');
    }
    return false;
}
