/* A network, RDMA or block device: its node and its interrupts.
 *
 * Interrupts come from the msi_irqs directory of the PCI function behind the device, never from
 * names: prefixes match neighbours (eth1, eth10), and most drivers do not put the device's name
 * into the interrupt's. Names only say what a vector is for. */
#ifndef NUMALOAD_DEVICE_H
#define NUMALOAD_DEVICE_H

#include "topology.h"

#include <limits.h>
#include <stddef.h>

#define DEVICE_NAME_MAX 64

enum device_kind { DEVICE_RDMA, DEVICE_NET, DEVICE_BLOCK };

struct device {
    char name[DEVICE_NAME_MAX];
    enum device_kind kind;
    bool soft;                    /* made in software (soft-RoCE, soft-iWARP): no interrupts */
    char netdev[DEVICE_NAME_MAX]; /* of an RDMA device: the interface behind it; "" when unknown */
    char **lowers;                /* of a bond, VLAN or bridge: the network devices with hardware
                                     that it is made of, whose interrupts these are; NULL: none */
    int numa_node; /* as the kernel says; -1: it does not know, or the lower devices differ */
    hwloc_bitmap_t local_cpus; /* local_cpulist, empty when there is none */
    unsigned *irqs;            /* numbers, ascending */
    size_t irqs_n;
    bool msi; /* false: the one legacy interrupt line, or none at all */
};

/* Finds a device by its name under /sys/class/{infiniband,net,block}. Refuses with STATUS_FAILED,
 * listing the names that exist. Release with device_free, also after a refusal. */
bool device_find(struct device *d, const char *name, struct err *err);
void device_free(struct device *d);

/* Names of the network devices with hardware below one that is made of others (bond, team, VLAN,
 * bridge, macvlan), found through the lower_* links of /sys/class/net. NULL: there are none. Free
 * with sysroot_list_free. */
char **device_lowers(const char *netdev);

/* The name of an entry of msi_irqs: digits only, at most nine. */
bool device_irq_number(const char *name, unsigned *irq);

const char *device_kind_name(enum device_kind kind);

/* The node of the device: numa_node (of the interface behind it for a soft one), or, when the
 * kernel does not know it, the only node with CPUs. Refuses otherwise; -1 is never taken for node
 * 0. */
bool device_node(const struct device *d, const struct topo *t, int *node, struct err *err);

/* A sentence when numa_node and local_cpus contradict each other; NULL when they do not. Caller
 * frees. */
char *device_contradiction(const struct device *d, const struct topo *t);

/* The farthest node with usable CPUs that is not `from`, by distance and then by lower id. */
bool device_remote_node(const struct topo *t, int from, int *node, struct err *err);

enum vector_use {
    VECTOR_COMPLETION, /* of RDMA completion queues only */
    VECTOR_QUEUE,      /* of queues of any kind, RDMA's too where the driver shares them */
    VECTOR_CONTROL,    /* events, commands, configuration: carries no load */
};

/* What a vector is for, by the name of its handler in /proc/interrupts. */
enum vector_use vector_use(const char *action);
const char *vector_use_name(enum vector_use use);

#endif
