#define _GNU_SOURCE
#include "topology.h"

#include "sysroot.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE_DIR "/sys/devices/system/node"
#define CPU_DIR "/sys/devices/system/cpu"
#define LOCAL_DISTANCE 10

static bool no_memory(struct err *err)
{
    return err_set(err, STATUS_FAILED, "topology: out of memory");
}

/* Reads a list file into set. A file that is absent leaves `set` as it was and *found false. */
static bool read_list(const char *path, hwloc_bitmap_t set, bool *found, struct err *err)
{
    char *text;
    ssize_t n = sysroot_read(path, &text);
    *found = n >= 0;
    if (n == -ENOENT)
        return true;
    if (n < 0)
        return err_set(err, STATUS_FAILED, "%s: %s", path, strerror((int)-n));
    bool ok = set_parse(set, text, err);
    if (!ok) {
        err_prefix(err, "%s", path);
        if (err)
            err->status = STATUS_FAILED;
    }
    free(text);
    return ok;
}

/* The ids N of the entries "<prefix>N" of a directory. */
static bool read_ids(const char *dir, const char *prefix, hwloc_bitmap_t ids, struct err *err)
{
    char **names;
    ssize_t n = sysroot_list(dir, &names);
    if (n == -ENOENT)
        return true;
    if (n < 0)
        return err_set(err, STATUS_FAILED, "%s: %s", dir, strerror((int)-n));
    size_t skip = strlen(prefix);
    for (char **p = names; *p; p++) {
        const char *digits = *p + skip;
        if (strncmp(*p, prefix, skip) != 0 || !isdigit((unsigned char)*digits))
            continue;
        char *end;
        unsigned long id = strtoul(digits, &end, 10);
        if (*end == '\0' && id <= SET_ID_MAX)
            hwloc_bitmap_set(ids, (unsigned)id);
    }
    sysroot_list_free(names);
    return true;
}

/* The set behind a line "key:\t0-3" of /proc/self/status; all of `fallback` when it is absent, as
 * in a tree recorded without it. */
static bool read_status_set(const char *key, hwloc_const_bitmap_t fallback, hwloc_bitmap_t set,
                            struct err *err)
{
    hwloc_bitmap_copy(set, fallback);
    char *text;
    if (sysroot_read("/proc/self/status", &text) < 0)
        return true;
    bool ok = true;
    size_t len = strlen(key);
    for (char *save, *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        if (strncmp(line, key, len) != 0 || line[len] != ':')
            continue;
        ok = set_parse(set, line + len + 1, err) || err_prefix(err, "/proc/self/status, %s", key);
        break;
    }
    free(text);
    return ok;
}

/* Value in bytes of the "NAME: n kB" entry of a meminfo text, with or without "Node N" in front; 0
 * when it is not there. */
static uint64_t meminfo_bytes(const char *text, const char *name)
{
    for (const char *p = text; (p = strstr(p, name)); p += strlen(name)) {
        if (p != text && p[-1] != ' ' && p[-1] != '\n')
            continue;
        const char *colon = p + strlen(name);
        if (*colon == ':')
            return strtoull(colon + 1, NULL, 10) * 1024;
    }
    return 0;
}

static int64_t read_hugepages_free(int id, bool numa)
{
    char *text, path[160];
    if (sysroot_read("/proc/meminfo", &text) < 0)
        return -1;
    uint64_t size_kib = meminfo_bytes(text, "Hugepagesize") / 1024;
    free(text);
    if (!size_kib)
        return -1;
    if (numa)
        snprintf(path, sizeof(path), NODE_DIR "/node%d/hugepages/hugepages-%llukB/free_hugepages",
                 id, (unsigned long long)size_kib);
    else
        snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%llukB/free_hugepages",
                 (unsigned long long)size_kib);
    int64_t n;
    return sysroot_read_i64(path, &n) == 0 && n >= 0 ? n : -1;
}

