/* Checks of limits: of the process, of the kernel and of memory, against what the load needs. */
#include "check.h"
#include "procself.h"

#include "../run/buffers.h"
#include "../run/limits.h"

#include "../../placement/sysroot.h"
#include "../../placement/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Tasks besides the load's: coordinator, live view, guardian, io-wq workers that may come. */
#define OTHER_TASKS 16

static bool is_uring(const struct look *l)
{
    return strcmp(l->profile->engine, "uring") == 0;
}

void check_engine(struct look *l)
{
    struct err err = {0};
    int64_t disabled = 0;
    if (!l->engine) {
        engine_find(l->profile->engine, &err);
        found(l, SEVERITY_FAILS, NULL, "%s", err.text);
        return;
    }
    if (is_uring(l)) {
        sysroot_read_i64("/proc/sys/kernel/io_uring_disabled", &disabled);
        bool admin = l->capabilities >> PROC_CAP_SYS_ADMIN & 1;
        if (disabled == 2 || (disabled == 1 && !admin && !sysroot_live())) {
            found(l, SEVERITY_FAILS, "sysctl kernel.io_uring_disabled=0, or --engine aio",
                  "kernel.io_uring_disabled is %" PRId64 ", which forbids io_uring %s", disabled,
                  disabled == 1 ? "to processes outside kernel.io_uring_group" : "to everybody");
            return;
        }
        if (!sysroot_live())
            return;
    }
    if (!l->engine->check((unsigned)l->profile->threads, (unsigned)l->iodepth, &err))
        found(l, SEVERITY_FAILS, NULL, "%s", err.text);
}

void check_memlock(struct look *l)
{
    uint64_t limit;
    char need[32], have[32];
    if (!is_uring(l) || l->capabilities >> PROC_CAP_IPC_LOCK & 1 ||
        !procself_limit("Max locked memory", &limit, NULL) || l->bytes <= limit)
        return;
    found(l, SEVERITY_SPOILS, "ulimit -l unlimited, or LimitMEMLOCK= of the unit",
          "buffers need %s of locked memory to be registered with io_uring, the limit is %s: each "
          "I/O would pin its pages itself",
          format_size(l->bytes, need, sizeof(need)), format_size(limit, have, sizeof(have)));
}

/* The soft limit is raised by the run itself. */
void check_open_files(struct look *l)
{
    uint64_t soft, hard;
    unsigned files = l->target.files_n ? l->target.files_n : 1;
    if (l->engine && l->engine->locate) /* it opens none */
        return;
    uint64_t need = limits_descriptors_needed(l->profile, files);
    if (procself_limit("Max open files", &soft, &hard) && need > hard)
        found(l, SEVERITY_FAILS, "ulimit -Hn as root, --fd-sharing or --own-files",
              "%" PRIu64 " threads x %u file%s need %" PRIu64
              " descriptors, the hard limit of open files is %" PRIu64,
              l->profile->threads, files, files == 1 ? "" : "s", need, hard);
}

void check_processes(struct look *l)
{
    uint64_t max, current, need = l->profile->threads + OTHER_TASKS;
    int64_t kernel;
    if (procself_pids(&max, &current) && (max < current || need > max - current))
        found(l, SEVERITY_FAILS, "raise pids.max (TasksMax= of the unit), or lower threads",
              "%" PRIu64 " tasks are needed, pids.max of the cgroup is %" PRIu64 " and %" PRIu64
              " are there",
              need, max, current);
    bool exempt = l->uid == 0 || l->capabilities >> PROC_CAP_SYS_RESOURCE & 1;
    if (!exempt && procself_limit("Max processes", &max, NULL) && need > max)
        found(l, SEVERITY_FAILS, "ulimit -u, or lower threads",
              "%" PRIu64 " tasks are needed, the limit of the user is %" PRIu64, need, max);
    if (sysroot_read_i64("/proc/sys/kernel/threads-max", &kernel) == 0 && need > (uint64_t)kernel)
        found(l, SEVERITY_FAILS, "sysctl kernel.threads-max, or lower threads",
              "%" PRIu64 " tasks are needed, kernel.threads-max is %" PRId64, need, kernel);
}

