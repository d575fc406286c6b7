#include "device.h"

#include <stdio.h>
#include <string.h>

static json_t *text_or_null(const char *text)
{
    json_t *s = *text ? json_string(text) : NULL;
    return s ? s : json_null();
}

static json_t *gid_json(const struct verbs_gid *g)
{
    if (!g)
        return json_null();
    return json_pack("{s:i, s:s, s:s, s:o}", "index", (int)g->index, "address", g->text, "type",
                     verbs_gid_type_name(g->type), "interface", text_or_null(g->netdev));
}

static json_t *port_json(const struct verbs_device *d, const struct verbs_port *p)
{
    json_t *gids = json_array();
    for (size_t i = 0; i < p->gids_n; i++)
        json_array_append_new(gids, gid_json(&p->gids[i]));
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "port", (int)p->number, "state",
                     text_or_null(p->state), "physical_state", text_or_null(p->physical),
                     "link_layer", text_or_null(p->link_layer), "rate", text_or_null(p->rate),
                     "active_mtu_bytes",
                     p->mtu_bytes ? json_integer((json_int_t)p->mtu_bytes) : json_null(),
                     "gid_chosen", gid_json(verbs_gid_choose(d, p, GID_ANY, NULL)), "gids", gids);
}

static json_t *limits_json(const struct verbs_limits *l)
{
    if (!l->known)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "max_qp",
                     (json_int_t)l->max_qp, "max_qp_wr", (json_int_t)l->max_qp_wr, "max_sge",
                     (json_int_t)l->max_sge, "max_sge_rd", (json_int_t)l->max_sge_rd, "max_cq",
                     (json_int_t)l->max_cq, "max_cqe", (json_int_t)l->max_cqe, "max_mr",
                     (json_int_t)l->max_mr, "max_pd", (json_int_t)l->max_pd, "max_mr_size_bytes",
                     (json_int_t)(l->max_mr_size > INT64_MAX ? INT64_MAX : l->max_mr_size),
                     "max_qp_rd_atom", (json_int_t)l->max_qp_rd_atom, "max_qp_init_rd_atom",
                     (json_int_t)l->max_qp_init_rd_atom, "max_cq_moderation_count",
                     (json_int_t)l->max_cq_count, "max_cq_moderation_period_us",
                     (json_int_t)l->max_cq_period_us);
}

json_t *verbs_device_json(const struct verbs_device *d)
{
    json_t *ports = json_array(), *irqs = json_array();
    for (size_t i = 0; i < d->ports_n; i++)
        json_array_append_new(ports, port_json(d, &d->ports[i]));
    for (size_t i = 0; i < d->base.irqs_n; i++)
        json_array_append_new(irqs, json_integer((json_int_t)d->base.irqs[i]));
    json_t *o =
        json_pack("{s:s, s:s, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "name", d->base.name,
                  "transport", d->iwarp ? "iWARP" : "InfiniBand", "firmware",
                  text_or_null(d->firmware), "soft", d->base.soft, "numa_node",
                  d->base.numa_node >= 0 ? json_integer(d->base.numa_node) : json_null(),
                  "interface", text_or_null(d->base.netdev), "irqs", irqs, "completion_vectors",
                  d->limits.known ? json_integer((json_int_t)d->limits.comp_vectors) : json_null(),
                  "limits", limits_json(&d->limits), "ports", ports);
    if (d->limits_reason)
        json_object_set_new(o, "limits_reason", text_or_null(d->limits_reason));
    return o;
}

static const char *text_in(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "unknown";
}

static long long int_in(const json_t *o, const char *key)
{
    return (long long)json_integer_value(json_object_get(o, key));
}

static void print_port(const json_t *p)
{
    const json_t *gid = json_object_get(p, "gid_chosen"), *mtu;
    printf("  port %lld: %s (%s), %s, %s", int_in(p, "port"), text_in(p, "state"),
           text_in(p, "physical_state"), text_in(p, "link_layer"), text_in(p, "rate"));
    mtu = json_object_get(p, "active_mtu_bytes");
    if (json_is_integer(mtu))
        printf(", MTU %lld", (long long)json_integer_value(mtu));
    puts("");
    if (json_is_object(gid))
        printf("    GID %lld: %s, %s, on %s (of %zu)\n", int_in(gid, "index"),
               text_in(gid, "address"), text_in(gid, "type"), text_in(gid, "interface"),
               json_array_size(json_object_get(p, "gids")));
    else
        printf("    no usable GID (of %zu)\n", json_array_size(json_object_get(p, "gids")));
}

void verbs_device_print(const json_t *device)
{
    size_t i;
    json_t *p;
    const json_t *limits = json_object_get(device, "limits");
    json_array_foreach(json_object_get(device, "ports"), i, p) print_port(p);
    if (!json_is_object(limits)) {
        printf("  completion vectors and limits unavailable: %s\n",
               text_in(device, "limits_reason"));
        return;
    }
    long long vectors = int_in(device, "completion_vectors");
    if (vectors > 0)
        printf("  completion vectors 0..%lld", vectors - 1);
    else
        fputs("  no completion vector", stdout);
    printf("; a queue pair: %lld requests, %lld READs on the wire\n", int_in(limits, "max_qp_wr"),
           int_in(limits, "max_qp_init_rd_atom"));
}