static void read_memory(struct topo_node *node, bool numa)
{
    char path[96], *text;
    snprintf(path, sizeof(path), NODE_DIR "/node%d/meminfo", node->id);
    if (sysroot_read(numa ? path : "/proc/meminfo", &text) >= 0) {
        node->mem_total_bytes = meminfo_bytes(text, "MemTotal");
        node->mem_free_bytes = meminfo_bytes(text, "MemFree");
        node->mem_file_bytes =
            meminfo_bytes(text, "Active(file)") + meminfo_bytes(text, "Inactive(file)");
        free(text);
    }
    node->has_memory = node->mem_total_bytes > 0;
    node->hugepages_free = read_hugepages_free(node->id, numa);
}

/* nodeN/distance has one number for each online node in ascending order; another count than ours
 * cannot be told apart, so it stays unknown. */
static void read_distance(struct topo_node *node, unsigned nodes_n)
{
    for (unsigned i = 0; i < nodes_n; i++)
        node->distance[i] = -1;
    char path[96], *text;
    snprintf(path, sizeof(path), NODE_DIR "/node%d/distance", node->id);
    if (sysroot_read(path, &text) < 0)
        return;
    unsigned n = 0;
    for (char *p = text, *end;; p = end, n++) {
        long v = strtol(p, &end, 10);
        if (end == p)
            break;
        if (n < nodes_n)
            node->distance[n] = (int)v;
    }
    free(text);
    for (unsigned i = 0; n != nodes_n && i < nodes_n; i++)
        node->distance[i] = -1;
}

static int read_int(const char *fmt, unsigned cpu)
{
    char path[128];
    int64_t v;
    snprintf(path, sizeof(path), "%s/cpu%u/topology/%s", CPU_DIR, cpu, fmt);
    return sysroot_read_i64(path, &v) == 0 && v >= 0 && v <= INT32_MAX ? (int)v : -1;
}

/* Place of a CPU among those of its core. The kernel's sibling list is asked rather than core_id,
 * which is not even unique within a package where there are several dies. */
static int read_sibling(unsigned cpu, hwloc_bitmap_t scratch)
{
    char path[128];
    bool found;
    hwloc_bitmap_zero(scratch);
    snprintf(path, sizeof(path), CPU_DIR "/cpu%u/topology/thread_siblings_list", cpu);
    if (!read_list(path, scratch, &found, NULL) || !hwloc_bitmap_isset(scratch, cpu))
        return 0;
    hwloc_bitmap_clr_range(scratch, cpu, -1);
    return hwloc_bitmap_weight(scratch);
}

/* Keeps the members of `cpus` that this process may run on, found out by trying: the only way that
 * knows the cpuset whatever its version and mount. The affinity is as before afterwards. */
static void keep_what_can_be_had(hwloc_bitmap_t cpus)
{
    const size_t size = CPU_ALLOC_SIZE(SET_ID_MAX + 1);
    cpu_set_t *old = CPU_ALLOC(SET_ID_MAX + 1), *mask = CPU_ALLOC(SET_ID_MAX + 1);
    bool tried = false;
    int c;
    if (old && mask && sched_getaffinity(0, size, old) == 0) {
        CPU_ZERO_S(size, mask);
        hwloc_bitmap_foreach_begin(c, cpus) CPU_SET_S((size_t)c, size, mask);
        hwloc_bitmap_foreach_end();
        tried = sched_setaffinity(0, size, mask) == 0 && sched_getaffinity(0, size, mask) == 0;
        sched_setaffinity(0, size, old);
    }
    for (c = hwloc_bitmap_first(cpus); c >= 0; c = hwloc_bitmap_next(cpus, c))
        if (!tried || !CPU_ISSET_S((size_t)c, size, mask))
            hwloc_bitmap_clr(cpus, (unsigned)c);
    CPU_FREE(old);
    CPU_FREE(mask);
}

