#include "profile.h"

#include "engine/engine.h"
#include "nearest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GIB (UINT64_C(1) << 30)
#define SECOND UINT64_C(1000000000)
#define FIELD(f) offsetof(struct profile, f)

static const char *const rw_words[] = {"read", "write", "randread", "randwrite", NULL};
static const char *const cpus_shapes[] = {"unpinned", "node:",  "socket:", "spread",
                                          "nic",      "remote", "cpus:",   NULL};
static const char *const mem_shapes[] = {"default", "node:", "local", "interleave", NULL};
static const char *const cq_shapes[] = {"leave",    "node:", "nic", "remote",
                                        "balanced", "cpus:", NULL};
static const char *const unbound_shapes[] = {"leave", "node:", "all", "cpus:", NULL};
static const char *const rps_shapes[] = {"leave", "node:", "nic", "remote", "cpus:", NULL};
static const char *const irqbalance_words[] = {"refuse", "ignore", "ban", "stop", NULL};
static const char *const completion_words[] = {"event", "poll", NULL};
static const char *const scope_words[] = {"leave", "cpu", "smt", "cache", "numa", "system", NULL};
static const char *const balancing_words[] = {"leave", "off", NULL};

/* The published case is the default: direct reads of 1 MiB, 160 threads x 64, one window of 10 s.
 */
