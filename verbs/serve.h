/* The responder of raw RDMA READs: offers memory to every client that connects, and answers nothing
 * else; the READs themselves are the device's work. One thread. Only in builds with HAVE_VERBS. */
#ifndef NUMALOAD_VERBS_SERVE_H
#define NUMALOAD_VERBS_SERVE_H

#include "address.h"

#include <stdint.h>

struct responder;

struct responder_setup {
    const struct address *listen;
    const char *device; /* the only one that is served; NULL: all that lead to `listen` */
    void *memory;
    uint64_t bytes;
    uint64_t salt;                 /* of the pattern in it, told to clients */
    int node;                      /* where it is, told to clients; -1: on several */
    void (*say)(const char *text); /* what happens to clients, a sentence each; may be NULL */
};

struct responder_counts {
    uint64_t clients;  /* connections that came to read */
    uint64_t probes;   /* connections that only asked */
    uint64_t rejected; /* hellos of another version, or after the memory was revoked */
    unsigned present;  /* connections there now, probes left out */
};

/* Registers the memory on the devices and listens. `bound` is the address with its real port. */
struct responder *responder_open(const struct responder_setup *setup, struct address *bound,
                                 struct err *err);

/* Becomes readable when there is something for responder_step to do. */
int responder_fd(const struct responder *r);

/* Does what there is to do, without waiting. False when the responder itself is broken. */
bool responder_step(struct responder *r, struct err *err);

/* Deregisters the memory under the clients' READs; later clients are rejected. */
void responder_revoke(struct responder *r);

struct responder_counts responder_counts(const struct responder *r);

/* "rxe0, mlx5_0": the devices that the memory is registered on. Caller frees. */
char *responder_devices(const struct responder *r);

/* Disconnects everybody. */
void responder_close(struct responder *r);

#endif
