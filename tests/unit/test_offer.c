/* What client and responder of raw READs tell each other, and the addresses they are found at. */
#include "check.h"

#include "../../verbs/address.h"
#include "../../verbs/offer.h"

static const struct offer good = {.answer = OFFER_TAKEN,
                                  .bytes = UINT64_C(0x0102030405060708),
                                  .address = UINT64_C(0x1112131415161718),
                                  .rkey = 0x21222324,
                                  .node = 3,
                                  .salt = UINT64_C(0x3132333435363738),
                                  .reads = 0x41424344};

static void an_offer_has_a_fixed_layout(void **state)
{
    (void)state;
    static const uint8_t want[OFFER_BYTES] = {
        'N',  'L',  'R',  'D',  0,    1,    0,    0,    /* magic, version, answer */
        0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* bytes */
        0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, /* address */
        0x21, 0x22, 0x23, 0x24, 0,    0,    0,    3,    /* rkey, node */
        0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, /* salt */
        0x41, 0x42, 0x43, 0x44, 0,    0,    0,    0,    /* reads, reserved */
    };
    uint8_t data[196] = {0}; /* as InfiniBand pads it */
    struct offer o;
    struct err err = {0};
    offer_encode(data, &good);
    assert_memory_equal(data, want, OFFER_BYTES);
    assert_true(offer_decode(data, sizeof(data), &o, &err));
    assert_true(o.bytes == good.bytes && o.address == good.address && o.rkey == good.rkey);
    assert_true(o.node == 3 && o.salt == good.salt && o.reads == good.reads);
}

static void refused(struct offer o, size_t at, uint8_t byte, size_t bytes, const char *want)
{
    uint8_t data[OFFER_BYTES];
    struct err err = {0};
    offer_encode(data, &o);
    if (at < OFFER_BYTES)
        data[at] = byte;
    assert_false(offer_decode(data, bytes, &o, &err));
    assert_int_equal(err.status, STATUS_FAILED);
    assert_contains(err.text, want);
}

static void what_is_no_offer_is_refused(void **state)
{
    (void)state;
    struct offer o = good;
    refused(o, 99, 0, OFFER_BYTES - 1, "has 47 bytes, an offer of memory has 48");
    refused(o, 99, 0, 0, "has 0 bytes");
    refused(o, 0, 'X', OFFER_BYTES, "it is not 'numaload serve'");
    refused(o, 5, 2, OFFER_BYTES, "speaks version 2, this numaload version 1");
    refused(o, 7, 9, OFFER_BYTES, "answer is 9");
    o.bytes = 0;
    refused(o, 99, 0, OFFER_BYTES, "offers 0 bytes");
    o.bytes = UINT64_C(1) << 63;
    refused(o, 99, 0, OFFER_BYTES, "which no memory has");
    o.bytes = 4096;
    o.address = UINT64_MAX - 4095;
    refused(o, 99, 0, OFFER_BYTES, "which no memory has");
    /* A rejection carries no memory. */
    struct offer no = {.answer = OFFER_REVOKED}, got;
    uint8_t data[OFFER_BYTES];
    offer_encode(data, &no);
    assert_true(offer_decode(data, sizeof(data), &got, NULL));
    assert_int_equal(got.answer, OFFER_REVOKED);
    assert_contains(offer_answer_text(got.answer), "revoked");
}

static void hellos(void **state)
{
    (void)state;
    uint8_t data[56] = {0};
    enum hello_purpose p;
    hello_encode(data, HELLO_PROBE);
    assert_true(hello_decode(data, sizeof(data), &p));
    assert_int_equal(p, HELLO_PROBE);
    assert_false(hello_decode(data, HELLO_BYTES - 1, &p));
    data[7] = 3;
    assert_false(hello_decode(data, sizeof(data), &p));
    hello_encode(data, HELLO_LOAD);
    assert_true(hello_decode(data, HELLO_BYTES, &p));
    assert_int_equal(p, HELLO_LOAD);
    data[5] = 2; /* another version */
    assert_false(hello_decode(data, HELLO_BYTES, &p));
}

static void parsed(const char *text, const char *want)
{
    struct address a;
    struct err err = {0};
    if (!address_parse(&a, text, OFFER_PORT, false, &err))
        fail_msg("%s: %s", text, err.text);
    assert_string_equal(a.text, want);
}

static void addresses(void **state)
{
    (void)state;
    parsed("10.77.0.1", "10.77.0.1:20885");
    parsed("10.77.0.1:7", "10.77.0.1:7");
    parsed("rdma://10.77.0.1:7", "10.77.0.1:7");
    parsed("rdma://10.77.0.1/", "10.77.0.1:20885");
    parsed("[2001:db8::1]:7", "[2001:db8::1]:7");
    parsed("rdma://[::1]", "[::1]:20885");
    static const char *const bad[] = {
        "",     ":7",     "10.0.0.1:",     "10.0.0.1:x", "10.0.0.1:-1", "10.0.0.1:65536",
        "[::1", "[::1]x", "10.0.0.1/file", "rdma://"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct address a;
        struct err err = {0};
        if (address_parse(&a, bad[i], OFFER_PORT, false, &err))
            fail_msg("'%s' was taken", bad[i]);
        assert_int_equal(err.status, STATUS_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_offer_has_a_fixed_layout),
        cmocka_unit_test(what_is_no_offer_is_refused),
        cmocka_unit_test(hellos),
        cmocka_unit_test(addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
