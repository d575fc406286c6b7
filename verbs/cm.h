/* The client's way to a connection, over librdmacm: each step has a deadline, and each way to fail
 * a sentence. One connection, used by one thread. Only in builds with HAVE_VERBS. */
#ifndef NUMALOAD_VERBS_CM_H
#define NUMALOAD_VERBS_CM_H

#include "address.h"

#include <rdma/rdma_cma.h>
#include <stdint.h>

struct cm {
    struct rdma_event_channel *channel;
    struct rdma_cm_id *id; /* id->verbs and id->port_num are set by cm_resolve */
    struct address to;
    bool connected;
    bool removed;   /* the device */
    char lost[256]; /* why the connection is over, "" while it is not */
    char port[128]; /* text of cm_port_down */
};

/* What came with the acceptance. */
struct cm_answer {
    uint8_t data[256]; /* private data, padded by some transports */
    size_t bytes;
    unsigned reads; /* READs that may be on the wire at a time; 0: not said */
};

/* Finds the device, port and route to `to`. `device` (NULL: any) must be the one that is found;
 * from its own address if it has one of the same family. Refuses: no RDMA devices (STATUS_SKIP),
 * no route, no device on the route, no GID, a port that is not active. Release with cm_close in
 * every case. */
bool cm_resolve(struct cm *cm, const struct address *to, const char *device, struct err *err);

/* Connects the queue pair that the caller has made with rdma_create_qp. `reads` is how many READs
 * this side wants on the wire, `answers` how many of the peer's it answers at a time. A rejection
 * by the listener's will sets *rejected and *answer: its data may say why. */
bool cm_connect(struct cm *cm, const void *data, uint8_t bytes, uint8_t reads, uint8_t answers,
                struct cm_answer *answer, bool *rejected, struct err *err);

/* Takes what happened to the connection meanwhile, without waiting: NULL while it stands, else a
 * sentence that stays valid. */
const char *cm_lost(struct cm *cm);

/* Why a request has failed, for use once after it did: waits up to 0.5 s for the event, and notices
 * a device that is gone without one. NULL: nothing is known; else as cm_lost. */
const char *cm_cause(struct cm *cm, bool *removed);

/* "port 1 of rxe0 went down (down)", valid until the next call; NULL: the port is active, or says
 * nothing. */
const char *cm_port_down(struct cm *cm);

/* Disconnects, destroys the queue pair and the rest; what is outstanding is over then. */
void cm_close(struct cm *cm);

/* Monotonic, ns. */
uint64_t cm_now_ns(void);

#endif
