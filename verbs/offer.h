/* What client and responder of raw RDMA READs tell each other in rdma_cm's private data.
 *
 * All fields are big-endian. The client's hello fits the 56 bytes that a request has on InfiniBand
 * and RoCE (rdma_connect(3)), the offer the 196 of a reply. What arrives may be longer: InfiniBand
 * pads to the full length. */
#ifndef NUMALOAD_VERBS_OFFER_H
#define NUMALOAD_VERBS_OFFER_H

#include "../placement/err.h"

#include <stddef.h>
#include <stdint.h>

#define OFFER_PORT "20885" /* where a responder listens unless told otherwise */

enum {
    HELLO_BYTES = 8, /* magic 4, version 2, purpose 2 */
    OFFER_BYTES = 48 /* magic 4, version 2, answer 2, bytes 8, address 8, rkey 4, node 4, salt 8,
                        reads 4, reserved 4 */
};

enum hello_purpose {
    HELLO_PROBE = 1, /* asks for the offer and leaves */
    HELLO_LOAD = 2,  /* will read */
};

enum offer_answer {
    OFFER_TAKEN = 0,
    OFFER_OTHER_VERSION = 1, /* rejected: the hello is of another version, or none */
    OFFER_REVOKED = 2,       /* rejected: the memory is not offered any more */
    OFFER_NO_RESOURCES = 3,  /* rejected: no queue pair could be made */
};

struct offer {
    enum offer_answer answer;
    uint64_t bytes;   /* of memory; what follows is valid when the answer is OFFER_TAKEN */
    uint64_t address; /* in the responder, of byte 0 */
    uint32_t rkey;
    int32_t node;   /* where the memory is; -1: on several, or not known */
    uint64_t salt;  /* of the pattern that fills it */
    uint32_t reads; /* READs the responder answers at a time, 0: not said */
};

void hello_encode(uint8_t out[HELLO_BYTES], enum hello_purpose purpose);

/* False for what is no hello of this version. */
bool hello_decode(const void *data, size_t bytes, enum hello_purpose *purpose);

void offer_encode(uint8_t out[OFFER_BYTES], const struct offer *offer);

/* Refuses, with what is wrong: too short, another program's, another version's, an answer that is
 * none, memory of no bytes, more than 2^63 bytes, or that wraps around the address space. */
bool offer_decode(const void *data, size_t bytes, struct offer *offer, struct err *err);

/* The sentence for an answer that is not OFFER_TAKEN. */
const char *offer_answer_text(enum offer_answer answer);

#endif
