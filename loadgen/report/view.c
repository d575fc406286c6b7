#include "view.h"

#include "../record/skim.h"
#include "fmt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct view_derived view_derived[] = {
    {"frees a page read", "derived.objects_per_page", 1},
    {"allocations a page", "derived.alloc_per_page", 1},
    {"remote frees, %", "derived.remote_free_share", 100},
    {"failed barn puts, %", "derived.barn_put_fail_share", 100},
    {"failed barn gets, %", "derived.barn_get_fail_share", 100},
    {"sheaves flushed", "derived.sheaf_flush_sheaves", 1},
    {"  per failed barn put", "derived.sheaf_flush_sheaves_per_barn_put_fail", 1},
    {"cmpxchg fails/1e6 frees", "derived.cmpxchg_double_fail_per_million_frees", 1},
    {0},
};

const struct view_fact view_same[] = {
    {"host.kernel_release", "kernels"},
    {"host.cpu_model", "machines"},
    {"profile.block_bytes", "block sizes"},
    {"profile.threads", "thread counts"},
    {"profile.iodepth", "I/O depths"},
    {"profile.engine", "engines"},
    {"profile.slab_shrink", "starting states of the slab cache"},
    {0},
};

const json_t *view_at(const json_t *o, const char *path)
{
    char key[64];
    while (o && *path) {
        size_t len = strcspn(path, ".");
        if (len >= sizeof(key))
            return NULL;
        memcpy(key, path, len);
        key[len] = '\0';
        o = json_object_get(o, key);
        path += len + (path[len] == '.');
    }
    return o;
}

const char *view_text(const json_t *o, const char *path, const char *otherwise)
{
    const char *s = json_string_value(view_at(o, path));
    return s ? s : otherwise;
}

bool view_number(const json_t *o, const char *path, double *value)
{
    const json_t *n = view_at(o, path);
    *value = json_number_value(n);
    return json_is_number(n);
}

bool view_integer(const json_t *o, const char *path, json_int_t *value)
{
    const json_t *n = view_at(o, path);
    *value = json_integer_value(n);
    return json_is_integer(n);
}

struct rated {
    const json_t *window;
    double bytes_per_s;
};

static int by_rate(const void *a, const void *b)
{
    const struct rated *x = a, *y = b;
    return (x->bytes_per_s > y->bytes_per_s) - (x->bytes_per_s < y->bytes_per_s);
}

/* The windows to choose from, by throughput. Caller frees. */
static struct rated *rated_windows(const json_t *record, size_t *n)
{
    const json_t *windows = json_object_get(record, "windows");
    size_t all = json_array_size(windows);
    struct rated *list = calloc(all + 1, sizeof(*list));
    *n = 0;
    for (int pass = 0; list && pass < 2 && *n == 0; pass++) {
        for (size_t i = 0; i < all; i++) {
            const json_t *w = json_array_get(windows, i);
            struct rated r = {.window = w};
            view_number(w, "throughput.bytes_per_s", &r.bytes_per_s);
            if (pass == 1 || (json_is_true(json_object_get(w, "valid")) &&
                              !json_is_true(json_object_get(w, "cut_short"))))
                list[(*n)++] = r;
        }
    }
    if (list)
        qsort(list, *n, sizeof(*list), by_rate);
    return list;
}

const json_t *view_median_window(const json_t *record, size_t *of)
{
    size_t n;
    struct rated *list = rated_windows(record, &n);
    const json_t *median = list && n ? list[(n - 1) / 2].window : NULL;
    free(list);
    if (of)
        *of = n;
    return median;
}

bool view_throughput_range(const json_t *record, double *low, double *high)
{
    size_t n;
    struct rated *list = rated_windows(record, &n);
    bool any = list && n && json_is_number(view_at(list[0].window, "throughput.bytes_per_s"));
    *low = any ? list[0].bytes_per_s : 0;
    *high = any ? list[n - 1].bytes_per_s : 0;
    free(list);
    return any;
}

struct view_word view_placement_word(const char *text)
{
    struct view_word w;
    const char *kinds[] = {"node:", "socket:", "cpus:"};
    for (size_t i = 0; i < 3; i++) {
        size_t len = strlen(kinds[i]);
        if (strncmp(text, kinds[i], len) == 0) {
            char clean[17];
            fmt_ascii(clean, sizeof(clean), text + len);
            snprintf(w.s, sizeof(w.s), "%.*s%s%s", (int)len - 1, kinds[i], i == 2 ? " " : "",
                     clean);
            return w;
        }
    }
    fmt_ascii(w.s, sizeof(w.s), text);
    return w;
}

struct view_word view_workload(const json_t *record)
{
    return view_placement_word(view_text(record, "profile.cpus", "?"));
}

