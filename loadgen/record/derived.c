#include "derived.h"

#include "jsontext.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#define GIB ((double)(1u << 30))

/* An operand: a figure of the window, or the reason why there is none. */
struct figure {
    bool known;
    double value;
    char reason[200];
};

static struct figure known(double value)
{
    return (struct figure){.known = true, .value = value};
}

static struct figure missing(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static struct figure missing(const char *fmt, ...)
{
    struct figure f = {0};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f.reason, sizeof(f.reason), fmt, ap);
    va_end(ap);
    return f;
}

static struct figure add(struct figure a, struct figure b)
{
    if (!a.known)
        return a;
    return b.known ? known(a.value + b.value) : b;
}

/* zero says what an empty divisor means. */
static struct figure divide(struct figure a, struct figure b, const char *zero)
{
    if (!a.known)
        return a;
    if (!b.known)
        return b;
    return b.value > 0 ? known(a.value / b.value) : missing("%s", zero);
}

static void put(json_t *derived, const char *key, struct figure f)
{
    if (f.known)
        json_object_set_new(derived, key, json_real(f.value));
    else
        json_set_missing(derived, key, "%s", f.reason);
}

static const json_t *counters_of(const json_t *slab)
{
    return json_is_true(json_object_get(slab, "available")) ? json_object_get(slab, "counters")
                                                            : NULL;
}

static struct figure counter(const json_t *slab, const char *name)
{
    if (!counters_of(slab)) {
        const char *reason = json_string_value(json_object_get(slab, "reason"));
        return missing("no slab counters: %s", reason ? reason : "not recorded");
    }
    const json_t *c = json_object_get(counters_of(slab), name);
    if (!c)
        return missing("no counter %s", name);
    const json_t *total = json_object_get(c, "total");
    if (!json_is_integer(total))
        return missing("%s was reset during the window", name);
    return known((double)json_integer_value(total));
}

static struct figure bytes_read(const json_t *window)
{
    const json_t *bytes = json_object_get(json_object_get(window, "throughput"), "bytes");
    return json_is_integer(bytes) ? known((double)json_integer_value(bytes))
                                  : missing("the bytes of the window are not recorded");
}

static struct figure sheaf_capacity(const json_t *slab)
{
    const json_t *capacity = json_object_get(slab, "sheaf_capacity");
    return json_is_integer(capacity) ? known((double)json_integer_value(capacity))
                                     : missing("the sheaf capacity is not known");
}

static void put_per_gib(json_t *derived, const json_t *slab, struct figure bytes)
{
    const char *key = "counters_per_gib", *name;
    json_t *counters = (json_t *)counters_of(slab), *c;
    struct figure gib = divide(bytes, known(GIB), "");
    struct figure any = counters ? known(0) : counter(slab, "");
    any = divide(any, gib, "nothing was read");
    if (!any.known) {
        put(derived, key, any);
        return;
    }
    json_t *o = json_object();
    json_object_foreach(counters, name, c)
    {
        struct figure f = divide(counter(slab, name), gib, "nothing was read");
        json_object_set_new(o, name, f.known ? json_real(f.value) : json_null());
    }
    json_object_set_new(derived, key, o);
}

json_t *derived_from_window(const json_t *window)
{
    json_t *d = json_object();
    const json_t *slab = json_object_get(window, "slab");
    const json_t *page = json_object_get(slab, "page_bytes");
    double page_bytes = json_is_integer(page) ? (double)json_integer_value(page) : 4096;

    struct figure bytes = bytes_read(window);
    struct figure pages = divide(bytes, known(page_bytes), "no page size");
    struct figure slow = counter(slab, "free_slowpath");
    struct figure frees = add(counter(slab, "free_fastpath"), slow);
    struct figure allocs = add(counter(slab, "alloc_fastpath"), counter(slab, "alloc_slowpath"));
    put(d, "objects_per_page", divide(frees, pages, "nothing was read"));
    put(d, "alloc_per_page", divide(allocs, pages, "nothing was read"));
    put(d, "remote_free_share", divide(slow, frees, "no object was freed"));

    struct figure put_fail = counter(slab, "barn_put_fail");
    struct figure get_fail = counter(slab, "barn_get_fail");
    put(d, "barn_put_fail_share",
        divide(put_fail, add(counter(slab, "barn_put"), put_fail), "no sheaf was put into a barn"));
    put(d, "barn_get_fail_share",
        divide(get_fail, add(counter(slab, "barn_get"), get_fail), "no sheaf was asked of a barn"));

    struct figure flushed =
        divide(counter(slab, "sheaf_flush"), sheaf_capacity(slab), "the sheaf capacity is 0");
    put(d, "sheaf_flush_sheaves", flushed);
    put(d, "sheaf_flush_sheaves_per_barn_put_fail",
        divide(flushed, put_fail, "no put into a barn failed"));

    struct figure retries = counter(slab, "cmpxchg_double_fail");
    if (retries.known)
        retries.value *= 1e6;
    put(d, "cmpxchg_double_fail_per_million_frees", divide(retries, frees, "no object was freed"));
    put_per_gib(d, slab, bytes);
    return d;
}

double derived_span_ns(const json_t *window, const char *sampler)
{
    static const char *const keys[] = {"from_began_ns", "from_ended_ns", "to_began_ns",
                                       "to_ended_ns"};
    const json_t *skew = json_object_get(json_object_get(window, sampler), "skew");
    double ns = json_number_value(json_object_get(window, "window_ns"));
    for (size_t i = 0; i < 4; i++)
        ns += (i < 2 ? -0.5 : 0.5) * json_number_value(json_object_get(skew, keys[i]));
    return ns > 0 ? ns : 0;
}
