#include "fmt.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct fmt fmt_count(int64_t n)
{
    struct fmt f, digits;
    snprintf(digits.s, sizeof(digits.s), "%lld", (long long)n);
    size_t len = strlen(digits.s), k = 0, first = digits.s[0] == '-';
    for (size_t i = 0; i < len; i++) {
        if (i > first && (len - i) % 3 == 0)
            f.s[k++] = ',';
        f.s[k++] = digits.s[i];
    }
    f.s[k] = '\0';
    return f;
}

struct fmt fmt_rate(double bytes_per_s)
{
    static const struct {
        double ten, two;
        const char *ten_name, *two_name;
    } units[] = {{1e9, 1 << 30, "GB/s", "GiB/s"},
                 {1e6, 1 << 20, "MB/s", "MiB/s"},
                 {1e3, 1 << 10, "kB/s", "KiB/s"}};
    struct fmt f;
    if (!(bytes_per_s >= 0 && bytes_per_s < 1e15)) { /* no machine does that */
        snprintf(f.s, sizeof(f.s), "%.3g B/s", bytes_per_s);
        return f;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (bytes_per_s < units[i].ten)
            continue;
        snprintf(f.s, sizeof(f.s), "%.2f %s (%.2f %s)", bytes_per_s / units[i].ten,
                 units[i].ten_name, bytes_per_s / units[i].two, units[i].two_name);
        return f;
    }
    snprintf(f.s, sizeof(f.s), "%.0f B/s", bytes_per_s);
    return f;
}

/* Three digits that count, of a value from 1 to 999. */
static int decimals(double value)
{
    return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

struct fmt fmt_ns(double ns)
{
    static const char *const names[] = {"ns", "us", "ms", "s"};
    struct fmt f;
    size_t unit = 0;
    if (!(ns >= 0 && ns < 1e18)) {
        snprintf(f.s, sizeof(f.s), "%.3g ns", ns);
        return f;
    }
    for (; unit < 3 && ns >= 999.5; unit++)
        ns /= 1000;
    snprintf(f.s, sizeof(f.s), "%.*f %s", unit == 0 || ns == floor(ns) ? 0 : decimals(ns), ns,
             names[unit]);
    return f;
}

struct fmt fmt_bytes(int64_t bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    struct fmt f;
    double value = (double)bytes;
    size_t unit = 0;
    for (; unit < 5 && value >= 1024; unit++)
        value /= 1024;
    snprintf(f.s, sizeof(f.s), "%.*f %s", value == floor(value) ? 0 : decimals(value), value,
             names[unit]);
    return f;
}

struct fmt fmt_figure(double value)
{
    struct fmt f;
    double size = fabs(value);
    if (size >= 999.5 && size < 9999999999.5)
        return fmt_count((int64_t)llround(value));
    if (size >= 999.5 || (size > 0 && size < 1e-9)) {
        snprintf(f.s, sizeof(f.s), "%.3g", value);
        return f;
    }
    /* shares of 1 are checks: 0.9998 and 1.0002 are the same finding, 0.99 is another */
    if (size > 0.9 && size < 1.1)
        snprintf(f.s, sizeof(f.s), "%.4f", value);
    else if (size == 0 || size >= 1)
        snprintf(f.s, sizeof(f.s), size == 0 ? "0" : "%.*f", decimals(size), value);
    else
        snprintf(f.s, sizeof(f.s), "%.*f", (int)fmin(12, 2 - floor(log10(size))), value);
    return f;
}

struct fmt fmt_cell(int64_t n, int width)
{
    struct fmt f = fmt_count(n);
    if (strlen(f.s) > (size_t)width)
        snprintf(f.s, sizeof(f.s), "%lld", (long long)n);
    if (strlen(f.s) > (size_t)width)
        snprintf(f.s, sizeof(f.s), "%.3g", (double)n);
    return f;
}

struct fmt fmt_percent(double percent)
{
    struct fmt f = {"?"};
    if (percent > -0.005 && percent < 100.005)
        snprintf(f.s, sizeof(f.s), "%.2f", fabs(percent));
    return f;
}

const char *fmt_ascii(char *buf, size_t cap, const char *text)
{
    size_t n = 0;
    for (; text && text[n] && n + 1 < cap; n++)
        buf[n] = text[n] >= ' ' && text[n] <= '~' ? text[n] : '?';
    buf[n] = '\0';
    return buf;
}

struct fmt fmt_word(const char *text, size_t width)
{
    struct fmt f;
    fmt_ascii(f.s, width + 1 < sizeof(f.s) ? width + 1 : sizeof(f.s), text);
    return f;
}

void fmt_wrapped(FILE *out, int indent, const char *head, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    char *clean = malloc(len + 1);
    if (!clean)
        return;
    fmt_ascii(clean, len + 1, text);
    int column = fprintf(out, "%s", fmt_word(head, FMT_COLUMNS - 20).s);
    const char *p = clean;
    for (bool first = true; *p; first = false) {
        p += strspn(p, " ");
        size_t word = strcspn(p, " ");
        if (word == 0)
            break;
        bool fits = column + (first ? 0 : 1) + (int)word <= FMT_COLUMNS;
        if (!first && !fits)
            column = fprintf(out, "\n%*s", indent, "") - 1;
        else if (!first)
            column += fprintf(out, " ");
        /* a word longer than a line is broken: a mail client would do it elsewhere */
        while (column + (int)word > FMT_COLUMNS) {
            int room = FMT_COLUMNS - column;
            if (room > 0)
                fprintf(out, "%.*s", room, p);
            p += room > 0 ? room : 0;
            word -= (size_t)(room > 0 ? room : 0);
            column = fprintf(out, "\n%*s", indent, "") - 1;
        }
        column += fprintf(out, "%.*s", (int)word, p);
        p += word;
    }
    fprintf(out, "\n");
    free(clean);
}
