#include "words.h"

#include <math.h>
#include <stdio.h>

#define NEEDED_MAX 200 /* more are no advice */

const char *words_level(enum stats_level level)
{
    return level == STATS_BOOT ? "boots" : level == STATS_MOUNT ? "mounts" : "repeats";
}

/* As many digits as a percentage deserves: 0.08, 0.8, 6.1, 61. */
static int digits(double percent)
{
    double size = fabs(percent);
    return size < 0.0995 ? 2 : size < 9.95 ? 1 : 0;
}

static struct words differs(const struct stats_comparison *c, const char *more, const char *less)
{
    struct words w;
    double ratio = c->ratio, low = c->interval.low, high = c->interval.high;
    if (ratio > 2 || ratio < 0.5) {
        /* a loss of 99.997 % says less than a factor does */
        int d = ratio >= 99.5 ? 0 : 1;
        if (ratio >= 2)
            snprintf(w.s, sizeof(w.s), "%s: %.*f times as much (%.*f-%.*f)", more, d, ratio, d, low,
                     d, high);
        else
            snprintf(w.s, sizeof(w.s), "%s: %.3g times as much (%.2g-%.2g)", less, ratio, low,
                     high);
        return w;
    }
    double by = 100 * fabs(ratio - 1);
    double from = 100 * (ratio > 1 ? low - 1 : 1 - high);
    double to = 100 * (ratio > 1 ? high - 1 : 1 - low);
    int d = digits(from);
    snprintf(w.s, sizeof(w.s), "%s by %.*f %% (%.*f-%.*f)", ratio > 1 ? more : less, d, by, d, from,
             d, to);
    return w;
}

/* Two digits: it is a guess from a spread that is itself one. */
static size_t rounded(size_t n)
{
    size_t unit = 1;
    while (n / unit >= 100)
        unit *= 10;
    return (n + unit / 2) / unit * unit;
}

struct words words_too_few(const struct stats_interval *i)
{
    struct words w;
    snprintf(w.s, sizeof(w.s), "%zu %s: too few for an interval", i->units, words_level(i->level));
    return w;
}

struct words words_comparison(const struct stats_comparison *c, double precision, const char *more,
                              const char *less)
{
    struct words w;
    const struct stats_interval *i = &c->interval;
    if (!c->known)
        return (struct words){"no valid run to compare"};
    if (!i->known) {
        snprintf(w.s, sizeof(w.s), "ratio %.4g; a side with a single run has no interval",
                 c->ratio);
        return w;
    }
    if (i->low > 1 || i->high < 1)
        return differs(c, more, less);
    if (!stats_interval_tells(i)) {
        snprintf(w.s, sizeof(w.s), "%.150s (ratio %.3g)", words_too_few(i).s, c->ratio);
        return w;
    }
    double largest = 100 * fmax(i->high - 1, 1 - i->low);
    if (stats_half_width(c) <= precision) {
        snprintf(w.s, sizeof(w.s), "no difference larger than %.*f %%", digits(largest), largest);
        return w;
    }
    size_t needed = stats_units_needed(c, precision);
    int n = snprintf(w.s, sizeof(w.s), "too noisy to tell (ratio %.3g, %.3g-%.3g)", c->ratio,
                     i->low, i->high);
    size_t left = n > 0 && (size_t)n < sizeof(w.s) ? sizeof(w.s) - (size_t)n : 0;
    if (needed > i->units && needed <= NEEDED_MAX)
        snprintf(w.s + n, left, ": needs about %zu %s", rounded(needed), words_level(i->level));
    else if (needed > i->units || needed == 0)
        snprintf(w.s + n, left, ": %zu %s are too few or too unlike", i->units,
                 words_level(i->level));
    return w;
}

struct words words_p(const struct stats_comparison *c)
{
    struct words w = {""};
    if (!c->known || isnan(c->p))
        return w;
    if (c->p < 0.001)
        snprintf(w.s, sizeof(w.s), "< 0.001");
    else
        snprintf(w.s, sizeof(w.s), "%.3f", c->p);
    return w;
}
