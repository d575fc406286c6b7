/* The header of a reply: what is taken lies within the input and within what was offered. */
#include "fuzz_text.h"

#include "../../verbs/rpcrdma_msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rpcrdma_reply r;
    struct err err = {0};
    char *copy = fuzz_text(data, size);
    if (rpcrdma_get_reply(&r, copy, size, &err)) {
        must(r.segments_n <= RPCRDMA_SEGMENTS_MAX && (r.has_write || r.segments_n == 0));
        must((const char *)r.rpc >= copy + 28 && (const char *)r.rpc + r.rpc_bytes == copy + size);
    } else {
        must(err.text[0] != '\0');
    }
    struct rpcrdma_private p = rpcrdma_get_private(copy, size);
    must(p.send_bytes >= 1024 && p.send_bytes <= 262144);
    must(p.recv_bytes >= 1024 && p.recv_bytes <= 262144);
    free(copy);
    return 0;
}
