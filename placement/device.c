#define _GNU_SOURCE
#include "device.h"

#include "sysroot.h"
#include "text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How far a PCI function may be above its device: scsi disks are deepest. */
#define CLIMB_MAX 8

static const struct {
    const char *dir, *name;
} kinds[] = {
    [DEVICE_RDMA] = {"/sys/class/infiniband", "RDMA device"},
    [DEVICE_NET] = {"/sys/class/net", "network device"},
    [DEVICE_BLOCK] = {"/sys/class/block", "block device"},
};

#define KINDS_N (sizeof(kinds) / sizeof(*kinds))

const char *device_kind_name(enum device_kind kind)
{
    return kinds[kind].name;
}

/* dir/name into buf of PATH_MAX bytes; empty, and so found nowhere, when it does not fit. */
static void join(char *buf, const char *dir, const char *name)
{
    int n = snprintf(buf, PATH_MAX, "%s/%s", dir, name);
    if (n < 0 || n >= PATH_MAX)
        buf[0] = '\0';
}

static bool exists(const char *path)
{
    char **names;
    if (sysroot_list(path, &names) < 0)
        return false;
    sysroot_list_free(names);
    return true;
}

static bool readable(const char *path)
{
    char *text;
    bool ok = sysroot_read(path, &text) >= 0;
    free(text);
    return ok;
}

static bool unknown(const char *name, struct err *err)
{
    char *list = NULL, **names;
    for (size_t k = 0; k < KINDS_N; k++) {
        if (k == DEVICE_BLOCK || sysroot_list(kinds[k].dir, &names) < 0)
            continue;
        for (char **p = names; *p; p++)
            text_append(&list, "%s%s", list ? ", " : "", *p);
        sysroot_list_free(names);
    }
    err_set(err, STATUS_FAILED,
            "device '%s': there is no RDMA, network or block device of that name; RDMA and network "
            "devices here: %s",
            name, list ? list : "none");
    free(list);
    return false;
}

/* First line of a small file, or "". */
static void read_word(char *buf, size_t cap, const char *path)
{
    if (sysroot_read_into(path, buf, cap) < 0)
        buf[0] = '\0';
    buf[strcspn(buf, "\n")] = '\0';
}

bool device_irq_number(const char *name, unsigned *irq)
{
    unsigned v = 0;
    *irq = 0;
    if (!*name || strlen(name) > 9)
        return false;
    for (; *name; name++) {
        if (!isdigit((unsigned char)*name))
            return false;
        v = v * 10 + (unsigned)(*name - '0');
    }
    *irq = v;
    return true;
}

static bool add_irq(struct device *d, unsigned irq, struct err *err)
{
    unsigned *bigger = realloc(d->irqs, (d->irqs_n + 1) * sizeof(*bigger));
    if (!bigger)
        return err_set(err, STATUS_FAILED, "device: out of memory");
    d->irqs = bigger;
    d->irqs[d->irqs_n++] = irq;
    return true;
}

static bool read_irqs(struct device *d, const char *pci, struct err *err)
{
    char path[PATH_MAX], **names;
    int64_t line;
    unsigned irq;
    join(path, pci, "msi_irqs");
    ssize_t n = sysroot_list(path, &names);
    d->msi = n >= 0;
    if (n < 0) {
        join(path, pci, "irq");
        return sysroot_read_i64(path, &line) || line <= 0 || add_irq(d, (unsigned)line, err);
    }
    bool ok = true;
    for (char **p = names; ok && *p; p++)
        ok = device_irq_number(*p, &irq)
                 ? add_irq(d, irq, err)
                 : err_set(err, STATUS_FAILED, "%s: '%s' is not an interrupt", path, *p);
    sysroot_list_free(names);
    return ok;
}

/* The PCI function is the device itself or some directory above it (a virtio device, a scsi host).
 * The climb ends at the first one, so that a bridge's interrupts are never taken for a device's. */
static bool find_function(const char *device, char *pci, size_t cap)
{
    char test[PATH_MAX];
    snprintf(pci, cap, "%s", device);
    for (int i = 0; i < CLIMB_MAX && exists(pci); i++) {
        join(test, pci, "msi_irqs");
        if (exists(test))
            return true;
        join(test, pci, "local_cpulist");
        if (readable(test))
            return true;
        strncat(pci, "/..", cap - strlen(pci) - 1);
    }
    return false;
}

