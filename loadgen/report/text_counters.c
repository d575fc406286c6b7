/* Slab counters of one window as a table, and what follows from them in words. */
#include "fmt.h"
#include "text.h"
#include "view.h"

#include <string.h>

#define NODES_MAX 1024
#define NODE_COLUMNS 4 /* fit a line beside a name */

static struct fmt cell(const json_t *object, const char *key)
{
    const json_t *n = json_object_get(object, key);
    struct fmt f = {"-"};
    return json_is_integer(n) ? fmt_cell(json_integer_value(n), 11) : f;
}

/* Counters that did not move are named in one line under the table. */
static void list_zeros(FILE *out, const json_t *window)
{
    char text[2048] = "";
    size_t used = 0;
    struct view_counter c;
    for (size_t i = 0; view_counter(window, i, &c); i++)
        if (c.known && c.total == 0 && used + strlen(c.name) + 3 < sizeof(text))
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
                                     c.name);
    if (used)
        fmt_wrapped(out, 6, "0 in this window: ", text);
}

/* Nodes from..to as columns; with the total and the rate per GiB in front when all fit. */
static void counter_table(FILE *out, const json_t *window, const char **nodes, size_t n,
                          bool with_total)
{
    fprintf(out, "%-22s", "counter");
    if (with_total)
        fprintf(out, " %13s %11s", "total", "per GiB");
    for (size_t k = 0; k < n; k++)
        fprintf(out, " %11s", text_node_name(nodes[k]).s);
    fprintf(out, "\n");
    const json_t *per_gib = view_at(window, "derived.counters_per_gib");
    struct view_counter c;
    for (size_t i = 0; view_counter(window, i, &c); i++) {
        if (c.known && c.total == 0)
            continue;
        fprintf(out, "%-22s", fmt_word(c.name, 22).s);
        if (!c.known) {
            fprintf(out, " unavailable: reset during the window\n");
            continue;
        }
        double rate;
        if (with_total)
            fprintf(out, " %13s %11s", fmt_cell(c.total, 13).s,
                    view_number(per_gib, c.name, &rate) ? fmt_figure(rate).s : "-");
        for (size_t k = 0; k < n; k++)
            fprintf(out, " %11s", cell(json_object_get(c.object, "by_node"), nodes[k]).s);
        fprintf(out, "\n");
    }
}

static void say_cache(FILE *out, const json_t *slab)
{
    json_int_t capacity;
    char text[1024];
    int n = snprintf(text, sizeof(text), "%.64s", view_text(slab, "cache", "?"));
    if (view_integer(slab, "sheaf_capacity", &capacity))
        n += snprintf(text + n, sizeof(text) - (size_t)n, ", %lld objects a sheaf",
                      (long long)capacity);
    fmt_wrapped(out, 6, "cache: ", text);
    if (!json_is_true(json_object_get(slab, "merged")))
        return;
    const json_t *shared = json_object_get(slab, "shared_with");
    n = snprintf(text, sizeof(text), "counters are the sum over");
    for (size_t i = 0; i < json_array_size(shared) && (size_t)n + 80 < sizeof(text); i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, " %.64s",
                      json_string_value(json_array_get(shared, i)));
    fmt_wrapped(out, 6, "MERGED CACHE: ", text);
}

void text_counters(FILE *out, const json_t *window)
{
    const json_t *slab = json_object_get(window, "slab");
    text_heading(out, "Slab counters");
    if (!json_is_true(json_object_get(slab, "available"))) {
        fmt_wrapped(out, 6, "unavailable: ", view_text(slab, "reason", "not recorded"));
        return;
    }
    say_cache(out, slab);
    const char *nodes[NODES_MAX];
    struct view_counter c;
    size_t n = view_counter(window, 0, &c)
                   ? text_nodes(json_object_get(c.object, "by_node"), nodes, NODES_MAX)
                   : 0;
    if (n <= 2) {
        counter_table(out, window, nodes, n, true);
    } else {
        counter_table(out, window, nodes, 0, true);
        for (size_t k = 0; k < n; k += NODE_COLUMNS) {
            fprintf(out, "\n");
            counter_table(out, window, nodes + k, n - k < NODE_COLUMNS ? n - k : NODE_COLUMNS,
                          false);
        }
    }
    list_zeros(out, window);
    if (json_is_false(json_object_get(slab, "per_node_complete")))
        fprintf(out, "Figures by node are INCOMPLETE; totals are not affected.\n");
}

