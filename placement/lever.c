#include "lever.h"

#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *lever_new(const struct lever_ops *ops, size_t bytes, const char *word, bool asked,
                struct err *err)
{
    struct lever *l = calloc(1, bytes);
    char *copy = strdup(word);
    if (!l || !copy) {
        free(l);
        free(copy);
        err_set(err, STATUS_FAILED, "%s: out of memory", ops->name);
        return NULL;
    }
    l->ops = ops;
    l->asked = asked;
    l->word = copy;
    return l;
}

int lever_add_value(struct lever *l, const char *path, char *want)
{
    struct lever_value *bigger = realloc(l->values, (l->values_n + 1) * sizeof(*bigger));
    if (!bigger) {
        free(want);
        return -ENOMEM;
    }
    l->values = bigger;
    struct lever_value *v = &l->values[l->values_n];
    *v = (struct lever_value){.want = want};
    int error = setting_open(&v->s, path);
    if (error)
        free(want);
    else
        l->values_n++;
    return error;
}

bool lever_write(struct place *p, struct lever_value *v, struct err *err)
{
    if (!p->journal &&
        !journal_begin(&p->journal, p->ask.journal_dir, p->ask.say, p->ask.say_ctx, err))
        return false;
    v->error = setting_write(&v->s, v->want, p->journal);
    return true;
}

double lever_min_share(const struct place *p)
{
    return p->ask.min_share > 0 ? p->ask.min_share : 0.95;
}

bool lever_no_device(const struct place *p, const char *prefix, struct err *err)
{
    return err_set(err, STATUS_USAGE, "%s: of which device? Name it with --device%s%s", prefix,
                   p->device_tried ? "; it was not found: " : "",
                   p->device_tried ? p->device_tried : "");
}

bool lever_cpus_of_word(const struct place *p, const char *key, const char *text,
                        const struct word *w, enum usable_for who, hwloc_bitmap_t out,
                        struct err *err)
{
    char prefix[64];
    int node = w->id;
    snprintf(prefix, sizeof(prefix), "%s = %.50s", key, text);
    if (w->kind == WORD_CPUS)
        return usable_list(p->topo, prefix, w->cpus, who, p->ask.allow_partial, out, err);
    if (w->kind == WORD_SOCKET)
        return usable_socket(p->topo, prefix, w->id, who, out, err);
    if (w->kind == WORD_NIC || w->kind == WORD_REMOTE) {
        if (!p->device_named)
            return lever_no_device(p, prefix, err);
        if (!device_node(&p->device, p->topo, &node, err))
            return err_prefix(err, "%s", prefix);
    }
    if (w->kind == WORD_REMOTE && !device_remote_node(p->topo, node, &node, err))
        return err_prefix(err, "%s", prefix);
    return usable_node(p->topo, prefix, node, who, out, err);
}

char *lever_shares(const struct topo *t, const uint64_t *by_node, uint64_t other,
                   const char *other_name)
{
    uint64_t total = other;
    for (unsigned i = 0; i < t->nodes_n; i++)
        total += by_node[i];
    char *text = NULL;
    for (unsigned i = 0; i < t->nodes_n; i++)
        if (by_node[i])
            text_append(&text, "%snode%d %.3g %%", text ? ", " : "", t->nodes[i].id,
                        100.0 * (double)by_node[i] / (double)total);
    if (other)
        text_append(&text, "%s%s %.3g %%", text ? ", " : "", other_name,
                    100.0 * (double)other / (double)total);
    return text;
}

json_t *lever_counts(const struct topo *t, const uint64_t *by_node)
{
    json_t *counts = json_object();
    for (unsigned i = 0; i < t->nodes_n; i++) {
        char id[16];
        snprintf(id, sizeof(id), "%d", t->nodes[i].id);
        json_object_set_new(counts, id, json_integer((json_int_t)by_node[i]));
    }
    return counts;
}