const struct key profile_keys[] = {
    {.name = "path",
     .type = KEY_LIST,
     .offset = FIELD(paths),
     .meta = "FILE",
     .help = "File, block device or directory (see files). Given several times: all of them "
             "together. f[1-4] is f1 f2 f3 f4. A file to read must hold data already."},
    {.name = "rw",
     .type = KEY_TEXT,
     .offset = FIELD(rw),
     .def = "read",
     .words = rw_words,
     .meta = "WORD",
     .help = "read, write, randread, randwrite. Writing destroys what is there: only new files, "
             "files that numaload wrote, or with allow-overwrite."},
    {.name = "mix-read-percent",
     .type = KEY_COUNT,
     .offset = FIELD(mix_read_percent),
     .def = "0",
     .max = 99,
     .meta = "N",
     .help = "Of a write or randwrite, this share of the I/Os reads instead."},
    {.name = "files",
     .type = KEY_COUNT,
     .offset = FIELD(files),
     .def = "0",
     .max = 100000,
     .meta = "N",
     .help =
         "path is a directory; its files file.0 to file.(N-1) are the load. 0: path is a file."},
    {.name = "own-files",
     .type = KEY_BOOL,
     .offset = FIELD(own_files),
     .def = "false",
     .help = "Each thread has files of its own instead of a part of all blocks."},
    {.name = "fd-sharing",
     .type = KEY_BOOL,
     .offset = FIELD(fd_sharing),
     .def = "false",
     .help = "All threads use the same descriptors instead of opening each file themselves."},
    {.name = "once",
     .type = KEY_BOOL,
     .offset = FIELD(once),
     .def = "false",
     .help = "End when everything was read or written once: one window, without ramp; window, when "
             "given, is a time limit."},
    {.name = "amount",
     .type = KEY_SIZE,
     .offset = FIELD(amount_bytes),
     .def = "0",
     .max = UINT64_MAX,
     .meta = "SIZE",
     .help = "Like once, but with this number of bytes of all threads together. 0: no limit."},
    {.name = "limit-thread",
     .type = KEY_SIZE,
     .offset = FIELD(limit_thread_bytes),
     .def = "0",
     .max = UINT64_MAX,
     .meta = "SIZE",
     .help = "Bytes a second that a thread moves at most. 0: no limit."},
    {.name = "limit",
     .type = KEY_SIZE,
     .offset = FIELD(limit_bytes),
     .def = "0",
     .max = UINT64_MAX,
     .meta = "SIZE",
     .help =
         "Bytes a second that all threads together move at most, in equal shares. 0: no limit."},
    {.name = "iops",
     .type = KEY_COUNT,
     .offset = FIELD(iops),
     .def = "0",
     .max = 1000000000,
     .meta = "N",
     .help = "Open loop: so many I/Os a second of all threads, each due at a fixed time whether or "
             "not earlier ones are back. Latency counts from when an I/O was due. 0: closed loop."},
    {.name = "verify",
     .type = KEY_BOOL,
     .offset = FIELD(verify),
     .def = "false",
     .help = "Check every block that is read against salt and offset; a wrong byte fails the run."},
    {.name = "engine",
     .type = KEY_TEXT,
     .offset = FIELD(engine),
     .def = "aio",
     .words = engine_names,
     .meta = "NAME",
     .help =
         "How I/O is done: aio submits inline from the calling thread, as elbencho does (the "
         "published load); uring is io_uring; sync is pread, one I/O at a time; libnfs is an NFS "
         "client of its own over TCP, whose path is nfs://SERVER/FOLDER/FILE?version=3 or 4; "
         "nfs-rdma is one over RDMA, with completion queues of its own, whose path is "
         "nfs-rdma://SERVER[:PORT]/EXPORT/FILE[?mountport=N]; rdma-read reads the memory of "
         "'numaload serve' over RDMA, path rdma://HOST:PORT."},
    {.name = "block",
     .type = KEY_SIZE,
     .offset = FIELD(block_bytes),
     .def = "1M",
     .min = 1,
     .max = GIB,
     .meta = "SIZE",
     .help = "Bytes of one I/O."},
    {.name = "size",
     .type = KEY_SIZE,
     .offset = FIELD(size_bytes),
     .def = "0",
     .max = INT64_MAX, /* as large as a file, and as an integer of the record, can be */
     .meta = "SIZE",
     .help =
         "Part of each file to use, from its beginning; 0: all of it. New files get this size."},
    {.name = "threads",
     .type = KEY_COUNT,
     .offset = FIELD(threads),
     .def = "160",
     .min = 1,
     .max = 65536,
     .meta = "N",
     .help = "Threads. Each reads its own part of the file in a loop."},
    {.name = "iodepth",
     .type = KEY_COUNT,
     .offset = FIELD(iodepth),
     .def = "64",
     .min = 1,
     .max = 16384,
     .meta = "N",
     .help = "I/Os that each thread keeps outstanding."},
    {.name = "batch",
     .type = KEY_COUNT,
     .offset = FIELD(batch),
     .def = "0",
     .max = 16384,
     .meta = "N",
     .help = "I/Os handed to the engine in one call, at most. Each waits for the ones before it "
             "in the call, which counts as its latency. 0: as many as make 256 KiB."},
    {.name = "deadline",
     .type = KEY_TIME,
     .offset = FIELD(deadline_ns),
     .def = "60s",
     .min = SECOND / 10,
     .max = 3600 * SECOND,
     .meta = "TIME",
     .help = "Longest time one I/O may take before the run fails; of engines that speak to a "
             "server themselves (libnfs, nfs-rdma)."},
    {.name = "direct",
     .type = KEY_BOOL,
     .offset = FIELD(direct),
     .def = "true",
     .help = "O_DIRECT: past the page cache. block must be a multiple of 512 then."},
    {.name = "ramp",
     .type = KEY_TIME,
     .offset = FIELD(ramp_ns),
     .def = "2s",
     .max = 3600 * SECOND,
     .meta = "TIME",
     .help = "Load before the first window, not measured."},
    {.name = "window",
     .type = KEY_TIME,
     .offset = FIELD(window_ns),
     .def = "10s",
     .min = SECOND / 100,
     .max = PROFILE_WINDOW_MAX_S * PROFILE_WINDOWS_MAX * SECOND,
     .meta = "TIME",
     .help = "Length of a measured window, 3600 s at most; longer as the time limit of once and "
             "amount. All figures of a window belong to the same instant."},
    {.name = "windows",
     .type = KEY_COUNT,
     .offset = FIELD(windows),
     .def = "1",
     .min = 1,
     .max = PROFILE_WINDOWS_MAX,
     .meta = "N",
     .help = "Measured windows, back to back."},
    {.name = "label",
     .type = KEY_TEXT,
     .offset = FIELD(label),
     .meta = "TEXT",
     .help = "Name of the run in tables. Default: made from the placement."},
    {.name = "cpus",
     .type = KEY_TEXT,
     .offset = FIELD(cpus),
     .shapes = cpus_shapes,
     .def = "unpinned",
     .meta = "WORD",
     .help =
         "CPUs of the threads: unpinned, node:N, socket:N, nic, remote, spread, cpus:LIST. nic is "
         "the node of the device, remote the farthest one from it."},
    {.name = "mem",
     .type = KEY_TEXT,
     .offset = FIELD(mem),
     .shapes = mem_shapes,
     .def = "default",
     .meta = "WORD",
     .help = "Memory of the buffers, bound strictly: default, local, node:N, interleave."},
    {.name = "cq",
     .type = KEY_TEXT,
     .offset = FIELD(cq),
     .shapes = cq_shapes,
     .def = "leave",
     .meta = "WORD",
     .help =
         "Where the device's completions are handled: leave, node:N, nic, remote, balanced, "
         "cpus:LIST. Moves the interrupts of its queues, one CPU each; for soft-RoCE the masks of "
         "the unbound work queues. Put back at the end. Needs root."},
    {.name = "device",
     .type = KEY_TEXT,
     .offset = FIELD(device),
     .meta = "NAME",
     .help =
         "The RDMA, network or block device that cq, nic and remote mean. Default: the one behind "
         "the file: of the route to its NFS server, or its disk."},
    {.name = "comp-vector",
     .type = KEY_TEXT,
     .offset = FIELD(comp_vector),
     .def = "auto",
     .meta = "LIST",
     .help = "For engines that make completion queues of their own: auto (a vector whose interrupt "
             "is where cq asks; the threads take turns), or the vectors to take, such as 0,2-5."},
    {.name = "nconnect",
     .type = KEY_COUNT,
     .offset = FIELD(nconnect),
     .def = "1",
     .min = 1,
     .max = 16,
     .meta = "N",
     .help = "Connections of each thread, of engine nfs-rdma."},
    {.name = "completion",
     .type = KEY_TEXT,
     .offset = FIELD(completion),
     .def = "event",
     .words = completion_words,
     .meta = "WORD",
     .help = "How a thread learns of completions: event (an interrupt or the kernel wakes it) or "
             "poll (it spins: a whole CPU for each thread, no wake-up in the latency; a queue of "
             "rdma-read or nfs-rdma makes no interrupt). Not for sync and libnfs."},
    {.name = "cq-count",
     .type = KEY_COUNT,
     .offset = FIELD(cq_count),
     .def = "0",
     .max = 65535,
     .meta = "N",
     .help = "Moderation of rdma-read's events: completions for one event; 0: as the device does. "
             "Each READ has a completion of its own all the same, so that its latency is right."},
    {.name = "cq-period",
     .type = KEY_TIME,
     .offset = FIELD(cq_period_ns),
     .def = "0s",
     .max = 65535000,
     .meta = "TIME",
     .help = "Moderation of rdma-read's events: longest wait for one; 0: as the device does."},
    {.name = "listen",
     .type = KEY_TEXT,
     .offset = FIELD(listen),
     .def = "0.0.0.0:20885",
     .meta = "ADDRESS",
     .help = "Where 'numaload serve' waits for clients: HOST:PORT or [IPV6]:PORT."},
    {.name = "revoke-after",
     .type = KEY_TIME,
     .offset = FIELD(revoke_after_ns),
     .def = "0s",
     .max = 3600 * SECOND,
     .meta = "TIME",
     .help = "'numaload serve' takes its memory back so long after the first client came, to see "
             "what a run does then; 0: never."},
    {.name = "strict",
     .type = KEY_BOOL,
     .offset = FIELD(strict),
     .def = "false",
     .help = "Stop when one interrupt cannot be moved, instead of going on with the others."},
    {.name = "min-share-percent",
     .type = KEY_COUNT,
     .offset = FIELD(min_share_percent),
     .def = "95",
     .min = 1,
     .max = 100,
     .meta = "N",
     .help = "Share that must be where cq or unbound asks for the window to be valid: of the "
             "interrupts that fired or, where work queues decide instead, of the slab's frees."},
    {.name = "irqbalance",
     .type = KEY_TEXT,
     .offset = FIELD(irqbalance),
     .def = "refuse",
     .words = irqbalance_words,
     .meta = "WORD",
     .help = "What to do when irqbalance runs, which would move interrupts back: refuse, ignore, "
             "ban (it is told to leave these alone), stop (and start again at the end)."},
    {.name = "rps",
     .type = KEY_TEXT,
     .offset = FIELD(rps),
     .shapes = rps_shapes,
     .def = "leave",
     .meta = "WORD",
     .help = "rps and xps masks of the network device: leave, node:N, nic, remote, cpus:LIST. Put "
             "back at the end. Needs root."},
    {.name = "numa-balancing",
     .type = KEY_TEXT,
     .offset = FIELD(numa_balancing),
     .def = "leave",
     .words = balancing_words,
     .meta = "WORD",
     .help = "The kernel's automatic NUMA balancing: leave or off. Put back at the end."},
    {.name = "unbound",
     .type = KEY_TEXT,
     .offset = FIELD(unbound),
     .shapes = unbound_shapes,
     .def = "leave",
     .meta = "WORD",
     .help = "Mask of all unbound work queues, which decides where soft-RoCE completes: leave, "
             "all, node:N, cpus:LIST. Put back at the end. Needs root."},
    {.name = "wq-scope",
     .type = KEY_TEXT,
     .offset = FIELD(wq_scope),
     .def = "leave",
     .words = scope_words,
     .meta = "WORD",
     .help = "affinity_scope of the work queues that have one: leave, cpu, smt, cache, numa, "
             "system. Put back at the end. Needs root."},
    {.name = "slab",
     .type = KEY_TEXT,
     .offset = FIELD(slab),
     .def = "nfs_page",
     .meta = "CACHE",
     .help = "SLUB cache whose statistics are recorded."},
    {.name = "slab-shrink",
     .type = KEY_BOOL,
     .offset = FIELD(slab_shrink),
     .def = "false",
     .help = "Empty this cache before the load begins, its sheaves and its slabs without an object "
             "in use: SLUB hands out what an earlier load left on another node before it makes a "
             "slab of its own. Others that use the cache have to fill it again. Needs root."},
    {.name = "sysroot",
     .type = KEY_TEXT,
     .offset = FIELD(sysroot),
     .meta = "DIR",
     .help = "Read /proc and /sys below this directory: a tree recorded elsewhere."},
    {.name = "json",
     .type = KEY_BOOL,
     .offset = FIELD(json),
     .def = "false",
     .help = "Print the record as one JSON document instead of the table."},
    {.name = "record",
     .type = KEY_TEXT,
     .offset = FIELD(record),
     .meta = "FILE",
     .help = "Save the record to this file as well, whole or not at all."},
    {.name = "instrument",
     .type = KEY_TEXT,
     .offset = FIELD(instrument),
     .def = "none",
     .meta = "WORD",
     .help = "A program that looks on during the windows, its output beside the record: perf-lock, "
             "perf-lock-bpf, perf-stat or cmd:COMMAND. It slows the load; reports keep such runs "
             "apart."},
    {.name = "live",
     .type = KEY_BOOL,
     .offset = FIELD(live),
     .def = "false",
     .help = "Watch the run on the whole terminal: rates by node, latency, counters, threads."},
    {.name = "livecsv",
     .type = KEY_TEXT,
     .offset = FIELD(livecsv),
     .meta = "FILE",
     .help = "Write a line of values a second to this file while the run goes on; units are in the "
             "names of the columns."},
    {.name = "salt",
     .type = KEY_COUNT,
     .offset = FIELD(salt),
     .def = "1",
     .max = UINT32_MAX,
     .meta = "N",
     .help =
         "What is added to the offset in every 8 bytes that are written; verify needs the same."},
    {.name = "allow-overwrite",
     .type = KEY_BOOL,
     .offset = FIELD(allow_overwrite),
     .def = "false",
     .help = "Let a write destroy block devices and files that numaload did not write."},
    {.name = "allow-merged",
     .type = KEY_BOOL,
     .offset = FIELD(allow_merged),
     .def = "false",
     .help = "Accept a slab cache that the kernel merged with others; the record names them."},
    {.name = "allow-partial",
     .type = KEY_BOOL,
     .offset = FIELD(allow_partial),
     .def = "false",
     .help = "Go on with the usable part of a CPU or node list instead of refusing it."},
    {.name = "allow-sparse",
     .type = KEY_BOOL,
     .offset = FIELD(allow_sparse),
     .def = "false",
     .help = "Read a file with holes, which is faster than any storage."},
    {.name = NULL},
};