static bool read_function(struct device *d, const char *class_path, struct err *err)
{
    char device[PATH_MAX], pci[PATH_MAX], path[PATH_MAX], list[1024];
    int64_t node;
    join(device, class_path, "device");
    if (!find_function(device, pci, sizeof(pci)))
        return true;
    join(path, pci, "numa_node");
    if (sysroot_read_i64(path, &node) == 0 && node >= 0 && node <= (int64_t)SET_ID_MAX)
        d->numa_node = (int)node;
    join(path, pci, "local_cpulist");
    if (sysroot_read_into(path, list, sizeof(list)) >= 0 && !set_parse(d->local_cpus, list, NULL))
        hwloc_bitmap_zero(d->local_cpus);
    return read_irqs(d, pci, err);
}

/* ---- devices that are made of others ---- */

static bool has_hardware(const char *netdev)
{
    char dir[PATH_MAX], device[PATH_MAX], pci[PATH_MAX];
    join(dir, kinds[DEVICE_NET].dir, netdev);
    join(device, dir, "device");
    return find_function(device, pci, sizeof(pci));
}

/* Adds a name once. False when memory is out. */
static bool add_name(char ***names, size_t *n, const char *name)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp((*names)[i], name) == 0)
            return true;
    char **bigger = realloc(*names, (*n + 2) * sizeof(*bigger));
    if (!bigger)
        return false;
    *names = bigger;
    bigger[*n] = strdup(name);
    if (!bigger[*n])
        return false;
    bigger[++*n] = NULL;
    return true;
}

static void add_lowers(char ***names, size_t *n, const char *netdev, unsigned depth)
{
    char dir[PATH_MAX], **entries;
    join(dir, kinds[DEVICE_NET].dir, netdev);
    if (depth > CLIMB_MAX || sysroot_list(dir, &entries) < 0)
        return;
    for (char **e = entries; *e; e++) {
        if (strncmp(*e, "lower_", 6) != 0)
            continue;
        if (!has_hardware(*e + 6))
            add_lowers(names, n, *e + 6, depth + 1);
        else if (!add_name(names, n, *e + 6))
            break;
    }
    sysroot_list_free(entries);
}

char **device_lowers(const char *netdev)
{
    char **names = NULL;
    size_t n = 0;
    if (!has_hardware(netdev))
        add_lowers(&names, &n, netdev, 0);
    return names;
}

