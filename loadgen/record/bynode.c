#include "bynode.h"

#include <stdio.h>
#include <stdlib.h>

static unsigned slot_of_node(const struct topo *topo, int node)
{
    for (unsigned i = 0; i < topo->nodes_n; i++)
        if (topo->nodes[i].id == node)
            return i;
    return topo->nodes_n;
}

bool bynode_init(struct bynode *b, const struct topo *topo)
{
    *b = (struct bynode){.n = topo->nodes_n + 1, .cpus_n = topo->cpus_n};
    b->slot = calloc(topo->cpus_n + 1u, sizeof(*b->slot));
    b->id = calloc(b->n, sizeof(*b->id));
    b->has_cpus = calloc(b->n, sizeof(*b->has_cpus));
    if (!b->slot || !b->id || !b->has_cpus) {
        bynode_free(b);
        return false;
    }
    for (unsigned i = 0; i < topo->nodes_n; i++)
        b->id[i] = topo->nodes[i].id;
    b->id[topo->nodes_n] = -1;
    for (unsigned cpu = 0; cpu < topo->cpus_n; cpu++) {
        unsigned slot = slot_of_node(topo, topo->cpus[cpu].node);
        b->slot[cpu] = (uint16_t)slot;
        b->has_cpus[slot] |= topo->cpus[cpu].present;
    }
    return true;
}

void bynode_free(struct bynode *b)
{
    free(b->slot);
    free(b->id);
    free(b->has_cpus);
    *b = (struct bynode){0};
}

unsigned bynode_slot(const struct bynode *b, uint64_t cpu)
{
    return cpu < b->cpus_n ? b->slot[cpu] : b->n - 1;
}

void bynode_put(const struct bynode *b, json_t *object, const uint64_t *sums)
{
    json_t *nodes = json_object();
    for (unsigned i = 0; i + 1 < b->n; i++) {
        if (!b->has_cpus[i] && sums[i] == 0)
            continue;
        char key[16];
        snprintf(key, sizeof(key), "%d", b->id[i]);
        json_object_set_new(nodes, key, json_integer((json_int_t)sums[i]));
    }
    json_object_set_new(object, "by_node", nodes);
    if (sums[b->n - 1])
        json_object_set_new(object, "node_unknown", json_integer((json_int_t)sums[b->n - 1]));
}