static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !(*a == '-' && *b == '_') && !(*a == '_' && *b == '-'))
            return false;
    return *a == *b;
}

const struct key *profile_key(const char *name)
{
    for (const struct key *k = profile_keys; k->name; k++)
        if (same_name(k->name, name))
            return k;
    return NULL;
}

const char *profile_nearest(const char *name)
{
    struct nearest n;
    nearest_begin(&n, name);
    for (const struct key *k = profile_keys; k->name; k++)
        nearest_offer(&n, k->name);
    return n.best;
}

static void *field(const void *base, const struct key *k)
{
    return (char *)base + k->offset;
}

static size_t key_index(const struct key *k)
{
    return (size_t)(k - profile_keys);
}

static void list_free(char ***list)
{
    for (char **s = *list; s && *s; s++)
        free(*s);
    free(*list);
    *list = NULL;
}

static bool list_add(char ***list, const char *text, struct err *err)
{
    size_t n = 0;
    while (*list && (*list)[n])
        n++;
    char *copy = strdup(text);
    char **grown = copy ? realloc(*list, (n + 2) * sizeof(*grown)) : NULL;
    if (!grown) {
        free(copy);
        return err_set(err, STATUS_FAILED, "out of memory");
    }
    grown[n] = copy;
    grown[n + 1] = NULL;
    *list = grown;
    return true;
}

