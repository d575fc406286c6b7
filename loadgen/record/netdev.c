#include "netdev.h"

#include "proctext.h"

#include <string.h>

const char *const netdev_keys[NETDEV_FIELDS] = {
    "rx_bytes",       "rx_packets",      "rx_errors",         "rx_dropped",
    "rx_fifo_errors", "rx_frame_errors", "rx_compressed",     "rx_multicast",
    "tx_bytes",       "tx_packets",      "tx_errors",         "tx_dropped",
    "tx_fifo_errors", "tx_collisions",   "tx_carrier_errors", "tx_compressed",
};

size_t netdev_parse(const char *text, size_t len, struct netdev *devices, size_t max)
{
    const char *p = text, *end = text + len;
    size_t n = 0;
    while (p < end && n < max) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *line_end = newline ? newline : end;
        text_skip_blanks(&p, line_end);
        const char *colon = memchr(p, ':', (size_t)(line_end - p));
        struct netdev d = {0};
        size_t name_len = colon ? (size_t)(colon - p) : 0;
        int f = 0;
        if (name_len && name_len < sizeof(d.name)) {
            memcpy(d.name, p, name_len);
            for (p = colon + 1; f < NETDEV_FIELDS; f++) {
                text_skip_blanks(&p, line_end);
                if (!text_number(&p, line_end, UINT64_MAX, &d.values[f]))
                    break;
            }
        }
        if (f == NETDEV_FIELDS)
            devices[n++] = d;
        p = newline ? newline + 1 : end;
    }
    return n;
}
