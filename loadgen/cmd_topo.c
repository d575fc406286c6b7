#include "args.h"
#include "cmd.h"
#include "run/live.h"

#include "../verbs/device.h"

#include "../placement/device.h"
#include "../placement/interrupts.h"
#include "../placement/irqbalance.h"
#include "../placement/sysroot.h"
#include "../placement/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "numaload-topo"
#define SCHEMA_VERSION 1

static json_t *list_json(hwloc_const_bitmap_t set)
{
    char *list = set_format(set);
    json_t *value = list ? json_string(list) : json_null();
    free(list);
    return value;
}

static json_t *id_or_null(int64_t id)
{
    return id >= 0 ? json_integer((json_int_t)id) : json_null();
}

/* ---- nodes ---- */

static json_t *node_json(const struct topo *t, const struct topo_node *n)
{
    json_t *distances = json_object();
    for (unsigned i = 0; i < t->nodes_n; i++) {
        char id[16];
        snprintf(id, sizeof(id), "%d", t->nodes[i].id);
        json_object_set_new(distances, id, id_or_null(n->distance[i]));
    }
    return json_pack("{s:i, s:o, s:o, s:I, s:I, s:b, s:o, s:o}", "id", n->id, "cpus_listed",
                     list_json(n->listed), "cpus_usable", list_json(n->cpus), "memory_bytes",
                     (json_int_t)n->mem_total_bytes, "memory_free_bytes",
                     (json_int_t)n->mem_free_bytes, "memory_allowed", n->mem_allowed,
                     "hugepages_free", id_or_null(n->hugepages_free), "distances", distances);
}

static json_t *cpus_json(const struct topo *t)
{
    hwloc_bitmap_t stray = hwloc_bitmap_alloc(), offline = hwloc_bitmap_alloc();
    for (unsigned c = 0; stray && offline && c < t->cpus_n; c++) {
        if (t->cpus[c].present && t->cpus[c].node < 0)
            hwloc_bitmap_set(stray, c);
        if (t->cpus[c].present && !t->cpus[c].online)
            hwloc_bitmap_set(offline, c);
    }
    json_t *o = json_pack("{s:o, s:o, s:o, s:o, s:o}", "online", list_json(t->online), "offline",
                          list_json(offline), "allowed", list_json(t->allowed), "isolated",
                          list_json(t->isolated), "in_no_node", list_json(stray));
    hwloc_bitmap_free(stray);
    hwloc_bitmap_free(offline);
    return o;
}

static json_t *sockets_json(const struct topo *t)
{
    json_t *sockets = json_object();
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    for (unsigned c = 0; cpus && c < t->cpus_n; c++) {
        char id[16];
        int package = t->cpus[c].package;
        snprintf(id, sizeof(id), "%d", package);
        if (package < 0 || json_object_get(sockets, id))
            continue;
        hwloc_bitmap_zero(cpus);
        for (unsigned k = c; k < t->cpus_n; k++)
            if (t->cpus[k].package == package)
                hwloc_bitmap_set(cpus, k);
        json_object_set_new(sockets, id, list_json(cpus));
    }
    hwloc_bitmap_free(cpus);
    return sockets;
}

/* ---- devices ---- */

/* A small file as text without its newline, or null. */
static json_t *file_json(const char *fmt, unsigned irq)
{
    char path[80], *text;
    snprintf(path, sizeof(path), "/proc/irq/%u/%s", irq, fmt);
    if (sysroot_read(path, &text) < 0)
        return json_null();
    char *line = text_chomp(text);
    json_t *value = line ? json_string(line) : json_null();
    free(line);
    free(text);
    return value;
}

/* The node of the CPUs where an interrupt fires now; null when they are on several. */
static json_t *node_of_list(const struct topo *t, const json_t *list)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int node = -1, c;
    if (set && json_is_string(list) && set_parse(set, json_string_value(list), NULL)) {
        hwloc_bitmap_foreach_begin(c, set)
        {
            int here = topo_cpu_node(t, (unsigned)c);
            if (here < 0 || (node >= 0 && here != node)) {
                node = -1;
                break;
            }
            node = here;
        }
        hwloc_bitmap_foreach_end();
    }
    hwloc_bitmap_free(set);
    return id_or_null(node);
}

