/* Numbers and text for people: plain ASCII, units always, never wider than a mail. */
#ifndef NUMALOAD_FMT_H
#define NUMALOAD_FMT_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#define FMT_COLUMNS 72

struct fmt {
    char s[64];
};

struct fmt fmt_count(int64_t n);         /* 119,680,629 */
struct fmt fmt_rate(double bytes_per_s); /* 46.02 GB/s (42.86 GiB/s), and smaller units */
struct fmt fmt_ns(double ns);            /* 812 ns, 12.3 us, 220 ms, 1.23 s */
struct fmt fmt_bytes(int64_t bytes);     /* 1 MiB, 2.5 GiB: base 2, since sizes are given so */
struct fmt fmt_figure(double value); /* a few digits that count: 0.0000235, 0.71, 62.3, 12,345 */

/* For cells of a table: commas where they fit `width` columns, else plain digits, else 1.23e+20. */
struct fmt fmt_cell(int64_t n, int width);
struct fmt fmt_percent(double percent); /* 84.26; "?" for what is no percentage */

/* Text of a record in a table: cleaned and cut to `width`. Records may come from anywhere. */
struct fmt fmt_word(const char *text, size_t width);

/* text behind `head`, wrapped at FMT_COLUMNS; further lines are indented by `indent`. What is not
 * printable ASCII becomes '?'. */
void fmt_wrapped(FILE *out, int indent, const char *head, const char *text);

/* Copies text with everything unprintable replaced; returns buf. */
const char *fmt_ascii(char *buf, size_t cap, const char *text);

#endif
