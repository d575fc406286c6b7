#define _GNU_SOURCE
#include "query.h"

#include "../placement/text.h"

#ifdef HAVE_VERBS

#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

static void take_limits(struct verbs_limits *l, const struct ibv_context *ctx,
                        const struct ibv_device_attr_ex *ex)
{
    const struct ibv_device_attr *a = &ex->orig_attr;
    *l = (struct verbs_limits){
        .known = true,
        .comp_vectors = (unsigned)ctx->num_comp_vectors,
        .max_qp = (unsigned)a->max_qp,
        .max_qp_wr = (unsigned)a->max_qp_wr,
        .max_sge = (unsigned)a->max_sge,
        .max_sge_rd = (unsigned)a->max_sge_rd,
        .max_cq = (unsigned)a->max_cq,
        .max_cqe = (unsigned)a->max_cqe,
        .max_mr = (unsigned)a->max_mr,
        .max_pd = (unsigned)a->max_pd,
        .max_qp_rd_atom = (unsigned)a->max_qp_rd_atom,
        .max_qp_init_rd_atom = (unsigned)a->max_qp_init_rd_atom,
        .max_mr_size = a->max_mr_size,
        .max_cq_count = ex->cq_mod_caps.max_cq_count,
        .max_cq_period_us = ex->cq_mod_caps.max_cq_period,
    };
}

/* enum ibv_mtu counts 256, 512, 1024, 2048, 4096 from 1. */
static unsigned mtu_bytes(enum ibv_mtu mtu)
{
    return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128u << mtu : 0;
}

static void query_context(struct verbs_device *d, struct ibv_context *ctx)
{
    struct ibv_device_attr_ex attr = {0};
    int error = ibv_query_device_ex(ctx, NULL, &attr);
    if (error) {
        d->limits_reason = text_printf("ibv_query_device_ex: %s", strerror(error));
        return;
    }
    take_limits(&d->limits, ctx, &attr);
    for (size_t i = 0; i < d->ports_n; i++) {
        struct ibv_port_attr port;
        if (ibv_query_port(ctx, (uint8_t)d->ports[i].number, &port) == 0)
            d->ports[i].mtu_bytes = mtu_bytes(port.active_mtu);
    }
}

void query_device(struct verbs_device *d)
{
    int n = 0, at = -1;
    struct ibv_device **list = ibv_get_device_list(&n);
    for (int i = 0; list && i < n; i++)
        if (strcmp(ibv_get_device_name(list[i]), d->base.name) == 0)
            at = i;
    if (at < 0) {
        d->limits_reason = text_printf("libibverbs does not know %s: its kernel part (ib_uverbs) "
                                       "or its driver (package ibverbs-providers) is missing",
                                       d->base.name);
    } else {
        struct ibv_context *ctx = ibv_open_device(list[at]);
        if (ctx)
            query_context(d, ctx);
        else
            d->limits_reason =
                text_printf("/dev/infiniband/%s: %s", list[at]->dev_name, strerror(errno));
        if (ctx)
            ibv_close_device(ctx);
    }
    if (list)
        ibv_free_device_list(list);
}

#else

void query_device(struct verbs_device *d)
{
    d->limits_reason = text_printf("this numaload was built without libibverbs");
}

#endif
