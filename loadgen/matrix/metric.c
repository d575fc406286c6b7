#include "metric.h"

#include "../report/view.h"

#include <math.h>
#include <string.h>

const struct metric metrics[] = {
    {"bytes_per_s", "throughput.bytes_per_s", "bytes read per second"},
    {"bytes", "throughput.bytes", "bytes read in the window"},
    {"ios_per_s", "throughput.ios_per_s", "I/Os per second"},
    {"idle_percent", "cpu.all.idle_percent", "idle time of all CPUs, %"},
    {"mean_ns", "latency.mean_ns", "latency, ns"},
    {"p50_ns", "latency.p50_ns", "latency, ns"},
    {"p90_ns", "latency.p90_ns", "latency, ns"},
    {"p99_ns", "latency.p99_ns", "latency, ns"},
    {"p99_9_ns", "latency.p99_9_ns", "latency, ns"},
    {"max_ns", "latency.max_ns", "latency, ns"},
    {"objects_per_page", "derived.objects_per_page", "slab objects freed a page read"},
    {"alloc_per_page", "derived.alloc_per_page", "slab objects allocated a page read"},
    {"remote_free_share", "derived.remote_free_share", "slow path frees of all frees, 0-1"},
    {"barn_put_fail_share", "derived.barn_put_fail_share", "failed barn puts of all, 0-1"},
    {"barn_get_fail_share", "derived.barn_get_fail_share", "failed barn gets of all, 0-1"},
    {"sheaf_flush_sheaves", "derived.sheaf_flush_sheaves", "sheaves flushed"},
    {"sheaf_flush_sheaves_per_barn_put_fail", "derived.sheaf_flush_sheaves_per_barn_put_fail",
     "1 when each failed barn put flushes one sheaf"},
    {"cmpxchg_double_fail_per_million_frees", "derived.cmpxchg_double_fail_per_million_frees",
     "retries"},
    {"interrupts", "irq.total", "interrupts in the window"},
    {0},
};

static const struct {
    const char *prefix, *path, *leaf;
} families[] = {
    {"slab.", "slab.counters", "total"},
    {"idle_percent.", "cpu.by_node", "idle_percent"},
};

#define PER_GIB "slab_per_gib."

enum { FAMILIES = sizeof(families) / sizeof(*families) };

static const struct metric *find(const char *name)
{
    for (const struct metric *m = metrics; m->name; m++)
        if (strcmp(m->name, name) == 0)
            return m;
    return NULL;
}

bool metric_known(const char *name)
{
    for (int i = 0; i < FAMILIES; i++) {
        size_t len = strlen(families[i].prefix);
        if (strncmp(name, families[i].prefix, len) == 0)
            return name[len] != '\0';
    }
    size_t len = strlen(PER_GIB);
    return strncmp(name, PER_GIB, len) == 0 ? name[len] != '\0' : find(name) != NULL;
}

/* Edit distance, of names up to 63 bytes. */
static size_t distance(const char *a, const char *b)
{
    size_t row[64], n = strlen(b);
    if (n > 63)
        return 64;
    for (size_t k = 0; k <= n; k++)
        row[k] = k;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t k = 1; k <= n; k++) {
            size_t best = diagonal + (a[i - 1] != b[k - 1]);
            diagonal = row[k];
            best = row[k] + 1 < best ? row[k] + 1 : best;
            row[k] = row[k - 1] + 1 < best ? row[k - 1] + 1 : best;
        }
    }
    return row[n];
}

const char *metric_nearest(const char *name)
{
    const char *near = NULL;
    size_t least = 1 + strlen(name) / 3;
    for (const struct metric *m = metrics; m->name; m++) {
        size_t d = distance(name, m->name);
        if (d < least) {
            least = d;
            near = m->name;
        }
    }
    return near;
}

double metric_value(const json_t *window, const char *name)
{
    if (strncmp(name, PER_GIB, strlen(PER_GIB)) == 0) {
        char counter[160];
        double bytes = metric_value(window, "bytes");
        snprintf(counter, sizeof(counter), "slab.%.150s", name + strlen(PER_GIB));
        return bytes > 0 ? metric_value(window, counter) / (bytes / (1 << 30)) : NAN;
    }
    const struct metric *m = find(name);
    const json_t *v = m ? view_at(window, m->path) : NULL;
    for (int i = 0; !m && i < FAMILIES; i++) {
        size_t len = strlen(families[i].prefix);
        if (strncmp(name, families[i].prefix, len) != 0)
            continue;
        v = json_object_get(view_at(window, families[i].path), name + len);
        if (json_is_object(v))
            v = json_object_get(v, families[i].leaf);
    }
    return json_is_number(v) ? json_number_value(v) : NAN;
}
