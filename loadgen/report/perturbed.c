#include "perturbed.h"

#include "view.h"

#include <stdint.h>
#include <string.h>

static bool instrumented(const json_t *record)
{
    return strcmp(view_instrument(record), "none") != 0;
}

static bool same_load(const json_t *x, const json_t *y)
{
    static const char *const same[] = {
        "profile.path",        "profile.rw",       "profile.engine",     "profile.threads",
        "profile.iodepth",     "profile.batch",    "profile.direct",     "profile.completion",
        "profile.block_bytes", "profile.nconnect", "profile.iops",       "profile.verify",
        "profile.cpus",        "profile.mem",      "profile.cq",         "profile.unbound",
        "profile.rps",         "profile.wq_scope", "host.kernel_release"};
    for (size_t k = 0; k < sizeof(same) / sizeof(*same); k++) {
        const json_t *a = view_at(x, same[k]), *b = view_at(y, same[k]);
        if (a != b && !json_equal(a, b))
            return false;
    }
    return true;
}

static size_t apart(size_t a, size_t b)
{
    return a < b ? b - a : a - b;
}

size_t perturbed_partner(const json_t *const *records, size_t n, size_t i)
{
    size_t nearest = SIZE_MAX;
    for (size_t k = 0; instrumented(records[i]) && k < n; k++)
        if (!instrumented(records[k]) && same_load(records[i], records[k]) &&
            (nearest == SIZE_MAX || apart(i, k) < apart(i, nearest)))
            nearest = k;
    return nearest;
}

static bool figure_of(const json_t *window, const char *name, double *value)
{
    struct view_counter c;
    if (strchr(name, '.'))
        return view_number(window, name, value);
    if (!view_counter_named(window, name, &c) || !c.known)
        return false;
    *value = (double)c.total;
    return true;
}

bool perturbed_ratio(const json_t *with, const json_t *without, const char *name, double *ratio)
{
    double a, b;
    if (!figure_of(with, name, &a) || !figure_of(without, name, &b) || b == 0)
        return false;
    *ratio = a / b;
    return true;
}