static void check(FILE *out, const char *name, const json_t *derived, const char *key, double scale,
                  const char *unit, const char *meaning)
{
    double value;
    char text[512];
    if (view_number(derived, key, &value)) {
        snprintf(text, sizeof(text), "%s%s; %s", fmt_figure(value * scale).s, unit, meaning);
    } else {
        char reason_key[80];
        snprintf(reason_key, sizeof(reason_key), "%s_reason", key);
        snprintf(text, sizeof(text), "unavailable: %.300s",
                 view_text(derived, reason_key, "not recorded"));
    }
    char head[40];
    snprintf(head, sizeof(head), "%-22s ", name);
    fmt_wrapped(out, 23, head, text);
}

static void check_sheaves(FILE *out, const json_t *window)
{
    double sheaves, ratio;
    struct view_counter fails;
    const json_t *derived = json_object_get(window, "derived");
    if (!view_number(derived, "sheaf_flush_sheaves", &sheaves) ||
        !view_counter_named(window, "barn_put_fail", &fails) || !fails.known) {
        check(out, "sheaves flushed", derived, "sheaf_flush_sheaves", 1, "", "");
        return;
    }
    char text[256];
    int n = snprintf(text, sizeof(text), "%s against %s failed barn puts",
                     fmt_count((json_int_t)(sheaves + 0.5)).s, fmt_count(fails.total).s);
    if (view_number(derived, "sheaf_flush_sheaves_per_barn_put_fail", &ratio))
        snprintf(text + n, sizeof(text) - (size_t)n, " (%.4f); each failed put flushes one sheaf",
                 ratio);
    fmt_wrapped(out, 23, "sheaves flushed        ", text);
}

/* From the first I/O until nothing is in flight every object must be accounted for. */
static void check_whole_run(FILE *out, const json_t *record)
{
    const json_t *whole = json_object_get(record, "whole_run");
    if (!json_is_object(whole))
        return;
    struct view_counter fast, slow;
    json_int_t bytes, page;
    double ratio;
    const char *reason = view_text(whole, "derived.alloc_per_page_reason", "not recorded");
    char text[512];
    bool known = view_counter_named(whole, "alloc_fastpath", &fast) && fast.known &&
                 view_number(whole, "derived.alloc_per_page", &ratio) &&
                 view_integer(whole, "throughput.bytes", &bytes);
    if (!view_counter_named(whole, "alloc_slowpath", &slow))
        slow.total = 0;
    if (!view_integer(whole, "slab.page_bytes", &page) || page <= 0)
        page = 4096;
    if (known)
        snprintf(text, sizeof(text), "%s objects allocated for %s pages read (%.4f)",
                 fmt_count(fast.total + slow.total).s, fmt_count(bytes / page).s, ratio);
    else
        snprintf(text, sizeof(text), "unavailable: %.300s", reason);
    fmt_wrapped(out, 23, "whole run, drained     ", text);
}

/* Whether the cache began without what earlier loads had left in it. */
static void check_start(FILE *out, const json_t *record)
{
    const json_t *o = json_object_get(record, "slab_shrink");
    json_int_t before, after;
    char text[400];
    if (!o)
        return;
    if (!json_is_true(json_object_get(o, "done")))
        snprintf(text, sizeof(text), "not emptied: %.300s", view_text(o, "reason", "not recorded"));
    else if (view_integer(o, "before.slabs.total", &before) &&
             view_integer(o, "after.slabs.total", &after))
        snprintf(text, sizeof(text), "emptied before the load: %s slabs, then %s",
                 fmt_count(before).s, fmt_count(after).s);
    else
        snprintf(text, sizeof(text), "emptied before the load");
    fmt_wrapped(out, 23, "cache at the start     ", text);
}

void text_checks(FILE *out, const json_t *record, const json_t *window)
{
    if (!json_is_true(view_at(window, "slab.available")))
        return;
    text_heading(out, "What follows from them");
    const json_t *d = json_object_get(window, "derived");
    check(out, "objects freed", d, "objects_per_page", 1, " a page read",
          "about 1, or the cache is shared or the window wrong");
    check(out, "objects allocated", d, "alloc_per_page", 1, " a page read", "about 1 as well");
    check(out, "remote frees", d, "remote_free_share", 100, " % of all frees",
          "on a node other than the object's");
    check(out, "barn puts that failed", d, "barn_put_fail_share", 100, " %", "the barn was full");
    check(out, "barn gets that failed", d, "barn_get_fail_share", 100, " %", "the barn was empty");
    check_sheaves(out, window);
    check(out, "cmpxchg_double_fail", d, "cmpxchg_double_fail_per_million_frees", 1,
          " per million frees", "retries on contended slabs");
    check_whole_run(out, record);
    check_start(out, record);
}