static json_t *vector_json(const struct topo *t, const struct interrupts *in,
                           const struct interrupts_row *row)
{
    uint64_t total = 0;
    json_t *by_node = json_object();
    for (unsigned n = 0; n < t->nodes_n; n++) {
        char id[16];
        uint64_t sum = 0;
        snprintf(id, sizeof(id), "%d", t->nodes[n].id);
        for (unsigned c = 0; c < in->cpus_n; c++)
            if (topo_cpu_node(t, in->cpus[c]) == t->nodes[n].id)
                sum += row->counts[c];
        json_object_set_new(by_node, id, json_integer((json_int_t)sum));
    }
    for (unsigned c = 0; c < in->cpus_n; c++)
        total += row->counts[c];
    json_t *effective = file_json("effective_affinity_list", (unsigned)row->irq);
    json_t *node = node_of_list(t, effective);
    return json_pack("{s:i, s:s, s:s, s:o, s:o, s:o, s:I, s:o}", "irq", row->irq, "name",
                     row->action, "use", vector_use_name(vector_use(row->action)), "cpus",
                     file_json("smp_affinity_list", (unsigned)row->irq), "cpus_effective",
                     effective, "node", node, "count", (json_int_t)total, "count_by_node", by_node);
}

static json_t *rdma_json(const char *name)
{
    struct verbs_device d;
    json_t *o = verbs_device_read(&d, name, NULL) ? verbs_device_json(&d) : json_null();
    verbs_device_free(&d);
    return o;
}

static json_t *device_json(const struct topo *t, const struct interrupts *in, const char *name,
                           struct err *err)
{
    struct device d;
    json_t *o = NULL;
    if (device_find(&d, name, err)) {
        json_t *vectors = json_array();
        for (size_t i = 0; i < d.irqs_n; i++) {
            const struct interrupts_row *row = interrupts_find(in, d.irqs[i]);
            if (row)
                json_array_append_new(vectors, vector_json(t, in, row));
        }
        char *warning = device_contradiction(&d, t);
        o = json_pack("{s:s, s:s, s:b, s:o, s:o, s:s?, s:s?, s:I, s:o}", "name", d.name, "kind",
                      device_kind_name(d.kind), "soft", d.soft, "numa_node",
                      id_or_null(d.numa_node), "local_cpus", list_json(d.local_cpus), "interface",
                      *d.netdev ? d.netdev : NULL, "warning", warning, "vectors_not_in_use",
                      (json_int_t)(d.irqs_n - json_array_size(vectors)), "vectors", vectors);
        free(warning);
        if (d.lowers) {
            json_t *lowers = json_array();
            for (char **name_of = d.lowers; *name_of; name_of++)
                json_array_append_new(lowers, json_string(*name_of));
            json_object_set_new(o, "made_of", lowers);
        }
        if (d.kind == DEVICE_RDMA)
            json_object_set_new(o, "rdma", rdma_json(name));
    }
    device_free(&d);
    return o;
}

/* All RDMA devices, and the network devices that have interrupts. */
static json_t *devices_json(const struct topo *t, const struct interrupts *in)
{
    static const char *const dirs[] = {"/sys/class/infiniband", "/sys/class/net"};
    json_t *devices = json_array();
    for (size_t k = 0; k < sizeof(dirs) / sizeof(*dirs); k++) {
        char **names;
        if (sysroot_list(dirs[k], &names) < 0)
            continue;
        for (char **p = names; *p; p++) {
            json_t *o = device_json(t, in, *p, NULL);
            if (o && (k == 0 || json_array_size(json_object_get(o, "vectors"))))
                json_array_append_new(devices, o);
            else
                json_decref(o);
        }
        sysroot_list_free(names);
    }
    return devices;
}

