/* The text of /proc/net/dev. */
#ifndef NUMALOAD_NETDEV_H
#define NUMALOAD_NETDEV_H

#include <stddef.h>
#include <stdint.h>

#define NETDEV_FIELDS 16

extern const char *const netdev_keys[NETDEV_FIELDS]; /* "rx_bytes", "rx_packets", ... */

struct netdev {
    char name[32];
    uint64_t values[NETDEV_FIELDS];
};

/* Interfaces into devices[0 .. max - 1]; returns how many. Lines that are none are skipped. */
size_t netdev_parse(const char *text, size_t len, struct netdev *devices, size_t max);

#endif
