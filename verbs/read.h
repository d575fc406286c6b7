/* The client of raw RDMA READs: one queue pair and one CQ, used by one thread.
 *
 * By default every READ asks for a completion: the time of each is measured, and one completion for
 * several adds the wait for it to the latency of those before. cq_count and cq_period_us make fewer
 * events of them. Only in builds with HAVE_VERBS. */
#ifndef NUMALOAD_VERBS_READ_H
#define NUMALOAD_VERBS_READ_H

#include "address.h"
#include "limits.h"
#include "offer.h"

#include <jansson.h>
#include <stdbool.h>

struct reader;

struct reader_setup {
    const struct address *to;
    const char *device; /* that must be used, NULL: the one that the route leads through */
    void *memory;       /* READs go here; registered once */
    uint64_t bytes;
    unsigned depth; /* READs outstanding at most */
    /* Chooses the completion vector of the CQ, once the device is known (NULL: vector 0). */
    bool (*choose_vector)(void *arg, const char *device, unsigned vectors, unsigned *vector,
                          struct err *err);
    void *choose_arg;
    bool events;           /* sleep for an event of the CQ instead of polling it */
    unsigned cq_count;     /* moderation: completions for one event; 0: as the device does */
    uint64_t cq_period_us; /* moderation: longest time to an event; 0: as the device does */
    /* So many READs, and the last one of each reader_ring, ask for one completion; 0: one. */
    unsigned signal_every;
};

struct read_done {
    uint32_t tag;
    int32_t result; /* bytes, or -errno */
};

/* Connects only to ask what there is to read. `need` says what the run will want of the device:
 * its limits are checked. */
bool reader_probe(const struct address *to, const char *device, const struct verbs_need *need,
                  struct offer *offer, struct err *err);

/* Connects and registers. Errors name the limit or the cause. */
struct reader *reader_open(const struct reader_setup *setup, struct err *err);
void reader_close(struct reader *r);

const struct offer *reader_offer(const struct reader *r);

/* Queues one READ of `bytes` bytes at `offset` of the responder's memory, which must lie in it. At
 * most `depth` may be queued or outstanding; nothing moves before reader_ring. */
void reader_add(struct reader *r, uint32_t tag, void *buf, uint64_t offset, uint32_t bytes);

/* Hands all that was queued to the device, in one call. 0 or -errno, see reader_why. */
int reader_ring(struct reader *r);

/* Takes up to `max` finished READs, in the order they were added. Waits up to timeout_ns for the
 * first, by event or by polling. 0 when none came; -errno when the connection is of no use any more
 * (-ECONNRESET closed by the peer, -ENODEV device removed, -ENETDOWN port down, -EIO else). */
int reader_poll(struct reader *r, struct read_done *done, unsigned max, uint64_t timeout_ns);

/* The last failure in words, NULL when there was none. */
const char *reader_why(const struct reader *r);

/* What was found out about the transport: a flat object, new reference. */
json_t *reader_facts(const struct reader *r);

#endif