static json_t *topo_json(const struct topo *t, const char *device, struct err *err)
{
    struct interrupts in;
    if (!interrupts_read(&in, err)) {
        live_say("warning: %s", err->text);
        interrupts_free(&in);
    }
    json_t *devices;
    if (device) {
        json_t *o = device_json(t, &in, device, err);
        devices = o ? json_pack("[o]", o) : NULL;
    } else {
        devices = devices_json(t, &in);
    }
    interrupts_free(&in);
    if (!devices)
        return NULL;
    json_t *nodes = json_array();
    for (unsigned i = 0; i < t->nodes_n; i++)
        json_array_append_new(nodes, node_json(t, &t->nodes[i]));
    int pid = irqbalance_pid();
    return json_pack("{s:s, s:i, s:s?, s:b, s:o, s:o, s:o, s:o, s:o}", "schema", SCHEMA,
                     "schema_version", SCHEMA_VERSION, "sysroot",
                     sysroot_live() ? NULL : sysroot_get(), "numa", t->numa, "nodes", nodes, "cpus",
                     cpus_json(t), "sockets", sockets_json(t), "devices", devices, "irqbalance_pid",
                     id_or_null(pid ? pid : -1));
}

/* ---- for people ---- */

static const char *text_in(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s && *s ? s : "-";
}

static long long int_in(const json_t *o, const char *key)
{
    return (long long)json_integer_value(json_object_get(o, key));
}

static void print_nodes(const json_t *doc)
{
    size_t i;
    json_t *n, *d;
    const char *key;
    puts(json_is_true(json_object_get(doc, "numa")) ? "Nodes" : "Nodes (the kernel has no NUMA)");
    printf("  %4s  %-24s %10s %10s  %s\n", "node", "usable CPUs", "memory", "free", "distances");
    json_array_foreach(json_object_get(doc, "nodes"), i, n)
    {
        char total[TEXT_BYTES_MAX], unused[TEXT_BYTES_MAX];
        printf("  %4lld  %-24s %10s %10s ", int_in(n, "id"), text_in(n, "cpus_usable"),
               text_bytes(total, (uint64_t)int_in(n, "memory_bytes")),
               text_bytes(unused, (uint64_t)int_in(n, "memory_free_bytes")));
        json_object_foreach(json_object_get(n, "distances"), key, d)
        {
            if (json_is_integer(d))
                printf(" %lld", (long long)json_integer_value(d));
            else
                fputs(" ?", stdout);
        }
        puts("");
        if (strcmp(text_in(n, "cpus_listed"), text_in(n, "cpus_usable")) != 0)
            printf("        of %s; the others are offline or outside the cpuset\n",
                   text_in(n, "cpus_listed"));
        if (!json_is_true(json_object_get(n, "memory_allowed")))
            puts("        its memory is outside the cpuset");
    }
    static const struct {
        const char *key, *text;
    } sets[] = {{"offline", "offline"}, {"isolated", "isolated"}, {"in_no_node", "in no node"}};
    for (size_t k = 0; k < sizeof(sets) / sizeof(*sets); k++)
        if (*text_in(json_object_get(doc, "cpus"), sets[k].key) != '-')
            printf("  CPUs %s: %s\n", sets[k].text,
                   text_in(json_object_get(doc, "cpus"), sets[k].key));
    json_object_foreach(json_object_get(doc, "sockets"), key, d)
        printf("  socket %s: CPUs %s\n", key, json_string_value(d));
}

