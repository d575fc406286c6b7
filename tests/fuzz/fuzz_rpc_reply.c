/* The header of an RPC reply: what is left after it lies within the input. The first 4 bytes are
 * the xid that is expected, so that the fuzzer gets past it. */
#include "fuzz_text.h"

#include "../../verbs/rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    char *copy = fuzz_text(data, size);
    struct xdr_in head = xdr_in(copy, size), in = xdr_in(copy, size);
    if (rpc_get_reply(&in, xdr_u32(&head), &err))
        must(in.ok && xdr_consumed(&in) >= 24 && xdr_consumed(&in) <= size);
    else
        must(err.text[0] != '\0');
    free(copy);
    return 0;
}
