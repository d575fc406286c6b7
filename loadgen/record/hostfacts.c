#include "hostfacts.h"

#include "jsontext.h"
#include "notes.h"

#include "../../placement/sysroot.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* First line of a small file, trimmed; 0 or -errno. */
static int read_line(const char *path, char *buf, size_t cap)
{
    ssize_t n = sysroot_read_into(path, buf, cap);
    if (n < 0 && n != -EOVERFLOW)
        return (int)n;
    buf[strcspn(buf, "\n")] = '\0';
    for (size_t len = strlen(buf); len && isspace((unsigned char)buf[len - 1]); len--)
        buf[len - 1] = '\0';
    return 0;
}

static void put_line(json_t *host, const char *key, const char *path)
{
    char buf[8192];
    int error = read_line(path, buf, sizeof(buf));
    if (error)
        json_set_missing(host, key, "%s: %s", path, strerror(-error));
    else
        json_object_set_new(host, key, json_text(buf));
}

static void put_uptime(json_t *host)
{
    char buf[128], *end;
    int error = read_line("/proc/uptime", buf, sizeof(buf));
    double seconds = error ? 0 : strtod(buf, &end);
    if (error || end == buf)
        json_set_missing(host, "uptime_s", "/proc/uptime: %s", strerror(error ? -error : EINVAL));
    else
        json_object_set_new(host, "uptime_s", json_real(seconds));
}

/* Only the first processor is read: the file is long on big machines, and the same for each. */
static void put_cpu_model(json_t *host)
{
    char buf[8192];
    ssize_t n = sysroot_read_into("/proc/cpuinfo", buf, sizeof(buf));
    if (n < 0 && n != -EOVERFLOW) {
        json_set_missing(host, "cpu_model", "/proc/cpuinfo: %s", strerror((int)-n));
        return;
    }
    char *line = strstr(buf, "model name");
    char *value = line ? strchr(line, ':') : NULL;
    if (!value) {
        json_set_missing(host, "cpu_model", "/proc/cpuinfo has no \"model name\"");
        return;
    }
    value++;
    value += strspn(value, " \t");
    json_object_set_new(host, "cpu_model", json_textn(value, strcspn(value, "\n")));
}

struct place_in_package {
    int package, core;
};

static int by_place(const void *a, const void *b)
{
    const struct place_in_package *x = a, *y = b;
    return x->package != y->package ? (x->package < y->package ? -1 : 1)
                                    : (x->core > y->core) - (x->core < y->core);
}

/* Sockets, cores and threads that are online. */
static void put_cpu_counts(json_t *host, const struct topo *topo)
{
    struct place_in_package *seen = calloc(topo->cpus_n + 1u, sizeof(*seen));
    unsigned threads = 0, sockets = 0, cores = 0;
    bool known = seen;
    for (unsigned i = 0; i < topo->cpus_n && seen; i++) {
        const struct topo_cpu *c = &topo->cpus[i];
        if (!c->online)
            continue;
        known &= c->package >= 0 && c->core >= 0;
        seen[threads++] = (struct place_in_package){c->package, c->core};
    }
    if (seen)
        qsort(seen, threads, sizeof(*seen), by_place);
    for (unsigned i = 0; i < threads; i++) {
        sockets += i == 0 || seen[i].package != seen[i - 1].package;
        cores += i == 0 || by_place(&seen[i], &seen[i - 1]) != 0;
    }
    free(seen);
    json_object_set_new(host, "threads", json_integer(threads));
    if (known && threads) {
        json_object_set_new(host, "sockets", json_integer(sockets));
        json_object_set_new(host, "cores", json_integer(cores));
    } else {
        json_set_missing(host, "sockets", "the kernel does not tell the package of each CPU");
        json_set_missing(host, "cores", "the kernel does not tell the core of each CPU");
    }
}

static void put_nodes(json_t *host, const struct topo *topo)
{
    json_t *nodes = json_array();
    for (unsigned i = 0; i < topo->nodes_n; i++) {
        const struct topo_node *n = &topo->nodes[i];
        char *list = NULL;
        if (!n->listed || hwloc_bitmap_list_asprintf(&list, n->listed) < 0)
            list = NULL;
        json_array_append_new(nodes,
                              json_pack("{s:i, s:o, s:I}", "id", n->id, "cpus", json_text(list),
                                        "memory_bytes", (json_int_t)n->mem_total_bytes));
        free(list);
    }
    json_object_set_new(host, "nodes", nodes);
    json_object_set_new(host, "numa", json_boolean(topo->numa));
}

static void put_smt(json_t *host)
{
    int64_t value;
    int error = sysroot_read_i64("/sys/devices/system/cpu/smt/active", &value);
    if (error)
        json_set_missing(host, "smt_active", "/sys/devices/system/cpu/smt/active: %s",
                         strerror(-error));
    else
        json_object_set_new(host, "smt_active", json_boolean(value != 0));
}

