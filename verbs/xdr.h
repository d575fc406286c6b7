/* XDR (RFC 4506) over memory, bounds-checked, with an error that sticks.
 *
 * Reading past the end, or a length beyond the caller's maximum, clears `ok` and yields zeros from
 * then on: a decoder reads all its fields and looks at `ok` once. Nothing is copied or allocated.
 */
#ifndef NUMALOAD_VERBS_XDR_H
#define NUMALOAD_VERBS_XDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct xdr_in {
    const uint8_t *begin, *at, *end;
    bool ok;
};

struct xdr_out {
    uint8_t *begin, *at, *end;
    bool ok; /* false: the buffer was too small */
};

static inline size_t xdr_padded(size_t bytes)
{
    return (bytes + 3) & ~(size_t)3;
}

static inline struct xdr_in xdr_in(const void *data, size_t bytes)
{
    const uint8_t *at = data;
    return (struct xdr_in){at, at, at + bytes, true};
}

static inline size_t xdr_left(const struct xdr_in *in)
{
    return in->ok ? (size_t)(in->end - in->at) : 0;
}

static inline size_t xdr_consumed(const struct xdr_in *in)
{
    return (size_t)(in->at - in->begin);
}

/* The next `bytes` bytes, with their padding skipped; NULL when they are not all there. */
static inline const uint8_t *xdr_fixed(struct xdr_in *in, size_t bytes)
{
    if (!in->ok || bytes > xdr_left(in) || xdr_padded(bytes) > xdr_left(in)) {
        in->ok = false;
        return NULL;
    }
    const uint8_t *at = in->at;
    in->at += xdr_padded(bytes);
    return at;
}

static inline uint32_t xdr_u32(struct xdr_in *in)
{
    const uint8_t *b = xdr_fixed(in, 4);
    return b ? (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3] : 0;
}

static inline uint64_t xdr_u64(struct xdr_in *in)
{
    uint64_t high = xdr_u32(in);
    return high << 32 | xdr_u32(in);
}

/* Variable-length opaque or string of at most max bytes; NULL with ok cleared beyond that. */
static inline const uint8_t *xdr_opaque(struct xdr_in *in, uint32_t max, uint32_t *bytes)
{
    *bytes = xdr_u32(in);
    if (*bytes <= max && in->ok) {
        const uint8_t *at = xdr_fixed(in, *bytes);
        if (at)
            return at;
    }
    in->ok = false;
    *bytes = 0;
    return NULL;
}

static inline struct xdr_out xdr_out(void *data, size_t bytes)
{
    uint8_t *at = data;
    return (struct xdr_out){at, at, at + bytes, true};
}

static inline size_t xdr_written(const struct xdr_out *out)
{
    return (size_t)(out->at - out->begin);
}

static inline void xdr_put_fixed(struct xdr_out *out, const void *data, size_t bytes)
{
    size_t padded = xdr_padded(bytes);
    if (!out->ok || padded < bytes || padded > (size_t)(out->end - out->at)) {
        out->ok = false;
        return;
    }
    if (bytes)
        memcpy(out->at, data, bytes);
    memset(out->at + bytes, 0, padded - bytes);
    out->at += padded;
}

static inline void xdr_put_u32(struct xdr_out *out, uint32_t v)
{
    uint8_t b[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};
    xdr_put_fixed(out, b, sizeof(b));
}

static inline void xdr_put_u64(struct xdr_out *out, uint64_t v)
{
    xdr_put_u32(out, (uint32_t)(v >> 32));
    xdr_put_u32(out, (uint32_t)v);
}

static inline void xdr_put_opaque(struct xdr_out *out, const void *data, uint32_t bytes)
{
    xdr_put_u32(out, bytes);
    xdr_put_fixed(out, data, bytes);
}

static inline void xdr_put_string(struct xdr_out *out, const char *text)
{
    xdr_put_opaque(out, text, (uint32_t)strlen(text));
}

#endif