static void print_device(const json_t *d)
{
    size_t i;
    json_t *v;
    const json_t *vectors = json_object_get(d, "vectors"), *node = json_object_get(d, "numa_node");
    printf("\n%s: %s, ", text_in(d, "name"), text_in(d, "kind"));
    if (json_is_true(json_object_get(d, "soft")))
        fputs("in software: its completions run in unbound work queues", stdout);
    else if (json_is_integer(node))
        printf("node %lld, local CPUs %s", (long long)json_integer_value(node),
               text_in(d, "local_cpus"));
    else
        printf("node unknown, local CPUs %s", text_in(d, "local_cpus"));
    if (json_is_string(json_object_get(d, "interface")))
        printf(", on %s", text_in(d, "interface"));
    json_array_foreach(json_object_get(d, "made_of"), i, v)
        printf("%s%s", i ? ", " : ", with the interrupts of ", json_string_value(v));
    puts("");
    if (json_is_string(json_object_get(d, "warning")))
        printf("  warning: %s\n", text_in(d, "warning"));
    if (json_is_object(json_object_get(d, "rdma")))
        verbs_device_print(json_object_get(d, "rdma"));
    if (json_array_size(json_object_get(d, "made_of")))
        return; /* they stand with those devices */
    if (json_array_size(vectors))
        printf("  %5s  %-10s %-8s %4s %12s  %-10s  %s\n", "irq", "CPUs", "now", "node", "count",
               "use", "name");
    json_array_foreach(vectors, i, v)
    {
        char at[16] = "-";
        if (json_is_integer(json_object_get(v, "node")))
            snprintf(at, sizeof(at), "%lld", int_in(v, "node"));
        printf("  %5lld  %-10s %-8s %4s %12lld  %-10s  %s\n", int_in(v, "irq"), text_in(v, "cpus"),
               text_in(v, "cpus_effective"), at, int_in(v, "count"), text_in(v, "use"),
               text_in(v, "name"));
    }
    if (int_in(d, "vectors_not_in_use"))
        printf("  %lld more interrupts are not in use\n", int_in(d, "vectors_not_in_use"));
}

static void print_all(const json_t *doc)
{
    size_t i;
    json_t *d;
    print_nodes(doc);
    json_array_foreach(json_object_get(doc, "devices"), i, d) print_device(d);
    if (json_is_integer(json_object_get(doc, "irqbalance_pid")))
        printf("\nirqbalance runs (pid %lld) and moves interrupts\n",
               int_in(doc, "irqbalance_pid"));
}

int cmd_topo(int argc, char **argv)
{
    static const char *const keys[] = {"sysroot", "json", "device", NULL};
    struct profile p;
    struct err err = {0};
    bool help = false;
    struct topo *t = NULL;
    json_t *doc = NULL;
    if (!profile_init(&p, &err) || !args_read(&p, argc, argv, keys, &help, &err))
        goto out;
    if (help) {
        puts("usage: numaload topo [--device NAME] [--json] [--sysroot DIR]\n\n"
             "Shows nodes, CPUs and memory, and for each RDMA and network device its node and\n"
             "its interrupts: the CPUs they may fire on, where they fire now, and how often\n"
             "they did.\n\n"
             "  --device NAME  only this device\n"
             "  --json         one JSON document\n"
             "  --sysroot DIR  read /proc and /sys below DIR, a tree recorded elsewhere\n\n"
             "Exit status: 0 done; 1 failed; 2 usage.");
        goto out;
    }
    if (!sysroot_set(p.sysroot)) {
        err_set(&err, STATUS_USAGE, "--sysroot %s: %s", p.sysroot, strerror(errno));
        goto out;
    }
    if (!topo_load(&t, &err))
        goto out;
    doc = topo_json(t, p.device, &err);
    if (!doc)
        goto out;
    err.status = STATUS_OK;
    err.text[0] = '\0';
    if (p.json) {
        json_dumpf(doc, stdout, JSON_INDENT(2));
        puts("");
    } else {
        print_all(doc);
    }
out:
    if (err.text[0])
        live_say("error: %s", err.text);
    if (err.text[0] && p.json)
        printf("{\"schema\": \"" SCHEMA "\", \"schema_version\": %d, \"exit_status\": %d}\n",
               SCHEMA_VERSION, (int)err.status);
    json_decref(doc);
    topo_free(t);
    profile_free(&p);
    return err.text[0] ? (int)err.status : STATUS_OK;
}