/* With isolcpus a process starts with an affinity without the isolated CPUs, although its cpuset
 * has them. A recorded tree cannot be tried; there they are believed. */
static void allow_isolated(struct topo *t, hwloc_bitmap_t scratch)
{
    hwloc_bitmap_and(scratch, t->isolated, t->online);
    hwloc_bitmap_andnot(scratch, scratch, t->allowed);
    if (hwloc_bitmap_iszero(scratch))
        return;
    if (sysroot_live())
        keep_what_can_be_had(scratch);
    hwloc_bitmap_or(t->allowed, t->allowed, scratch);
}

static bool load_cpus(struct topo *t, struct err *err)
{
    bool found, ok = false;
    hwloc_bitmap_t present = hwloc_bitmap_alloc(), scratch = hwloc_bitmap_alloc();
    if (!present || !scratch) {
        no_memory(err);
        goto out;
    }
    if (!read_list(CPU_DIR "/present", present, &found, err) ||
        !read_ids(CPU_DIR, "cpu", present, err))
        goto out;
    hwloc_bitmap_copy(t->online, present);
    if (!read_list(CPU_DIR "/online", t->online, &found, err))
        goto out;
    hwloc_bitmap_or(present, present, t->online);
    if (hwloc_bitmap_iszero(present)) {
        err_set(err, STATUS_FAILED, "%s" CPU_DIR ": no CPUs are listed there", sysroot_get());
        goto out;
    }
    if (!read_status_set("Cpus_allowed_list", present, t->allowed, err) ||
        !read_list(CPU_DIR "/isolated", t->isolated, &found, err))
        goto out;
    allow_isolated(t, scratch);
    t->cpus_n = (unsigned)hwloc_bitmap_last(present) + 1;
    t->cpus = calloc(t->cpus_n, sizeof(*t->cpus));
    if (!t->cpus) {
        no_memory(err);
        goto out;
    }
    for (unsigned c = 0; c < t->cpus_n; c++) {
        struct topo_cpu *cpu = &t->cpus[c];
        *cpu = (struct topo_cpu){.node = -1, .package = -1, .core = -1};
        cpu->present = hwloc_bitmap_isset(present, c);
        if (!cpu->present)
            continue;
        cpu->online = hwloc_bitmap_isset(t->online, c);
        cpu->allowed = hwloc_bitmap_isset(t->allowed, c);
        cpu->isolated = hwloc_bitmap_isset(t->isolated, c);
        cpu->package = read_int("physical_package_id", c);
        cpu->core = read_int("core_id", c);
        cpu->sibling = read_sibling(c, scratch);
    }
    ok = true;
out:
    hwloc_bitmap_free(present);
    hwloc_bitmap_free(scratch);
    return ok;
}

static bool load_node(struct topo *t, struct topo_node *node, struct err *err)
{
    node->listed = hwloc_bitmap_alloc();
    node->cpus = hwloc_bitmap_alloc();
    node->distance = calloc(t->nodes_n, sizeof(*node->distance));
    if (!node->listed || !node->cpus || !node->distance)
        return no_memory(err);
    if (t->numa) {
        char path[96];
        bool found;
        snprintf(path, sizeof(path), NODE_DIR "/node%d/cpulist", node->id);
        if (!read_list(path, node->listed, &found, err))
            return false;
        read_distance(node, t->nodes_n);
    } else {
        for (unsigned c = 0; c < t->cpus_n; c++)
            if (t->cpus[c].present)
                hwloc_bitmap_set(node->listed, c);
        node->distance[0] = LOCAL_DISTANCE;
    }
    read_memory(node, t->numa);
    hwloc_bitmap_and(node->cpus, node->listed, t->online);
    hwloc_bitmap_and(node->cpus, node->cpus, t->allowed);
    for (unsigned c = 0; c < t->cpus_n; c++)
        if (t->cpus[c].node < 0 && hwloc_bitmap_isset(node->listed, c))
            t->cpus[c].node = node->id;
    return true;
}

