#include "usable.h"

#include "text.h"

#include <stdlib.h>

static bool no_memory(const char *key, struct err *err)
{
    return err_set(err, STATUS_FAILED, "%s: out of memory", key);
}

/* Why there is nothing to use among the CPUs `all` of "node 1" or "socket 1". */
static bool explain_none(const struct topo *t, const char *key, const char *what, int id,
                         hwloc_const_bitmap_t all, struct err *err)
{
    char *list = set_format(all), *allowed = set_format(t->allowed);
    bool online = hwloc_bitmap_intersects(all, t->online);
    if (!online)
        err_set(err, STATUS_FAILED, "%s: all CPUs of %s %d (%s) are offline", key, what, id, list);
    else
        err_set(
            err, STATUS_FAILED,
            "%s: the CPUs of %s %d (%s) are outside the cpuset of this process, which allows %s",
            key, what, id, list, allowed);
    free(list);
    free(allowed);
    return false;
}

static void keep_usable(const struct topo *t, enum usable_for who, hwloc_bitmap_t set)
{
    hwloc_bitmap_and(set, set, t->online);
    if (who == USABLE_FOR_THREADS)
        hwloc_bitmap_and(set, set, t->allowed);
}

bool usable_node(const struct topo *t, const char *key, int id, enum usable_for who,
                 hwloc_bitmap_t out, struct err *err)
{
    int i = topo_node_index(t, id);
    if (i < 0) {
        hwloc_bitmap_t nodes = topo_nodes(t);
        char *list = nodes ? set_format(nodes) : NULL;
        err_set(err, STATUS_FAILED, "%s: there is no node %d; this machine has node%s %s", key, id,
                t->nodes_n > 1 ? "s" : "", list);
        free(list);
        hwloc_bitmap_free(nodes);
        return false;
    }
    const struct topo_node *node = &t->nodes[i];
    if (hwloc_bitmap_iszero(node->listed)) {
        hwloc_bitmap_t nodes = topo_nodes_with_cpus(t);
        char *list = nodes ? set_format(nodes) : NULL;
        err_set(err, STATUS_FAILED, "%s: node %d has no CPUs; nodes with usable CPUs: %s", key, id,
                list);
        free(list);
        hwloc_bitmap_free(nodes);
        return false;
    }
    hwloc_bitmap_copy(out, node->listed);
    keep_usable(t, who, out);
    return !hwloc_bitmap_iszero(out) || explain_none(t, key, "node", id, node->listed, err);
}

bool usable_socket(const struct topo *t, const char *key, int id, enum usable_for who,
                   hwloc_bitmap_t out, struct err *err)
{
    hwloc_bitmap_t all = hwloc_bitmap_alloc(), sockets = hwloc_bitmap_alloc();
    bool ok = false;
    if (!all || !sockets) {
        no_memory(key, err);
        goto out;
    }
    for (unsigned c = 0; c < t->cpus_n; c++) {
        if (t->cpus[c].package >= 0)
            hwloc_bitmap_set(sockets, (unsigned)t->cpus[c].package);
        if (t->cpus[c].package == id)
            hwloc_bitmap_set(all, c);
    }
    if (hwloc_bitmap_iszero(all)) {
        char *list = set_format(sockets);
        if (hwloc_bitmap_iszero(sockets))
            err_set(err, STATUS_FAILED, "%s: the kernel does not say which socket a CPU is in",
                    key);
        else
            err_set(err, STATUS_FAILED, "%s: there is no socket %d; this machine has %s", key, id,
                    list);
        free(list);
        goto out;
    }
    hwloc_bitmap_copy(out, all);
    keep_usable(t, who, out);
    ok = !hwloc_bitmap_iszero(out) || explain_none(t, key, "socket", id, all, err);
out:
    hwloc_bitmap_free(all);
    hwloc_bitmap_free(sockets);
    return ok;
}

/* Adds "CPUs 4-7 are offline" to *text for the members of `bad`. */
static void complain(char **text, hwloc_const_bitmap_t bad, const char *one, const char *many)
{
    if (hwloc_bitmap_iszero(bad))
        return;
    bool single = hwloc_bitmap_weight(bad) == 1;
    char *list = set_format(bad);
    text_append(text, "%sCPU%s %s %s", *text ? ", " : "", single ? "" : "s", list,
                single ? one : many);
    free(list);
}

/* What is wrong with the members of `list` that cannot be used; NULL when all can. */
static char *complaints(const struct topo *t, hwloc_const_bitmap_t list, enum usable_for who)
{
    char *text = NULL;
    hwloc_bitmap_t absent = hwloc_bitmap_alloc(), offline = hwloc_bitmap_alloc(),
                   outside = hwloc_bitmap_alloc();
    if (absent && offline && outside) {
        int c;
        hwloc_bitmap_foreach_begin(c, list)
        {
            if ((unsigned)c >= t->cpus_n || !t->cpus[c].present)
                hwloc_bitmap_set(absent, (unsigned)c);
            else if (!t->cpus[c].online)
                hwloc_bitmap_set(offline, (unsigned)c);
            else if (who == USABLE_FOR_THREADS && !t->cpus[c].allowed)
                hwloc_bitmap_set(outside, (unsigned)c);
        }
        hwloc_bitmap_foreach_end();
        complain(&text, absent, "does not exist", "do not exist");
        complain(&text, offline, "is offline", "are offline");
        complain(&text, outside, "is outside the cpuset of this process",
                 "are outside the cpuset of this process");
    }
    hwloc_bitmap_free(absent);
    hwloc_bitmap_free(offline);
    hwloc_bitmap_free(outside);
    return text;
}

bool usable_list(const struct topo *t, const char *key, hwloc_const_bitmap_t list,
                 enum usable_for who, bool allow_partial, hwloc_bitmap_t out, struct err *err)
{
    hwloc_bitmap_copy(out, list);
    keep_usable(t, who, out);
    bool whole = hwloc_bitmap_isequal(out, list), empty = hwloc_bitmap_iszero(out);
    if (whole || (allow_partial && !empty))
        return true;
    char *text = complaints(t, list, who);
    char *usable = set_format(who == USABLE_FOR_THREADS ? t->allowed : t->online);
    char *rest = set_format(out);
    if (empty)
        err_set(err, STATUS_FAILED, "%s: %s; usable are %s", key, text, usable);
    else
        err_set(err, STATUS_FAILED, "%s: %s; --allow-partial takes the rest, %s", key, text, rest);
    free(text);
    free(usable);
    free(rest);
    return false;
}

int usable_nth(const struct topo *t, hwloc_const_bitmap_t set, unsigned n)
{
    int size = hwloc_bitmap_weight(set);
    if (size <= 0)
        return -1;
    n %= (unsigned)size;
    for (int sibling = 0;; sibling++) {
        int c;
        hwloc_bitmap_foreach_begin(c, set)
        {
            int s = (unsigned)c < t->cpus_n ? t->cpus[c].sibling : 0;
            if (s == sibling && n-- == 0)
                return c;
        }
        hwloc_bitmap_foreach_end();
    }
}
