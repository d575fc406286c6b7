/* One connection that carries RPC-over-RDMA messages, as the client sees it: rpcrdma_conn.h over
 * rdma_cm, or a scripted peer in a test. Used by one thread. */
#ifndef NUMALOAD_VERBS_TRANSPORT_H
#define NUMALOAD_VERBS_TRANSPORT_H

#include "../placement/err.h"

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

enum { TRANSPORT_FDS = 2 };

struct transport;

struct transport_msg {
    const void *data; /* valid until the message is released */
    size_t bytes;
    uint32_t buffer; /* the transport's name for the receive buffer */
};

struct transport_ops {
    /* Where the next message to be sent is written, t->send_bytes long; NULL: the send queue is
     * full until poll() has seen some of it sent. */
    void *(*next)(struct transport *t);

    /* Queues what was written there. The queue is handed over by flush(). */
    void (*send)(struct transport *t, size_t bytes);
    bool (*flush)(struct transport *t, struct err *err);

    /* Takes up to max received messages without waiting. -1: the connection is over, err says why.
     */
    int (*poll)(struct transport *t, struct transport_msg *msgs, unsigned max, struct err *err);

    /* Gives receive buffers back to the peer's use. */
    bool (*release)(struct transport *t, const struct transport_msg *msgs, unsigned n,
                    struct err *err);

    /* Makes the fds readable with the next event. After it, poll() once more before waiting. */
    bool (*arm)(struct transport *t, struct err *err);
    unsigned (*fds)(const struct transport *t, struct pollfd fds[TRANSPORT_FDS]);

    /* Disconnects; nothing reaches the registered memory any more when it returns. */
    void (*close)(struct transport *t);
};

struct transport {
    const struct transport_ops *ops;
    uint32_t send_bytes; /* largest message that the peer takes inline */
    uint32_t credits;    /* receive buffers, and thus the credits to ask for */
    uint32_t rkey;       /* of the thread's buffers */
    bool lost; /* after an operation failed: the way to the peer went, not the peer's manners */

    /* The client's: RFC 8166, 3.3.1. One call may be sent before the first reply has granted more.
     */
    uint32_t granted;
    uint32_t outstanding;
    uint32_t granted_min, granted_max; /* over all replies */
};

#endif