struct view_word view_cqs(const json_t *record)
{
    const char *cq = view_text(record, "profile.cq", "leave");
    if (strcmp(cq, "leave") == 0)
        cq = view_text(record, "profile.unbound", "leave");
    return view_placement_word(strcmp(cq, "leave") == 0 ? "as found" : cq);
}

const char *view_instrument(const json_t *record)
{
    const char *name = view_text(record, "profile.instrument", "none");
    return *name ? name : "none";
}

struct view_word view_name(const json_t *record)
{
    const char *label = view_text(record, "label", NULL);
    if (label && *label)
        return view_placement_word(label);
    struct view_word name;
    snprintf(name.s, sizeof(name.s), "%.10s / %.10s", view_workload(record).s, view_cqs(record).s);
    return name;
}

static void fill_counter(struct view_counter *c, const char *name, const json_t *object)
{
    *c = (struct view_counter){.name = name, .object = object};
    const json_t *total = json_is_integer(object) ? object : json_object_get(object, "total");
    c->known = json_is_integer(total);
    c->total = json_integer_value(total);
}

bool view_counter(const json_t *window, size_t i, struct view_counter *c)
{
    json_t *counters = (json_t *)view_at(window, "slab.counters");
    void *it = json_object_iter(counters);
    while (it && i--)
        it = json_object_iter_next(counters, it);
    if (!it)
        return false;
    fill_counter(c, json_object_iter_key(it), json_object_iter_value(it));
    return true;
}

bool view_counter_named(const json_t *window, const char *name, struct view_counter *c)
{
    const json_t *object = json_object_get(view_at(window, "slab.counters"), name);
    fill_counter(c, name, object);
    return object;
}

#define ALL(name)                                                                                  \
    {                                                                                              \
        name, NULL                                                                                 \
    }
static const struct skim of_total[] = {ALL("total"), ALL("total_reason"), {0}};
static const struct skim of_counters[] = {{"*", of_total}, {0}};
static const struct skim of_slab[] = {
    ALL("available"), ALL("reason"), ALL("cache"), {"counters", of_counters}, {0}};
static const struct skim of_idle[] = {ALL("idle_percent"), {0}};
static const struct skim of_nodes[] = {{"*", of_idle}, {0}};
static const struct skim of_cpu[] = {
    ALL("available"), ALL("reason"), {"all", of_idle}, {"by_node", of_nodes}, {0}};
static const struct skim of_irq[] = {ALL("available"), ALL("reason"), ALL("total"), {0}};
static const struct skim of_iowq[] = {ALL("available"), ALL("reason"), ALL("workers_seen"), {0}};
static const struct skim of_nfs[] = {ALL("available"), ALL("reason"), ALL("read"), {0}};
static const struct skim of_derived[] = {ALL("objects_per_page"),
                                         ALL("alloc_per_page"),
                                         ALL("remote_free_share"),
                                         ALL("barn_put_fail_share"),
                                         ALL("barn_get_fail_share"),
                                         ALL("sheaf_flush_sheaves"),
                                         ALL("sheaf_flush_sheaves_per_barn_put_fail"),
                                         ALL("cmpxchg_double_fail_per_million_frees"),
                                         {0}};
static const struct skim of_window[] = {ALL("index"),
                                        ALL("valid"),
                                        ALL("cut_short"),
                                        ALL("t0_ns"),
                                        ALL("window_ns"),
                                        ALL("notes"),
                                        ALL("throughput"),
                                        ALL("latency"),
                                        ALL("sampling"),
                                        ALL("lock"),
                                        {"cpu", of_cpu},
                                        {"slab", of_slab},
                                        {"irq", of_irq},
                                        {"nfs", of_nfs},
                                        {"iowq", of_iowq},
                                        {"derived", of_derived},
                                        {0}};
static const struct skim of_host[] = {ALL("kernel_release"), ALL("kernel_version"),
                                      ALL("boot_id"),        ALL("uptime_s"),
                                      ALL("cpu_model"),      ALL("threads"),
                                      ALL("nodes"),          ALL("page_bytes"),
                                      ALL("product_name"),   {0}};

const struct skim view_parts[] = {ALL("schema"),
                                  ALL("schema_version"),
                                  ALL("started_at"),
                                  ALL("label"),
                                  ALL("status"),
                                  ALL("exit_status"),
                                  ALL("cut_short"),
                                  ALL("notes"),
                                  ALL("profile"),
                                  ALL("matrix"),
                                  {"host", of_host},
                                  {"windows", of_window},
                                  {0}};

void view_slim(json_t *record)
{
    size_t i;
    json_t *w, *o;
    const char *name;
    skim_object(record, view_parts);
    json_array_foreach(json_object_get(record, "windows"), i, w)
    {
        json_t *counters = json_object_get(json_object_get(w, "slab"), "counters");
        json_object_foreach(counters, name, o)
        {
            json_t *total = json_object_get(o, "total");
            if (total)
                json_object_set(counters, name, total);
        }
    }
}