static bool load_nodes(struct topo *t, struct err *err)
{
    bool ok = false;
    hwloc_bitmap_t ids = hwloc_bitmap_alloc(), mems = hwloc_bitmap_alloc();
    if (!ids || !mems) {
        no_memory(err);
        goto out;
    }
    if (!read_ids(NODE_DIR, "node", ids, err))
        goto out;
    t->numa = !hwloc_bitmap_iszero(ids);
    if (!t->numa)
        hwloc_bitmap_set(ids, 0);
    if (!read_status_set("Mems_allowed_list", ids, mems, err))
        goto out;
    t->nodes = calloc((size_t)hwloc_bitmap_weight(ids), sizeof(*t->nodes));
    if (!t->nodes) {
        no_memory(err);
        goto out;
    }
    t->nodes_n = (unsigned)hwloc_bitmap_weight(ids);
    int id = -1;
    for (unsigned i = 0; i < t->nodes_n; i++) {
        id = hwloc_bitmap_next(ids, id);
        t->nodes[i].id = id;
        t->nodes[i].mem_allowed = !t->numa || hwloc_bitmap_isset(mems, (unsigned)id);
        if (!load_node(t, &t->nodes[i], err))
            goto out;
    }
    ok = true;
out:
    hwloc_bitmap_free(ids);
    hwloc_bitmap_free(mems);
    return ok;
}

bool topo_load(struct topo **out, struct err *err)
{
    *out = NULL;
    struct topo *t = calloc(1, sizeof(*t));
    if (!t)
        return no_memory(err);
    t->online = hwloc_bitmap_alloc();
    t->allowed = hwloc_bitmap_alloc();
    t->isolated = hwloc_bitmap_alloc();
    if (!t->online || !t->allowed || !t->isolated) {
        topo_free(t);
        return no_memory(err);
    }
    if (!load_cpus(t, err) || !load_nodes(t, err)) {
        topo_free(t);
        return false;
    }
    *out = t;
    return true;
}

void topo_free(struct topo *t)
{
    if (!t)
        return;
    for (unsigned i = 0; i < t->nodes_n; i++) {
        hwloc_bitmap_free(t->nodes[i].listed);
        hwloc_bitmap_free(t->nodes[i].cpus);
        free(t->nodes[i].distance);
    }
    free(t->nodes);
    free(t->cpus);
    hwloc_bitmap_free(t->online);
    hwloc_bitmap_free(t->allowed);
    hwloc_bitmap_free(t->isolated);
    free(t);
}

int topo_node_index(const struct topo *t, int id)
{
    for (unsigned i = 0; i < t->nodes_n; i++)
        if (t->nodes[i].id == id)
            return (int)i;
    return -1;
}

static bool any_node(const struct topo_node *node)
{
    return node->id >= 0;
}

static bool node_has_cpus(const struct topo_node *node)
{
    return !hwloc_bitmap_iszero(node->cpus);
}

static bool node_has_memory(const struct topo_node *node)
{
    return node->has_memory && node->mem_allowed;
}

static hwloc_bitmap_t nodes_where(const struct topo *t, bool (*test)(const struct topo_node *))
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    for (unsigned i = 0; set && i < t->nodes_n; i++)
        if (test(&t->nodes[i]))
            hwloc_bitmap_set(set, (unsigned)t->nodes[i].id);
    return set;
}

hwloc_bitmap_t topo_nodes(const struct topo *t)
{
    return nodes_where(t, any_node);
}

hwloc_bitmap_t topo_nodes_with_cpus(const struct topo *t)
{
    return nodes_where(t, node_has_cpus);
}

hwloc_bitmap_t topo_nodes_with_memory(const struct topo *t)
{
    return nodes_where(t, node_has_memory);
}

int topo_cpu_node(const struct topo *t, unsigned cpu)
{
    return cpu < t->cpus_n ? t->cpus[cpu].node : -1;
}
