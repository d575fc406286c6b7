#define _GNU_SOURCE
#include "proctext.h"

#include <string.h>

bool text_number(const char **p, const char *end, uint64_t max, uint64_t *value)
{
    const char *q = *p;
    uint64_t v = 0;
    for (; q < end && *q >= '0' && *q <= '9'; q++) {
        uint64_t digit = (uint64_t)(*q - '0');
        if (digit > max || v > (max - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    if (q == *p)
        return false;
    *p = q;
    *value = v;
    return true;
}

void text_skip_blanks(const char **p, const char *end)
{
    while (*p < end && (**p == ' ' || **p == '\t'))
        (*p)++;
}

bool text_value(const char *text, size_t len, const char *key, uint64_t *value)
{
    const char *p = text, *end = text + len;
    size_t key_len = strlen(key);
    while (p < end) {
        /* p is at the beginning of a word */
        const char *word = p;
        while (p < end && *p != ' ' && *p != '\t' && *p != '\n' && *p != ':')
            p++;
        bool found = (size_t)(p - word) == key_len && memcmp(word, key, key_len) == 0;
        if (p < end && *p == ':')
            p++;
        text_skip_blanks(&p, end);
        if (found)
            return text_number(&p, end, UINT64_MAX / 1024, value);
        while (p < end && *p == '\n')
            p++;
    }
    return false;
}

/* The numbers behind "cpuN": four in the oldest kernels, ten today. */
static bool cpu_line(const char *p, const char *end, struct cpu_times *t)
{
    *t = (struct cpu_times){.present = true};
    int n = 0;
    for (; n < CPU_FIELDS; n++) {
        text_skip_blanks(&p, end);
        if (p == end)
            break;
        if (!text_number(&p, end, UINT64_MAX / 4096, &t->ticks[n]))
            return false;
    }
    return n >= 4;
}

bool procstat_parse(const char *text, size_t len, struct cpu_times *cpus, unsigned cpus_n,
                    unsigned *beyond)
{
    const char *p = text, *end = text + len;
    bool any = false;
    *beyond = 0;
    if (cpus_n)
        memset(cpus, 0, cpus_n * sizeof(*cpus));
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        if (!newline)
            break;
        const char *q = p + 3;
        uint64_t cpu;
        bool ours = newline - p > 4 && memcmp(p, "cpu", 3) == 0;
        if (ours && text_number(&q, newline, UINT32_MAX, &cpu)) {
            struct cpu_times t;
            if (!cpu_line(q, newline, &t))
                return false;
            any = true;
            if (cpu < cpus_n)
                cpus[cpu] = t;
            else
                (*beyond)++;
        } else if (!ours) {
            break; /* the CPUs come first; "intr" and the rest may be very long */
        }
        p = newline + 1;
    }
    return any;
}

size_t interrupts_header(const char *line, size_t len, uint32_t *cpus, size_t max)
{
    const char *p = line, *end = line + len;
    size_t n = 0;
    for (;;) {
        text_skip_blanks(&p, end);
        if (p == end)
            return n;
        uint64_t cpu;
        if (end - p < 4 || memcmp(p, "CPU", 3) != 0)
            return 0;
        p += 3;
        if (!text_number(&p, end, UINT32_MAX, &cpu) || (p < end && *p != ' ' && *p != '\t'))
            return 0;
        if (n < max)
            cpus[n] = (uint32_t)cpu;
        n++;
    }
}

bool interrupts_row(const char *line, size_t len, const uint16_t *slot, size_t columns,
                    unsigned other, uint64_t *sums, struct irq_text *out)
{
    const char *p = line, *end = line + len;
    text_skip_blanks(&p, end);
    const char *colon = memchr(p, ':', (size_t)(end - p));
    if (!colon || colon == p)
        return false;
    out->name = p;
    out->name_len = (size_t)(colon - p);

    p = colon + 1;
    size_t n = 0;
    uint64_t total = 0;
    for (; n < columns; n++) {
        const char *q = p;
        uint64_t count;
        text_skip_blanks(&q, end);
        if (!text_number(&q, end, UINT32_MAX, &count) || (q < end && *q != ' ' && *q != '\t'))
            break;
        p = q;
        sums[slot[n]] += count;
        total += count;
    }
    if (n < columns) {
        /* take them back: these counts belong to no column */
        const char *q = colon + 1;
        for (size_t i = 0; i < n; i++) {
            uint64_t count = 0;
            text_skip_blanks(&q, end);
            text_number(&q, end, UINT32_MAX, &count);
            sums[slot[i]] -= count;
        }
        sums[other] += total;
    }
    text_skip_blanks(&p, end);
    while (end > p && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    out->text = p;
    out->text_len = (size_t)(end - p);
    return n > 0;
}

bool taskstat_parse(const char *text, size_t len, struct task_stat *out)
{
    const char *open = memchr(text, '(', len);
    const char *close = memrchr(text, ')', len);
    if (!open || !close || close < open)
        return false;
    *out = (struct task_stat){0};
    size_t n = (size_t)(close - open - 1);
    if (n >= sizeof(out->comm))
        n = sizeof(out->comm) - 1;
    memcpy(out->comm, open + 1, n);

    /* field 3, the state, comes next */
    const char *p = close + 1, *end = text + len;
    for (int field = 3; field <= 39; field++) {
        text_skip_blanks(&p, end);
        if (field == 14 || field == 15 || field == 39) {
            uint64_t *value = field == 14   ? &out->utime_ticks
                              : field == 15 ? &out->stime_ticks
                                            : &out->cpu;
            if (!text_number(&p, end, UINT64_MAX, value))
                return false;
            continue;
        }
        if (p == end || *p == '\n')
            return false;
        while (p < end && *p != ' ' && *p != '\n')
            p++;
    }
    return true;
}

bool schedstat_parse(const char *text, size_t len, uint64_t *run_ns, uint64_t *wait_ns)
{
    const char *p = text, *end = text + len;
    if (!text_number(&p, end, UINT64_MAX, run_ns))
        return false;
    text_skip_blanks(&p, end);
    return text_number(&p, end, UINT64_MAX, wait_ns);
}