/* Threads that are pinned to one node take their buffers there first, bound or not. Strictly bound
 * ones are the plan's business. */
static void check_spill(struct look *l)
{
    const struct topo *t = l->topo;
    uint64_t *need = calloc(t->nodes_n + 1, sizeof(*need));
    for (unsigned i = 0; need && l->place && i < l->profile->threads; i++) {
        hwloc_const_bitmap_t cpus = place_thread_cpus(l->place, i);
        int node = cpus ? topo_cpu_node(t, (unsigned)hwloc_bitmap_first(cpus)) : -1, c;
        if (!cpus || node < 0)
            continue;
        hwloc_bitmap_foreach_begin(c, cpus) if (topo_cpu_node(t, (unsigned)c) != node) node = -1;
        hwloc_bitmap_foreach_end();
        if (node >= 0)
            need[topo_node_index(t, node)] += l->bytes_per_thread;
    }
    for (unsigned n = 0; need && n < t->nodes_n; n++) {
        char a[32], b[32];
        uint64_t have = t->nodes[n].mem_free_bytes + t->nodes[n].mem_file_bytes;
        if (need[n] > have)
            found(l, SEVERITY_SPOILS, "lower threads, iodepth or block, or say --mem",
                  "threads on node %d need %s of buffers, the node has %s: the rest comes from "
                  "other nodes",
                  t->nodes[n].id, format_size(need[n], a, sizeof(a)),
                  format_size(have, b, sizeof(b)));
    }
    free(need);
}

void check_memory(struct look *l)
{
    struct err err = {0};
    if (!buffers_check((unsigned)l->profile->threads, l->bytes_per_thread, &err))
        found(l, SEVERITY_FAILS, NULL, "%s", err.text);
    else if (strcmp(l->profile->mem, "default") == 0)
        check_spill(l);
}

/* Where all threads take their buffers from one node, its share of the pool counts. */
static uint64_t pool_of(const struct look *l, uint64_t all)
{
    int node = l->place ? place_thread_mem_node(l->place, 0) : -1;
    for (unsigned i = 1; node >= 0 && i < l->profile->threads; i++)
        if (place_thread_mem_node(l->place, i) != node)
            node = -1;
    int64_t here = node < 0 ? -1 : l->topo->nodes[topo_node_index(l->topo, node)].hugepages_free;
    return here < 0 ? all : (uint64_t)here;
}

void check_pages(struct look *l)
{
    uint64_t page, pool;
    int64_t reserved = 0;
    char size[32], advice[96];
    const char *thp = json_string_value(json_object_get(l->host, "transparent_hugepage"));
    if (!buffers_huge_pool(&page, &pool) || l->bytes_per_thread < page)
        return;
    uint64_t want = (l->bytes_per_thread + page - 1) / page * l->profile->threads;
    uint64_t have = pool_of(l, pool);
    sysroot_read_i64("/proc/sys/vm/nr_hugepages", &reserved);
    snprintf(advice, sizeof(advice), "sysctl vm.nr_hugepages=%" PRIu64,
             (uint64_t)reserved - pool + want);
    format_size(page, size, sizeof(size));
    if (have >= want)
        return;
    if (pool)
        found(l, SEVERITY_SPOILS, advice,
              "buffers would take %" PRIu64 " huge pages of %s, %" PRIu64
              " are free: some threads get them and others do not, so threads are not alike",
              want, size, have);
    else if (thp && strcmp(thp, "never") == 0)
        found(l, SEVERITY_NOTE, advice,
              "no huge pages are free and transparent ones are off (never): buffers are made of "
              "base pages, which costs TLB misses");
    else
        found(l, SEVERITY_NOTE, advice,
              "no huge pages are free: buffers depend on transparent ones (%s), which differ from "
              "run to run",
              thp ? thp : "setting unknown");
}
