#include "limits.h"

static bool too_many(const char *device, const char *what, uint64_t want, const char *limit,
                     uint64_t have, const char *remedy, struct err *err)
{
    return err_set(err, STATUS_FAILED, "%s: %llu asked for, but %s allows %llu (%s); %s", what,
                   (unsigned long long)want, device, (unsigned long long)have, limit, remedy);
}

static bool check_vector(const struct verbs_device *d, int vector, struct err *err)
{
    if (vector < 0 || (unsigned)vector < d->limits.comp_vectors)
        return true;
    if (d->limits.comp_vectors == 0)
        return err_set(err, STATUS_FAILED, "vector %d: %s has no completion vector", vector,
                       d->base.name);
    return err_set(err, STATUS_FAILED, "vector %d: %s has 0..%u", vector, d->base.name,
                   d->limits.comp_vectors - 1);
}

static bool check_memory(const struct verbs_device *d, uint64_t bytes, struct err *err)
{
    uint64_t max = d->limits.max_mr_size;
    return !max || bytes <= max ||
           too_many(d->base.name, "bytes of memory in one registration", bytes, "max_mr_size", max,
                    "lower block or iodepth", err);
}

static bool check_moderation(const struct verbs_device *d, const struct verbs_need *n,
                             struct err *err)
{
    if (!n->cq_count && !n->cq_period_us)
        return true;
    const struct verbs_limits *l = &d->limits;
    if (!l->max_cq_count || !l->max_cq_period_us)
        return err_set(err, STATUS_FAILED, "%s cannot moderate the events of a CQ (cq_mod_caps)",
                       d->base.name);
    if (n->cq_count > l->max_cq_count)
        return too_many(d->base.name, "completions an event", n->cq_count, "max_cq_count",
                        l->max_cq_count, "ask for fewer", err);
    if (n->cq_period_us > l->max_cq_period_us)
        return too_many(d->base.name, "microseconds to an event", n->cq_period_us, "max_cq_period",
                        l->max_cq_period_us, "ask for fewer", err);
    return true;
}

bool verbs_limits_check(const struct verbs_device *d, const struct verbs_need *need,
                        struct err *err)
{
    const struct verbs_limits *l = &d->limits;
    if (!l->known)
        return true;
    uint64_t qps = (uint64_t)need->threads * (need->connections ? need->connections : 1);
    uint64_t mrs = (uint64_t)need->threads * (need->mrs_per_thread ? need->mrs_per_thread : 1);
    uint64_t requests = (uint64_t)need->depth + need->extra;
    const struct {
        const char *what, *limit, *remedy;
        uint64_t want, have;
    } checks[] = {
        {"queue pairs", "max_qp", "lower threads", qps, l->max_qp},
        {"CQs", "max_cq", "lower threads", qps, l->max_cq},
        {"protection domains", "max_pd", "lower threads", need->threads, l->max_pd},
        {"memory registrations", "max_mr", "lower threads", mrs, l->max_mr},
        {"requests in one queue pair (iodepth)", "max_qp_wr", "lower iodepth", requests,
         l->max_qp_wr},
        {"completions in one CQ (iodepth)", "max_cqe", "lower iodepth", requests, l->max_cqe},
        {"pieces of memory a request", "max_sge", "lower block", need->sge, l->max_sge},
    };
    for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
        if (checks[i].have && checks[i].want > checks[i].have)
            return too_many(d->base.name, checks[i].what, checks[i].want, checks[i].limit,
                            checks[i].have, checks[i].remedy, err);
    return check_memory(d, need->mr_bytes, err) && check_vector(d, need->comp_vector, err) &&
           check_moderation(d, need, err);
}