static int by_number(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

/* Takes the lower devices' interrupts and CPUs together; the node only when they agree. */
static bool read_lowers(struct device *d, struct err *err)
{
    d->lowers = device_lowers(d->name);
    for (char **name = d->lowers; name && *name; name++) {
        struct device lower;
        bool ok = device_find(&lower, *name, err);
        for (size_t i = 0; ok && i < lower.irqs_n; i++)
            ok = add_irq(d, lower.irqs[i], err);
        if (ok) {
            hwloc_bitmap_or(d->local_cpus, d->local_cpus, lower.local_cpus);
            d->numa_node =
                name == d->lowers || d->numa_node == lower.numa_node ? lower.numa_node : -1;
            d->msi |= lower.msi;
        }
        device_free(&lower);
        if (!ok)
            return false;
    }
    if (d->irqs_n)
        qsort(d->irqs, d->irqs_n, sizeof(*d->irqs), by_number);
    return true;
}

bool device_find(struct device *d, const char *name, struct err *err)
{
    *d = (struct device){.numa_node = -1};
    if (!*name || strlen(name) >= sizeof(d->name) || strchr(name, '/') || *name == '.')
        return err_set(err, STATUS_USAGE, "device '%s': not the name of a device", name);
    snprintf(d->name, sizeof(d->name), "%s", name);
    d->local_cpus = hwloc_bitmap_alloc();
    if (!d->local_cpus)
        return err_set(err, STATUS_FAILED, "device: out of memory");
    char path[PATH_MAX], file[PATH_MAX];
    for (size_t k = 0; k < KINDS_N; k++) {
        join(path, kinds[k].dir, name);
        if (!exists(path))
            continue;
        d->kind = (enum device_kind)k;
        if (k == DEVICE_RDMA) {
            join(file, path, "ports/1/gid_attrs/ndevs/0");
            read_word(d->netdev, sizeof(d->netdev), file);
            if (!*d->netdev) {
                join(file, path, "parent");
                read_word(d->netdev, sizeof(d->netdev), file);
            }
        }
        if (!read_function(d, path, err) || (k == DEVICE_NET && !read_lowers(d, err)))
            return err_prefix(err, "device '%s'", name);
        join(file, path, "device");
        d->soft = k == DEVICE_RDMA && !exists(file);
        return true;
    }
    return unknown(name, err);
}

void device_free(struct device *d)
{
    hwloc_bitmap_free(d->local_cpus);
    free(d->irqs);
    if (d->lowers)
        sysroot_list_free(d->lowers);
    d->lowers = NULL;
    d->local_cpus = NULL;
    d->irqs = NULL;
    d->irqs_n = 0;
}

bool device_node(const struct device *d, const struct topo *t, int *node, struct err *err)
{
    *node = d->numa_node;
    if (*node < 0 && d->soft && *d->netdev) {
        struct device behind;
        if (device_find(&behind, d->netdev, NULL))
            *node = behind.numa_node;
        device_free(&behind);
    }
    if (*node >= 0 && topo_node_index(t, *node) >= 0)
        return true;
    hwloc_bitmap_t nodes = topo_nodes_with_cpus(t);
    int count = nodes ? hwloc_bitmap_weight(nodes) : 0,
        only = nodes ? hwloc_bitmap_first(nodes) : -1;
    hwloc_bitmap_free(nodes);
    if (*node < 0 && count == 1) {
        *node = only;
        return true;
    }
    if (*node < 0)
        return err_set(err, STATUS_FAILED,
                       "the kernel does not know the node of %s (numa_node is -1); name it with "
                       "node:N",
                       d->name);
    return err_set(err, STATUS_FAILED, "%s is said to be on node %d, which does not exist", d->name,
                   *node);
}

char *device_contradiction(const struct device *d, const struct topo *t)
{
    int i = topo_node_index(t, d->numa_node);
    if (i < 0 || hwloc_bitmap_iszero(d->local_cpus) || hwloc_bitmap_iszero(t->nodes[i].listed) ||
        hwloc_bitmap_intersects(t->nodes[i].listed, d->local_cpus))
        return NULL;
    char *local = set_format(d->local_cpus), *listed = set_format(t->nodes[i].listed);
    char *text = text_printf("%s: numa_node says node %d (CPUs %s), local_cpulist says CPUs %s",
                             d->name, d->numa_node, listed, local);
    free(local);
    free(listed);
    return text;
}

bool device_remote_node(const struct topo *t, int from, int *node, struct err *err)
{
    int f = topo_node_index(t, from), best = -1;
    for (unsigned i = 0; i < t->nodes_n; i++) {
        if ((int)i == f || hwloc_bitmap_iszero(t->nodes[i].cpus))
            continue;
        if (best < 0 || (f >= 0 && t->nodes[f].distance[i] > t->nodes[f].distance[best]))
            best = (int)i;
    }
    if (best < 0)
        return err_set(err, STATUS_FAILED, "there is no other node with usable CPUs than node %d",
                       from);
    *node = t->nodes[best].id;
    return true;
}

static bool contains_any(const char *text, const char *const *parts)
{
    for (; *parts; parts++)
        if (strcasestr(text, *parts))
            return true;
    return false;
}

enum vector_use vector_use(const char *action)
{
    /* Control first: "irdma-...-AEQ" would pass for one of RDMA's otherwise. */
    static const char *const control[] = {"async", "aeq",  "config", "mgmnt",  "misc", "-fw",
                                          "ctrl",  "_cmd", "_pages", "-admin", NULL};
    static const char *const completion[] = {"irdma-",   "bnxt_re-nq", "efa-comp", "erdma",
                                             "hns_roce", "-ceq",       NULL};
    if (contains_any(action, control))
        return VECTOR_CONTROL;
    /* mlx5 serves its interface and its RDMA device from the same vectors. */
    if (strncmp(action, "mlx5_comp", 9) == 0)
        return VECTOR_QUEUE;
    return contains_any(action, completion) ? VECTOR_COMPLETION : VECTOR_QUEUE;
}

const char *vector_use_name(enum vector_use use)
{
    static const char *const names[] = {
        [VECTOR_COMPLETION] = "completion",
        [VECTOR_QUEUE] = "queue",
        [VECTOR_CONTROL] = "control",
    };
    return names[use];
}