bool key_set(void *base, const struct key *k, const char *text, struct err *err)
{
    char lo[32], hi[32];
    uint64_t n = 0;
    switch (k->type) {
    case KEY_BOOL:
        return parse_bool(text, field(base, k), err);
    case KEY_TEXT:
        if (k->words) {
            const char *const *w = k->words;
            while (*w && strcmp(*w, text) != 0)
                w++;
            if (!*w) {
                err_set(err, STATUS_USAGE, "'%s' is not one of:", text);
                size_t used = strlen(err->text);
                for (w = k->words; *w && used < sizeof(err->text); w++)
                    used += (size_t)snprintf(err->text + used, sizeof(err->text) - used, " %s", *w);
                return false;
            }
        }
        char *copy = *text ? strdup(text) : NULL;
        if (*text && !copy)
            return err_set(err, STATUS_FAILED, "out of memory");
        free(*(char **)field(base, k));
        *(char **)field(base, k) = copy;
        return true;
    case KEY_LIST:
        return !*text || list_add(field(base, k), text, err);
    case KEY_COUNT:
        if (!parse_count(text, &n, err))
            return false;
        if (n < k->min || n > k->max)
            return err_set(err, STATUS_USAGE, "%s is outside %" PRIu64 " to %" PRIu64, text, k->min,
                           k->max);
        break;
    case KEY_SIZE:
        if (!parse_size(text, &n, err))
            return false;
        if (n < k->min || n > k->max)
            return err_set(err, STATUS_USAGE, "%s is outside %s to %s", text,
                           format_size(k->min, lo, sizeof(lo)),
                           format_size(k->max, hi, sizeof(hi)));
        break;
    case KEY_TIME:
        if (!parse_time(text, &n, err))
            return false;
        if (n < k->min || n > k->max)
            return err_set(err, STATUS_USAGE, "%s is outside %s to %s", text,
                           format_time(k->min, lo, sizeof(lo)),
                           format_time(k->max, hi, sizeof(hi)));
        break;
    }
    *(uint64_t *)field(base, k) = n;
    return true;
}

