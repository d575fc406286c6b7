#include "offer.h"

#include <endian.h>
#include <string.h>

#define MAGIC UINT32_C(0x4e4c5244) /* "NLRD" */
#define VERSION 1

struct hello_wire {
    uint32_t magic;
    uint16_t version, purpose;
};

struct offer_wire {
    uint32_t magic;
    uint16_t version, answer;
    uint64_t bytes, address;
    uint32_t rkey, node;
    uint64_t salt;
    uint32_t reads, reserved;
};

_Static_assert(sizeof(struct hello_wire) == HELLO_BYTES, "no padding");
_Static_assert(sizeof(struct offer_wire) == OFFER_BYTES, "no padding");

void hello_encode(uint8_t out[HELLO_BYTES], enum hello_purpose purpose)
{
    struct hello_wire w = {htobe32(MAGIC), htobe16(VERSION), htobe16((uint16_t)purpose)};
    memcpy(out, &w, sizeof(w));
}

bool hello_decode(const void *data, size_t bytes, enum hello_purpose *purpose)
{
    struct hello_wire w;
    if (bytes < sizeof(w))
        return false;
    memcpy(&w, data, sizeof(w));
    unsigned p = be16toh(w.purpose);
    *purpose = p == HELLO_PROBE ? HELLO_PROBE : HELLO_LOAD;
    return be32toh(w.magic) == MAGIC && be16toh(w.version) == VERSION &&
           (p == HELLO_PROBE || p == HELLO_LOAD);
}

void offer_encode(uint8_t out[OFFER_BYTES], const struct offer *o)
{
    struct offer_wire w = {
        .magic = htobe32(MAGIC),
        .version = htobe16(VERSION),
        .answer = htobe16((uint16_t)o->answer),
        .bytes = htobe64(o->bytes),
        .address = htobe64(o->address),
        .rkey = htobe32(o->rkey),
        .node = htobe32((uint32_t)o->node),
        .salt = htobe64(o->salt),
        .reads = htobe32(o->reads),
    };
    memcpy(out, &w, sizeof(w));
}

bool offer_decode(const void *data, size_t bytes, struct offer *o, struct err *err)
{
    struct offer_wire w;
    *o = (struct offer){.node = -1};
    if (bytes < sizeof(w))
        return err_set(err, STATUS_FAILED,
                       "the peer's answer has %zu bytes, an offer of memory has %d: it is not "
                       "'numaload serve'",
                       bytes, OFFER_BYTES);
    memcpy(&w, data, sizeof(w));
    if (be32toh(w.magic) != MAGIC)
        return err_set(err, STATUS_FAILED,
                       "the peer's answer is no offer of memory: it is not 'numaload serve'");
    if (be16toh(w.version) != VERSION)
        return err_set(err, STATUS_FAILED,
                       "the responder speaks version %u, this numaload version %d: use the same "
                       "one on both sides",
                       be16toh(w.version), VERSION);
    unsigned answer = be16toh(w.answer);
    if (answer > OFFER_NO_RESOURCES)
        return err_set(err, STATUS_FAILED, "the responder's answer is %u, which means nothing",
                       answer);
    o->answer = (enum offer_answer)answer;
    if (o->answer != OFFER_TAKEN)
        return true;
    o->bytes = be64toh(w.bytes);
    o->address = be64toh(w.address);
    o->rkey = be32toh(w.rkey);
    o->node = (int32_t)be32toh(w.node);
    o->salt = be64toh(w.salt);
    o->reads = be32toh(w.reads);
    if (o->bytes == 0 || o->bytes > INT64_MAX || o->address > UINT64_MAX - o->bytes)
        return err_set(err, STATUS_FAILED,
                       "the responder offers %llu bytes at address 0x%llx, which no memory has",
                       (unsigned long long)o->bytes, (unsigned long long)o->address);
    return true;
}

const char *offer_answer_text(enum offer_answer answer)
{
    static const char *const texts[] = {
        [OFFER_TAKEN] = "taken",
        [OFFER_OTHER_VERSION] =
            "the responder is of another version: use the same numaload on both sides",
        [OFFER_REVOKED] = "the responder has revoked its memory",
        [OFFER_NO_RESOURCES] = ("the responder could make no queue pair for this connection; "
                                "its own messages say why"),
    };
    return texts[answer];
}
