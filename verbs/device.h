/* What an RDMA device is: its ports, their GIDs, and what it can do.
 *
 * Ports and GIDs come from sysfs (Documentation/ABI/stable/sysfs-class-infiniband), so that a tree
 * recorded elsewhere can be looked at, and a build without libibverbs can do it too. Limits, the
 * active MTU and the number of completion vectors are known to the driver alone and are asked for
 * through libibverbs, on the live machine. */
#ifndef NUMALOAD_VERBS_DEVICE_H
#define NUMALOAD_VERBS_DEVICE_H

#include "../placement/device.h"

#include <jansson.h>
#include <stdint.h>

enum gid_type { GID_IB, GID_ROCE_V1, GID_ROCE_V2, GID_IWARP };
enum gid_family { GID_ANY, GID_IPV4, GID_IPV6 }; /* IPv4: ::ffff:a.b.c.d */

struct verbs_gid {
    unsigned index; /* in the port's table */
    enum gid_type type;
    uint8_t raw[16];
    char text[48]; /* "10.77.0.1", "fe80::1", for iWARP the bytes */
    char netdev[DEVICE_NAME_MAX];
};

struct verbs_port {
    unsigned number;     /* from 1 */
    char state[16];      /* "ACTIVE", "DOWN", "INIT", ... as the kernel says */
    char physical[24];   /* "LinkUp", "Disabled", "Polling", ... */
    char link_layer[24]; /* "Ethernet", "InfiniBand" */
    char rate[40];       /* "100 Gb/sec (4X EDR)" */
    unsigned mtu_bytes;  /* active MTU of a packet's payload; 0: unknown */
    struct verbs_gid *gids;
    size_t gids_n; /* entries that are set */
};

/* From ibv_query_device_ex(3); 0 stands for what a device does not say. */
struct verbs_limits {
    bool known; /* false: see limits_reason */
    unsigned comp_vectors;
    unsigned max_qp, max_qp_wr, max_sge, max_sge_rd, max_cq, max_cqe, max_mr, max_pd;
    unsigned max_qp_rd_atom;      /* READs that a queue pair may answer at a time */
    unsigned max_qp_init_rd_atom; /* READs that a queue pair may have on the wire */
    uint64_t max_mr_size;
    unsigned max_cq_count, max_cq_period_us; /* of moderation; 0: cannot moderate */
};

struct verbs_device {
    struct device base; /* name, node, interrupts */
    char firmware[64];
    bool iwarp; /* else InfiniBand or RoCE */
    struct verbs_port *ports;
    size_t ports_n;
    struct verbs_limits limits;
    char *limits_reason; /* why they are not known, NULL when they are */
};

/* Reads everything about one device. Refuses a name that is none, or one of no RDMA device, with
 * the names of those that there are. Limits that cannot be asked for are no failure. Release with
 * verbs_device_free, also after a refusal. */
bool verbs_device_read(struct verbs_device *d, const char *name, struct err *err);
void verbs_device_free(struct verbs_device *d);

const struct verbs_port *verbs_device_port(const struct verbs_device *d, unsigned number);

/* The GID to talk from: RoCE v2 on Ethernet (RoCE v1 is not routed and never taken), the first one
 * on InfiniBand and iWARP. With GID_ANY an IPv4 address comes before an IPv6 one, and link-local
 * ones come last. NULL when there is none; err says what there is instead and what to do. */
const struct verbs_gid *verbs_gid_choose(const struct verbs_device *d,
                                         const struct verbs_port *port, enum gid_family family,
                                         struct err *err);

/* Is the port fit to carry traffic? Refuses with its state. */
bool verbs_port_usable(const struct verbs_device *d, const struct verbs_port *port,
                       struct err *err);

const char *verbs_gid_type_name(enum gid_type type);

/* "rxe0 (port 1 DOWN), mlx5_0 (port 1 ACTIVE)" of all devices of the machine, or "none". Caller
 * frees; NULL when memory is out. */
char *verbs_device_list(void);

/* For topo and records; new reference. Missing facts are null, with "limits_reason". */
json_t *verbs_device_json(const struct verbs_device *d);

/* Several lines about an object of verbs_device_json, for people, each with two blanks before. */
void verbs_device_print(const json_t *device);

#endif