static void put_numa_balancing(json_t *host, json_t *notes)
{
    const char *path = "/proc/sys/kernel/numa_balancing";
    int64_t value;
    int error = sysroot_read_i64(path, &value);
    if (error) {
        json_set_missing(host, "numa_balancing", "%s: %s", path, strerror(-error));
        return;
    }
    json_object_set_new(host, "numa_balancing", json_integer(value));
    if (value)
        note_add(notes, NOTE_WARNING, "host",
                 "automatic NUMA balancing is on (kernel.numa_balancing = %lld): it may move pages "
                 "and threads",
                 (long long)value);
}

static void put_irqbalance(json_t *host, json_t *notes)
{
    char **names;
    ssize_t n = sysroot_list("/proc", &names);
    if (n < 0) {
        json_set_missing(host, "irqbalance_running", "/proc: %s", strerror((int)-n));
        return;
    }
    bool running = false;
    for (char **name = names; *name && !running; name++) {
        char path[64], comm[64];
        if (!isdigit((unsigned char)**name) || strlen(*name) > 10)
            continue;
        snprintf(path, sizeof(path), "/proc/%s/comm", *name);
        running = read_line(path, comm, sizeof(comm)) == 0 && strcmp(comm, "irqbalance") == 0;
    }
    sysroot_list_free(names);
    json_object_set_new(host, "irqbalance_running", json_boolean(running));
    if (running)
        note_add(notes, NOTE_WARNING, "host",
                 "irqbalance is running: it may move interrupts during a window");
}

/* /proc/config.gz (CONFIG_IKCONFIG_PROC), unpacked. Texts are about 300 kB; more than the cap is
 * none. Caller frees; NULL when it cannot be read. */
static char *read_config_gz(void)
{
    enum { CAP = 4 << 20 };
    char path[PATH_MAX];
    gzFile gz = sysroot_path(path, sizeof(path), "/proc/config.gz") ? gzopen(path, "rb") : NULL;
    char *text = gz ? malloc(CAP) : NULL;
    int n = text ? gzread(gz, text, CAP - 1) : 0;
    if (gz)
        gzclose(gz);
    if (n <= 0) {
        free(text);
        return NULL;
    }
    text[n] = '\0';
    return text;
}

/* The kernel's own text of its configuration; that of the running kernel first. */
static char *read_config(const char *release)
{
    char path[PATH_MAX], *text = read_config_gz();
    if (text)
        return text;
    snprintf(path, sizeof(path), "/boot/config-%s", release);
    return sysroot_read(path, &text) > 0 ? text : NULL;
}

static bool config_on(const char *config, const char *option)
{
    size_t len = strlen(option);
    for (const char *p = config; (p = strstr(p, option)); p += len)
        if ((p == config || p[-1] == '\n') && p[len] == '=' && p[len + 1] != 'n')
            return true;
    return false;
}

static bool exists(const char *path)
{
    char full[PATH_MAX];
    return sysroot_path(full, sizeof(full), path) && access(full, F_OK) == 0;
}

/* Debugging options that multiply the cost of locks and lists; each true, false or null. */
static void put_debugging(json_t *host, const char *config, json_t *notes)
{
    static const struct {
        const char *option, *trace; /* trace: a file that is there only with the option */
    } options[] = {
        {"CONFIG_KASAN", NULL},
        {"CONFIG_PROVE_LOCKING", "/proc/lockdep_chains"},
        {"CONFIG_LOCK_STAT", "/proc/lock_stat"},
        {"CONFIG_DEBUG_SPINLOCK", NULL},
        {"CONFIG_DEBUG_LIST", NULL},
    };
    json_t *o = json_object();
    bool all = true;
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
        bool seen = options[i].trace && exists(options[i].trace);
        bool on = seen || (config && config_on(config, options[i].option));
        bool known = on || config || options[i].trace;
        json_object_set_new(o, options[i].option, known ? json_boolean(on) : json_null());
        all &= known;
        if (on)
            note_add(notes, NOTE_WARNING, "host",
                     "the kernel was built with %s: locks and lists cost more than they should",
                     options[i].option);
    }
    json_object_set_new(host, "kernel_debugging", o);
    if (!all)
        json_object_set_new(
            host, "kernel_debugging_reason",
            json_string("neither /proc/config.gz nor /boot/config-RELEASE can be read"));
}

static void put_slub_stats(json_t *host)
{
    char **names, path[PATH_MAX];
    ssize_t n = sysroot_list("/sys/kernel/slab", &names);
    if (n < 0) {
        json_set_missing(host, "slub_stats", "/sys/kernel/slab: %s", strerror((int)-n));
        return;
    }
    bool found = false;
    for (char **name = names; *name && !found; name++) {
        snprintf(path, sizeof(path), "/sys/kernel/slab/%s/free_slowpath", *name);
        found = exists(path);
    }
    sysroot_list_free(names);
    json_object_set_new(host, "slub_stats", json_boolean(found));
}

