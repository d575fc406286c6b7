/* The text of /proc/PID/mountstats: what the NFS client says of one mount. */
#ifndef NUMALOAD_MOUNTSTATS_H
#define NUMALOAD_MOUNTSTATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOUNT_XPRTS_MAX                                                                            \
    64 /* connections of a mount that are kept apart (nconnect is at most 16)                      \
        */

struct mount_op {
    uint64_t operations, transmissions, timeouts, bytes_sent, bytes_received;
    uint64_t queue_ms, rtt_ms, execute_ms; /* sums over the operations */
    uint64_t errors;                       /* of kernels that have nine fields; else 0 */
};

struct mount_xprt {
    char protocol[8];
    bool counted; /* a protocol whose fields are known: tcp, rdma, udp, local */
    uint64_t connects, sends, receives, bad_xids;
};

struct mount_stats {
    char device[256], mountpoint[256], fstype[32], options[1024];
    bool nfs;
    uint64_t age_s;
    uint64_t direct_read_bytes, server_read_bytes;
    struct mount_op read, write;
    unsigned xprts_n; /* as listed; at most MOUNT_XPRTS_MAX are kept */
    struct mount_xprt xprts[MOUNT_XPRTS_MAX];
};

/* The mount that holds an absolute path: the one with the longest mount point that leads to it, the
 * last of those when they are mounted over each other. False when there is none. */
bool mountstats_find(const char *text, size_t len, const char *path, struct mount_stats *out);

/* Value of "key=value" in a list of mount options, copied into buf; false when it is not there. */
bool mount_option(const char *options, const char *key, char *buf, size_t cap);

#endif