bool profile_set(struct profile *p, const struct key *key, const char *text, struct origin origin,
                 struct err *err)
{
    /* A list grows within the profile or within the command line, which replaces the profile's. */
    const struct origin *old = &p->origin[key_index(key)];
    if (key->type == KEY_LIST && (old->cli != origin.cli || !old->file != !origin.file))
        list_free(field(p, key));
    if (!key_set(p, key, text, err)) {
        if (origin.file)
            return err_prefix(err, "%s:%u: %s", origin.file, origin.line, key->name);
        return err_prefix(err, "--%s", key->name);
    }
    p->origin[key_index(key)] = origin;
    return true;
}

bool profile_init(struct profile *p, struct err *err)
{
    _Static_assert(sizeof(profile_keys) / sizeof(*profile_keys) <= PROFILE_KEYS_MAX,
                   "origin[] has room for every key");
    *p = (struct profile){0};
    for (const struct key *k = profile_keys; k->name; k++)
        if (k->def && !profile_set(p, k, k->def, (struct origin){0}, err))
            return false;
    return true;
}

void profile_free(struct profile *p)
{
    for (const struct key *k = profile_keys; k->name; k++) {
        if (k->type == KEY_TEXT)
            free(*(char **)field(p, k));
        else if (k->type == KEY_LIST)
            list_free(field(p, k));
    }
    for (size_t i = 0; i < p->lines_n; i++) {
        free(p->lines[i].section);
        free(p->lines[i].name);
        free(p->lines[i].value);
    }
    free(p->lines);
    free(p->file);
    *p = (struct profile){0};
}

bool profile_writes(const struct profile *p)
{
    return strstr(p->rw, "write") != NULL;
}

bool profile_random(const struct profile *p)
{
    return strncmp(p->rw, "rand", 4) == 0;
}

bool profile_polls(const struct profile *p)
{
    return strcmp(p->completion, "poll") == 0;
}

bool profile_reads(const struct profile *p)
{
    return !profile_writes(p) || p->mix_read_percent;
}

bool profile_once(const struct profile *p)
{
    return p->once || p->amount_bytes;
}

const char *profile_path(const struct profile *p)
{
    return p->paths ? p->paths[0] : NULL;
}

bool profile_is_set(const struct profile *p, const char *key)
{
    const struct origin *o = &p->origin[key_index(profile_key(key))];
    return o->cli || o->file;
}

const char *profile_where(const struct profile *p, const char *key, char *buf, size_t cap)
{
    const struct origin *o = &p->origin[key_index(profile_key(key))];
    if (o->cli)
        snprintf(buf, cap, "--%s", key);
    else if (o->file)
        snprintf(buf, cap, "%s:%u: %s", o->file, o->line, key);
    else
        snprintf(buf, cap, "%s (default)", key);
    return buf;
}
