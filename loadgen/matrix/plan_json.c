/* The document of a plan, and whether two of them are one series. */
#include "plan.h"

#include "../record/hostfacts.h"
#include "../record/record.h"

#include <stdlib.h>
#include <string.h>

json_t *plan_machine(void)
{
    static const char *const facts[] = {
        "kernel_release", "kernel_version", "product_name", "cpu_model",
        "threads",        "nodes",          "page_bytes",   NULL};
    struct topo *topo = NULL;
    struct err err;
    json_t *machine = json_object(), *notes = json_array();
    json_t *host = topo_load(&topo, &err) ? hostfacts_read(topo, notes) : json_object();
    for (const char *const *f = facts; *f; f++) {
        json_t *value = json_object_get(host, *f);
        json_object_set_new(machine, *f, value ? json_deep_copy(value) : json_null());
    }
    /* The memory of a node varies a little from boot to boot. */
    size_t i;
    json_t *node;
    json_array_foreach(json_object_get(machine, "nodes"), i, node)
        json_object_del(node, "memory_bytes");
    json_decref(host);
    json_decref(notes);
    topo_free(topo);
    return machine;
}

static json_t *axes_json(const struct cells *c)
{
    json_t *list = json_array();
    for (unsigned a = 0; a < c->axes_n; a++) {
        json_t *values = json_array();
        for (unsigned v = 0; v < c->axes[a].values_n; v++) {
            json_t *s = json_string(c->axes[a].values[v]);
            json_array_append_new(values, s ? s : json_string("(not UTF-8)"));
        }
        json_array_append_new(
            list, json_pack("{s:s, s:o}", "key", c->axes[a].key->name, "values", values));
    }
    return list;
}

static json_t *selections_json(const struct cells *c, const struct selection *list, unsigned n)
{
    json_t *a = json_array();
    for (unsigned i = 0; i < n; i++)
        json_array_append_new(a, selection_json(c, &list[i]));
    return a;
}

static json_t *runs_json(const struct plan *plan)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < plan->runs_n; i++) {
        const struct planned_run *r = &plan->runs[i];
        json_array_append_new(
            list, json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:b}", "run", (int)r->run, "cell",
                            (int)r->cell, "repeat", (int)r->repeat, "block", (int)r->block, "order",
                            (int)r->order, "boot", (int)r->boot, "optional", (int)r->optional));
    }
    return list;
}

json_t *plan_json(const struct plan *plan, const struct profile *profile, json_t *machine,
                  const char *series)
{
    const struct matrix_settings *s = plan->settings;
    const struct cells *c = &plan->cells;
    json_t *new_record = record_new(), *o = json_object();
    json_object_set_new(o, "schema", json_string("numaload-plan"));
    json_object_set_new(o, "schema_version", json_integer(1));
    json_object_set(o, "program", json_object_get(new_record, "program"));
    json_object_set(o, "created_at", json_object_get(new_record, "started_at"));
    json_decref(new_record);
    json_object_set_new(o, "series", json_string(series));
    json_object_set_new(o, "profile", profile_json(profile));
    json_object_set_new(o, "axes", axes_json(c));
    json_object_set_new(o, "excluded", selections_json(c, c->excluded, c->excluded_n));
    json_object_set_new(o, "cells", selections_json(c, c->cells, c->n));
    json_object_set_new(o, "baseline", selection_json(c, &c->cells[plan->baseline]));
    json_object_set_new(o, "order", json_string(s->order));
    json_object_set_new(o, "seed", json_integer((json_int_t)plan->seed));
    json_object_set_new(o, "warmup", json_integer((json_int_t)s->warmup));
    json_object_set_new(o, "repeats", json_integer((json_int_t)s->repeats));
    json_object_set_new(o, "repeats_max", json_integer(plan->repeats_max));
    json_object_set_new(o, "precision",
                        plan->precision > 0 ? json_real(plan->precision) : json_null());
    json_object_set_new(o, "boots", json_integer((json_int_t)s->boots));
    json_object_set_new(o, "tries", json_integer((json_int_t)s->tries));
    json_object_set_new(o, "remount", json_string(s->remount));
    json_object_set_new(o, "pause_ns", json_integer((json_int_t)s->pause_ns));
    json_object_set_new(o, "settle",
                        json_pack("{s:I, s:f, s:f}", "max_ns", (json_int_t)s->settle_max_ns,
                                  "idle_points", (double)s->settle_idle_points,
                                  "interrupts_percent", (double)s->settle_interrupts_percent));
    json_object_set(o, "expect", plan->expect);
    json_object_set(o, "machine", machine);
    json_object_set_new(o, "runs", runs_json(plan));
    return o;
}

/* ---- agreement ---- */

static bool among(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

static void differ(struct err *err, unsigned *n, const char *of, const char *key, const json_t *was,
                   const json_t *is)
{
    enum { SHOWN = 4 };
    size_t used = strlen(err->text), room = sizeof(err->text) - used;
    if (++*n > SHOWN) {
        if (*n == SHOWN + 1)
            snprintf(err->text + used, room, "; and more");
        return;
    }
    char *a = was ? json_dumps(was, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    char *b = is ? json_dumps(is, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    snprintf(err->text + used, room, "%s%s%s was %.90s and is %.90s", *n > 1 ? "; " : "", of, key,
             a ? a : "not there", b ? b : "not there");
    free(a);
    free(b);
}

/* Keys of `was` and `is` that are not ignored and differ. */
static unsigned differences(const json_t *was, const json_t *is, const char *of,
                            const char *const *ignored, struct err *err, unsigned n)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)was, key, value)
    {
        const json_t *other = json_object_get(is, key);
        if (!among(key, ignored) && !json_equal(value, other))
            differ(err, &n, of, key, value, other);
    }
    json_object_foreach((json_t *)is, key, value)
    {
        if (!among(key, ignored) && !json_object_get(was, key))
            differ(err, &n, of, key, NULL, value);
    }
    return n;
}

bool plan_agrees(const json_t *was, const json_t *is, bool *changed, struct err *err)
{
    static const char *const judging[] = {"repeats",  "repeats_max", "precision", "boots",
                                          "tries",    "baseline",    "expect",    "runs",
                                          "pause_ns", NULL};
    static const char *const own[] = {"schema", "schema_version", "program", "created_at",
                                      "series", "profile",        "machine", NULL};
    static const char *const of_output[] = {"json", "record", "label", "file", NULL};
    static const char *const none[] = {NULL};
    struct err e = {.status = STATUS_USAGE};
    const char *ignored[sizeof(judging) / sizeof(*judging) + sizeof(own) / sizeof(*own)];
    size_t k = 0;
    for (const char *const *w = judging; *w; w++)
        ignored[k++] = *w;
    for (const char *const *w = own; *w; w++)
        ignored[k++] = *w;
    ignored[k] = NULL;

    unsigned n = differences(json_object_get(was, "profile"), json_object_get(is, "profile"),
                             "profile ", of_output, &e, 0);
    n = differences(was, is, "", ignored, &e, n);
    n = differences(json_object_get(was, "machine"), json_object_get(is, "machine"), "machine ",
                    none, &e, n);
    *changed = false;
    for (const char *const *w = judging; *w; w++)
        *changed |= !json_equal(json_object_get(was, *w), json_object_get(is, *w));
    if (n == 0)
        return true;
    return err_set(err, STATUS_USAGE, "%s", e.text);
}