/* "always [madvise] never": the word in brackets. */
static void put_thp(json_t *host)
{
    const char *path = "/sys/kernel/mm/transparent_hugepage/enabled";
    char buf[256];
    int error = read_line(path, buf, sizeof(buf));
    char *open = error ? NULL : strchr(buf, '['), *close = open ? strchr(open, ']') : NULL;
    if (close)
        json_object_set_new(host, "transparent_hugepage",
                            json_textn(open + 1, (size_t)(close - open - 1)));
    else
        json_set_missing(host, "transparent_hugepage", "%s: %s", path,
                         error ? strerror(-error) : "no word in brackets");
}

/* What each weakness of the CPU is answered with: mitigations cost system calls and copies. */
static void put_vulnerabilities(json_t *host)
{
    const char *dir = "/sys/devices/system/cpu/vulnerabilities";
    char **names;
    ssize_t n = sysroot_list(dir, &names);
    if (n < 0) {
        json_set_missing(host, "vulnerabilities", "%s: %s", dir, strerror((int)-n));
        return;
    }
    json_t *o = json_object();
    for (char **name = names; *name; name++) {
        char path[PATH_MAX], buf[512];
        snprintf(path, sizeof(path), "%s/%s", dir, *name);
        if (read_line(path, buf, sizeof(buf)) == 0)
            json_object_set_new(o, *name, json_text(buf));
    }
    sysroot_list_free(names);
    json_object_set_new(host, "vulnerabilities", o);
}

static json_t *line_or_null(const char *dir, const char *file)
{
    char path[PATH_MAX + 64], buf[512];
    snprintf(path, sizeof(path), "%s/%.32s", dir, file);
    return read_line(path, buf, sizeof(buf)) == 0 && *buf ? json_text(buf) : json_null();
}

/* Devices that completions come from; a node of null is one that the device does not know. */
static void put_rdma_devices(json_t *host)
{
    char **names;
    json_t *list = json_array();
    ssize_t n = sysroot_list("/sys/class/infiniband", &names);
    for (ssize_t i = 0; i < n; i++) {
        char dir[PATH_MAX], path[PATH_MAX + 32], target[PATH_MAX];
        int64_t node = -1;
        snprintf(dir, sizeof(dir), "/sys/class/infiniband/%s", names[i]);
        snprintf(path, sizeof(path), "%s/device/numa_node", dir);
        bool known = sysroot_read_i64(path, &node) == 0 && node >= 0;
        snprintf(path, sizeof(path), "%s/device/driver", dir);
        bool driver = sysroot_readlink(path, target, sizeof(target)) > 0;
        const char *slash = driver ? strrchr(target, '/') : NULL;
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:o}", "name", json_text(names[i]), "driver",
                            driver ? json_text(slash ? slash + 1 : target) : json_null(),
                            "firmware", line_or_null(dir, "fw_ver"), "numa_node",
                            known ? json_integer(node) : json_null()));
    }
    if (n >= 0)
        sysroot_list_free(names);
    json_object_set_new(host, "rdma_devices", list);
}

/* What the vDSO reads the time from. The TSC, also as a hypervisor passes it on, costs tens of
 * nanoseconds; these are read by a system call that waits for a chip (lib/vdso/gettimeofday.c,
 * VDSO_CLOCKMODE_NONE). */
static void put_clocksource(json_t *host, json_t *notes)
{
    static const char *const slow[] = {"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"};
    put_line(host, "clocksource",
             "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    const char *name = json_string_value(json_object_get(host, "clocksource"));
    for (size_t i = 0; name && i < sizeof(slow) / sizeof(*slow); i++)
        if (strcmp(name, slow[i]) == 0)
            note_add(notes, NOTE_WARNING, "host",
                     "the clock source is %s: every time stamp is a system call, some of each I/O; "
                     "find out why the kernel does not use the TSC (dmesg)",
                     name);
}

json_t *hostfacts_read(const struct topo *topo, json_t *notes)
{
    json_t *host = json_object();
    char release[256] = "";
    read_line("/proc/sys/kernel/osrelease", release, sizeof(release));
    put_line(host, "kernel_release", "/proc/sys/kernel/osrelease");
    put_line(host, "kernel_version", "/proc/sys/kernel/version");
    put_line(host, "command_line", "/proc/cmdline");
    put_line(host, "boot_id", "/proc/sys/kernel/random/boot_id");
    put_uptime(host);
    put_line(host, "product_name", "/sys/class/dmi/id/product_name");
    put_cpu_model(host);
    put_cpu_counts(host, topo);
    put_smt(host);
    put_nodes(host, topo);
    json_object_set_new(host, "page_bytes", json_integer(sysconf(_SC_PAGESIZE)));
    put_numa_balancing(host, notes);
    put_irqbalance(host, notes);
    put_slub_stats(host);
    put_line(host, "cpu_governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    put_clocksource(host, notes);
    put_thp(host);
    put_vulnerabilities(host);
    put_rdma_devices(host);
    char *config = read_config(release);
    put_debugging(host, config, notes);
    free(config);
    return host;
}
