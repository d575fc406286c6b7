#include "completions.h"

#include "jsontext.h"
#include "notes.h"

#include <stdlib.h>
#include <string.h>

/* Fewer are not enough to speak of a share. */
#define FREES_MIN 100

static const char *const counters[] = {"free_fastpath", "free_slowpath"};

/* Sums both counters by node into {"0": n, ...}; the reason when they cannot be had, else NULL. */
static const char *sum_frees(const json_t *slab, json_t *by_node, json_int_t *total)
{
    *total = 0;
    if (!json_is_true(json_object_get(slab, "available"))) {
        const char *reason = json_string_value(json_object_get(slab, "reason"));
        return reason ? reason : "no slab counters";
    }
    if (!json_is_true(json_object_get(slab, "per_node_complete")))
        return "per-node figures are incomplete";
    for (size_t i = 0; i < 2; i++) {
        json_t *c = json_object_get(json_object_get(slab, "counters"), counters[i]), *n;
        const char *node;
        if (!json_is_integer(json_object_get(c, "total")))
            return "this kernel does not count frees";
        *total += json_integer_value(json_object_get(c, "total"));
        json_object_foreach(json_object_get(c, "by_node"), node, n)
        {
            json_int_t before = json_integer_value(json_object_get(by_node, node));
            json_object_set_new(by_node, node, json_integer(before + json_integer_value(n)));
        }
    }
    return *total < FREES_MIN ? "too few objects were freed to tell" : NULL;
}

static json_int_t on_nodes(const json_t *by_node, hwloc_const_bitmap_t nodes)
{
    json_int_t sum = 0;
    const char *node;
    json_t *n;
    json_object_foreach((json_t *)by_node, node, n)
    {
        if (hwloc_bitmap_isset(nodes, (unsigned)atoi(node)))
            sum += json_integer_value(n);
    }
    return sum;
}

static json_t *node_list(hwloc_const_bitmap_t nodes)
{
    json_t *list = json_array();
    for (int n = hwloc_bitmap_first(nodes); n >= 0; n = hwloc_bitmap_next(nodes, n))
        json_array_append_new(list, json_integer(n));
    return list;
}

/* The share and what it must be. */
static void judge(json_t *o, const struct place_completions *asked, const json_t *by_node,
                  json_int_t total, const char *cache, json_t *notes)
{
    json_int_t there = on_nodes(by_node, asked->nodes);
    double share = (double)there / (double)total;
    json_object_set_new(o, "frees_where_asked", json_integer(there));
    json_object_set_new(o, "share_where_asked", json_real(share));
    if (asked->by_interrupts)
        return;
    json_object_set_new(o, "reached", json_boolean(share >= asked->min_share));
    if (share < asked->min_share)
        note_add(notes, NOTE_INVALID, "completions",
                 "%s = %s: only %.3g %% of the frees of %s were on the node asked for, at least "
                 "%.3g %% must",
                 asked->key, asked->word, 100 * share, cache, 100 * asked->min_share);
}

json_t *completions_of_window(const json_t *window, const struct place *place, json_t *notes)
{
    const json_t *slab = json_object_get(window, "slab");
    const char *cache = json_string_value(json_object_get(slab, "cache"));
    struct place_completions asked;
    json_int_t total;
    json_t *o = json_object(), *by_node = json_object();
    bool told = place_completion_nodes(place, &asked);
    const char *reason = sum_frees(slab, by_node, &total);
    json_object_set_new(o, "asked", told ? json_string(asked.word) : json_null());
    json_object_set_new(o, "nodes_asked", told ? node_list(asked.nodes) : json_null());
    json_object_set_new(o, "rule",
                        !told                 ? json_null()
                        : asked.by_interrupts ? json_string("interrupts")
                                              : json_string("frees"));
    json_object_set_new(o, "reached", json_null());
    if (reason) {
        json_set_missing(o, "frees", "%s", reason);
    } else {
        json_object_set_new(o, "frees", json_integer(total));
        json_object_set(o, "by_node", by_node);
        if (told)
            judge(o, &asked, by_node, total, cache ? cache : "the cache", notes);
    }
    json_decref(by_node);
    if (told)
        hwloc_bitmap_free(asked.nodes);
    return o;
}
