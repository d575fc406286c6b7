#include "set.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP_BITS 32u
#define GROUP_DIGITS 8u

/* Text without white space at its ends, as a pointer and a length. */
static const char *trim(const char *text, size_t *len)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t n = strlen(text);
    while (n && isspace((unsigned char)text[n - 1]))
        n--;
    *len = n;
    return text;
}

static bool refuse(hwloc_bitmap_t set, const char *text, size_t len, const char *why,
                   struct err *err)
{
    hwloc_bitmap_zero(set);
    int shown = len > 80 ? 80 : (int)len;
    return err_set(err, STATUS_USAGE, "'%.*s%s': %s", shown, text, len > 80 ? "..." : "", why);
}

/* Reads digits at *p, at most to end. False when there is none or the number is above SET_ID_MAX.
 */
static bool read_id(const char **p, const char *end, unsigned *id)
{
    unsigned v = 0;
    const char *start = *p;
    for (; *p < end && isdigit((unsigned char)**p); (*p)++) {
        v = v * 10 + (unsigned)(**p - '0');
        if (v > SET_ID_MAX)
            return false;
    }
    *id = v;
    return *p > start;
}

bool set_parse(hwloc_bitmap_t set, const char *text, struct err *err)
{
    size_t len;
    const char *start = trim(text, &len), *end = start + len;
    hwloc_bitmap_zero(set);
    for (const char *p = start; p < end;) {
        unsigned first, last;
        if (!read_id(&p, end, &first))
            return refuse(set, start, len, "a list of numbers like 0-3,8 up to 65535 is expected",
                          err);
        last = first;
        if (p < end && *p == '-') {
            p++;
            if (!read_id(&p, end, &last))
                return refuse(set, start, len, "a range lacks its end, or ends above 65535", err);
        }
        if (last < first)
            return refuse(set, start, len, "a range runs backwards", err);
        if (hwloc_bitmap_set_range(set, first, (int)last))
            return refuse(set, start, len, "out of memory", err);
        if (p == end)
            break;
        if (*p != ',' || p + 1 == end)
            return refuse(set, start, len, "a list of numbers like 0-3,8 is expected", err);
        p++;
    }
    return true;
}

char *set_format(hwloc_const_bitmap_t set)
{
    char *text;
    return hwloc_bitmap_list_asprintf(&text, set) < 0 ? NULL : text;
}

/* Checks commas and digits; returns what is wrong, or NULL. */
static const char *mask_shape(const char *start, size_t len)
{
    const char *comma = memchr(start, ',', len);
    size_t first = comma ? (size_t)(comma - start) : len;
    if (first == 0 || (comma && first > GROUP_DIGITS))
        return "a mask like ff,ffffc000 is expected";
    for (size_t i = 0; i < len; i++) {
        bool at_comma = i >= first && (i - first) % (GROUP_DIGITS + 1) == 0;
        if (at_comma ? start[i] != ',' : !isxdigit((unsigned char)start[i]))
            return "a mask in hexadecimal groups of 32 bits like ff,ffffc000 is expected";
    }
    if (comma && (len - first) % (GROUP_DIGITS + 1) != 0)
        return "the last group of the mask is short";
    return NULL;
}

static unsigned hex_value(char c)
{
    return isdigit((unsigned char)c) ? (unsigned)(c - '0')
                                     : (unsigned)(tolower((unsigned char)c) - 'a') + 10;
}

bool set_parse_mask(hwloc_bitmap_t set, const char *text, struct err *err)
{
    size_t len;
    const char *start = trim(text, &len);
    hwloc_bitmap_zero(set);
    const char *wrong = mask_shape(start, len);
    if (wrong)
        return refuse(set, start, len, wrong, err);
    unsigned bit = 0;
    for (size_t i = len; i-- > 0;) {
        if (start[i] == ',')
            continue;
        for (unsigned b = 0, v = hex_value(start[i]); v; b++, v >>= 1) {
            if (!(v & 1))
                continue;
            if (bit + b > SET_ID_MAX)
                return refuse(set, start, len, "the mask has bits above 65535", err);
            if (hwloc_bitmap_set(set, bit + b))
                return refuse(set, start, len, "out of memory", err);
        }
        bit += 4;
    }
    return true;
}

char *set_format_mask(hwloc_const_bitmap_t set)
{
    int last = hwloc_bitmap_last(set);
    unsigned groups = last < 0 ? 1 : (unsigned)last / GROUP_BITS + 1;
    size_t cap = (size_t)groups * (GROUP_DIGITS + 1) + 1;
    char *text = malloc(cap);
    if (!text)
        return NULL;
    size_t at = 0;
    for (unsigned g = groups; g-- > 0;) {
        unsigned value = 0;
        for (unsigned b = 0; b < GROUP_BITS; b++)
            value |= (unsigned)hwloc_bitmap_isset(set, g * GROUP_BITS + b) << b;
        at += (size_t)snprintf(text + at, cap - at, at ? ",%08x" : "%x", value);
    }
    return text;
}
