/* The device behind a file: where its I/O completes, when nobody has named one. */
#ifndef NUMALOAD_BEHIND_H
#define NUMALOAD_BEHIND_H

#include "device.h"

struct behind_mount {
    unsigned dev_major, dev_minor;
    char type[32];
    char source[512];
    char options[1024]; /* of the super block, as NFS gives its server's address there */
};

/* The mount of /proc/PID/mountinfo that holds an absolute path: the one with the longest mount
 * point that leads to it, the last of those when they are mounted over each other. */
bool behind_find_mount(const char *mountinfo, const char *path, struct behind_mount *out);

/* The interface that the route to a server (address or name) leaves through; live machines only.
 * `name` has DEVICE_NAME_MAX bytes. */
bool behind_netdev_to(const char *server, char *name, struct err *err);

/* The RDMA device of an interface, by its GIDs and else by the function they share. Refuses with
 * the devices that were looked at. `name` has DEVICE_NAME_MAX bytes. */
bool behind_rdma_of(const char *netdev, char *name, struct err *err);

/* The disk that a block device is a part of, through partitions and single slaves. Refuses when it
 * is made of several disks. */
bool behind_disk_of(unsigned dev_major, unsigned dev_minor, char *name, struct err *err);

/* The server that a path names which is no file: HOST of "scheme://HOST[:PORT]/..." and, when
 * `bare`, of "HOST[:PORT]". An IPv6 address stands in brackets. False when it names none. */
bool behind_server(const char *path, bool bare, char *host, size_t cap);

/* The device on the route to a server by name or address: the interface, or with `rdma` its RDMA
 * device. Otherwise as behind_find. */
bool behind_find_server(const char *host, bool rdma, char *name, char **how, struct err *err);

/* Finds the device for `path`: for NFS the interface (proto=rdma: the RDMA device) that the route
 * to the server leaves through, else the disk. *how (caller frees) says on what grounds. On refusal
 * err says what was tried. */
bool behind_find(const char *path, char *name, char **how, struct err *err);

#endif
