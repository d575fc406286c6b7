/* An offer that is taken describes memory that can exist, and says the same after it was encoded
 * and decoded again; addresses of any text are split without harm. */
#include "fuzz_text.h"

#include "../../verbs/address.h"
#include "../../verbs/offer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    struct offer o, again;
    enum hello_purpose p;
    uint8_t wire[OFFER_BYTES];
    hello_decode(data, size, &p);
    if (!offer_decode(data, size, &o, &err)) {
        must(err.text[0] != '\0');
    } else if (o.answer == OFFER_TAKEN) {
        must(o.bytes > 0 && o.address + o.bytes >= o.address);
        offer_encode(wire, &o);
        must(offer_decode(wire, sizeof(wire), &again, NULL));
        must(o.bytes == again.bytes && o.address == again.address && o.rkey == again.rkey);
        must(o.node == again.node && o.salt == again.salt && o.reads == again.reads);
    }
    char *text = fuzz_text(data, size);
    char *host = malloc(size + 16), *port = malloc(size + 16);
    must(host && port);
    address_split(text, OFFER_PORT, host, port, &err);
    free(host);
    free(port);
    free(text);
    return 0;
}
