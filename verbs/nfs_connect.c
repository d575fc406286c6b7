#define _GNU_SOURCE
#ifdef HAVE_VERBS
#include "nfs_connect.h"

#include "cm.h"
#include "nfs_call.h"

/* At most, for the first answer of one connection: long for a server that works. */
#define ANSWER_NS UINT64_C(5000000000)

struct transport *nfs_connect(const struct rpcrdma_setup *setup, struct rpcrdma_facts *facts,
                              uint64_t deadline_ns, unsigned *unanswered, struct err *err)
{
    uint64_t until = cm_now_ns() + deadline_ns;
    /* A short deadline leaves time for a second connection. */
    uint64_t answer_ns = deadline_ns / 2 < ANSWER_NS ? deadline_ns / 2 : ANSWER_NS;
    for (;;) {
        struct nfs_call call;
        struct err why = {0}; /* of an attempt that the next one may make good */
        struct transport *t = rpcrdma_connect(setup, facts, err);
        if (!t)
            return NULL;
        uint64_t now = cm_now_ns(), left = now < until ? until - now : 0;
        nfs_call_begin(&call);
        if (nfs_call(t, &call, NFS3_NULL, NULL, left < answer_ns ? left : answer_ns, &why))
            return t;
        bool silent = t->outstanding && !t->lost;
        t->ops->close(t);
        if (!silent || cm_now_ns() >= until) {
            err_set(err, why.status, "%s: %s", setup->to->text, why.text);
            return NULL;
        }
        ++*unanswered;
    }
}
#endif
