/* Sizes, times, counts and booleans as people type them. */
#include "profile.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Digits only: strtoull alone would take " -1" for a huge number. */
static bool digits(const char *text, const char **end, uint64_t *value)
{
    if (!isdigit((unsigned char)*text))
        return false;
    char *stop;
    errno = 0;
    *value = strtoull(text, &stop, 10);
    *end = stop;
    return errno == 0;
}

bool parse_count(const char *text, uint64_t *n, struct err *err)
{
    const char *end;
    if (!digits(text, &end, n) || *end)
        return err_set(err, STATUS_USAGE, "'%s' is not a whole number", text);
    return true;
}

bool parse_size(const char *text, uint64_t *bytes, struct err *err)
{
    static const char letters[] = "kmgtp";
    const char *end;
    uint64_t value;
    if (!digits(text, &end, &value))
        goto bad;
    unsigned shift = 0;
    if (*end) {
        const char *letter = strchr(letters, tolower((unsigned char)*end));
        if (letter) {
            shift = 10 * (unsigned)(letter - letters + 1);
            end++;
            if (strcasecmp(end, "b") == 0)
                return err_set(err, STATUS_USAGE,
                               "'%s': sizes are powers of 2 here; write %.*s for the binary unit",
                               text, (int)(end - text), text);
            if (strcasecmp(end, "i") == 0 || strcasecmp(end, "ib") == 0)
                end += strlen(end);
        } else if (strcmp(end, "B") == 0) {
            end++;
        }
    }
    if (*end)
        goto bad;
    if (shift && value > UINT64_MAX >> shift)
        return err_set(err, STATUS_USAGE, "'%s' is more than 64 bits can hold", text);
    *bytes = value << shift;
    return true;
bad:
    return err_set(err, STATUS_USAGE, "'%s' is not a size; write for example 4K, 1M or 10G", text);
}

bool parse_time(const char *text, uint64_t *ns, struct err *err)
{
    static const struct {
        const char *suffix;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"", 1e9}};

    char *end;
    if (!isdigit((unsigned char)*text) || text[1] == 'x' || text[1] == 'X')
        goto bad;
    errno = 0;
    double value = strtod(text, &end);
    if (errno || !isfinite(value))
        goto bad;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strcmp(end, units[i].suffix) != 0)
            continue;
        double total = value * units[i].ns;
        if (total > 1e18)
            return err_set(err, STATUS_USAGE, "'%s' is longer than 30 years", text);
        *ns = (uint64_t)llround(total);
        return true;
    }
bad:
    return err_set(err, STATUS_USAGE,
                   "'%s' is not a time; write for example 10s, 250ms or 2m (units ns us ms s m)",
                   text);
}

bool parse_bool(const char *text, bool *value, struct err *err)
{
    static const char *const yes[] = {"true", "yes", "on", "1"};
    static const char *const no[] = {"false", "no", "off", "0"};
    for (size_t i = 0; i < 4; i++) {
        if (strcasecmp(text, yes[i]) == 0) {
            *value = true;
            return true;
        }
        if (strcasecmp(text, no[i]) == 0) {
            *value = false;
            return true;
        }
    }
    return err_set(err, STATUS_USAGE, "'%s' is neither true nor false", text);
}

const char *format_size(uint64_t bytes, char *buf, size_t cap)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    unsigned u = 0;
    while (u < 5 && bytes >> (10 * (u + 1)))
        u++;
    uint64_t unit = UINT64_C(1) << (10 * u);
    if (bytes % unit == 0)
        snprintf(buf, cap, "%llu %s", (unsigned long long)(bytes / unit), units[u]);
    else
        snprintf(buf, cap, "%.2f %s", (double)bytes / (double)unit, units[u]);
    return buf;
}

const char *format_time(uint64_t ns, char *buf, size_t cap)
{
    if (ns >= UINT64_C(10000000000000)) /* where %.4g would turn to exponents */
        snprintf(buf, cap, "%.0f s", (double)ns / 1e9);
    else if (ns >= 1000000000)
        snprintf(buf, cap, "%.4g s", (double)ns / 1e9);
    else if (ns >= 1000000)
        snprintf(buf, cap, "%.4g ms", (double)ns / 1e6);
    else if (ns >= 1000)
        snprintf(buf, cap, "%.4g us", (double)ns / 1e3);
    else
        snprintf(buf, cap, "%llu ns", (unsigned long long)ns);
    return buf;
}
