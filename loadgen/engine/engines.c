#include "engine.h"

#include <string.h>

extern const struct engine_ops engine_uring, engine_aio, engine_sync, engine_libnfs,
    engine_nfs_rdma, engine_rdma_read;

const char *const engine_names[] = {"uring",    "aio",       "sync", "libnfs",
                                    "nfs-rdma", "rdma-read", NULL};

const struct engine_ops *const engines[] = {
#ifdef HAVE_URING
    &engine_uring,
#endif
#ifdef HAVE_AIO
    &engine_aio,
#endif
    &engine_sync,
#ifdef HAVE_LIBNFS
    &engine_libnfs,
#endif
#ifdef HAVE_VERBS
    &engine_nfs_rdma,
    &engine_rdma_read,
#endif
    NULL,
};

const struct engine_ops *engine_find(const char *name, struct err *err)
{
    for (const struct engine_ops *const *e = engines; *e; e++)
        if (strcmp((*e)->name, name) == 0)
            return *e;
    err_set(err, STATUS_SKIP,
            "engine %s: this numaload was built without it ('numaload version' says what is in it)",
            name);
    return NULL;
}
