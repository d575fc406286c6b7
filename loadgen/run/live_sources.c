#include "live_sources.h"

#include "../record/slab.h"

#include "../../placement/interrupts.h"
#include "../../placement/sysroot.h"
#include "../../placement/text.h"

#include <stdlib.h>
#include <string.h>

/* The sum at the beginning of a statistic; false for files that are none. */
static bool read_total(const char *path, uint64_t *total)
{
    char *text;
    struct slab_line line;
    ssize_t len = sysroot_read(path, &text);
    if (len < 0)
        return false;
    bool ok = slab_parse(text, (size_t)len, NULL, 0, &line);
    free(text);
    *total = ok ? line.total : 0;
    return ok;
}

bool live_sources_open(struct live_sources *s, const struct topo *topo, const char *slab)
{
    *s = (struct live_sources){.topo = topo, .interrupts = calloc(topo->nodes_n + 1, 8)};
    if (!s->interrupts)
        return false;
    char *dir = text_printf("/sys/kernel/slab/%s", slab ? slab : ""), **files = NULL;
    ssize_t n = dir ? sysroot_list(dir, &files) : -1;
    size_t max = n > 0 ? (size_t)n : 0;
    s->names = calloc(max + 1, sizeof(*s->names));
    s->paths = calloc(max + 1, sizeof(*s->paths));
    s->counters = calloc(max + 1, sizeof(*s->counters));
    bool ok = s->names && s->paths && s->counters;
    for (size_t i = 0; ok && i < max; i++) {
        uint64_t total;
        char *path = text_printf("%s/%s", dir, files[i]), *name = strdup(files[i]);
        if (!path || !name || slab_is_attribute(name) || !read_total(path, &total)) {
            free(path);
            free(name);
            continue;
        }
        s->paths[s->counters_n] = path;
        s->names[s->counters_n++] = name;
    }
    if (n >= 0)
        sysroot_list_free(files);
    free(dir);
    return ok;
}

void live_sources_read(struct live_sources *s)
{
    for (size_t i = 0; i < s->counters_n; i++)
        read_total(s->paths[i], &s->counters[i]);
    struct interrupts in;
    s->interrupts_known = interrupts_read(&in, NULL);
    memset(s->interrupts, 0, s->topo->nodes_n * sizeof(*s->interrupts));
    for (unsigned c = 0; s->interrupts_known && c < in.cpus_n; c++) {
        int node = topo_node_index(s->topo, topo_cpu_node(s->topo, in.cpus[c]));
        for (size_t r = 0; node >= 0 && r < in.rows_n; r++)
            if (in.rows[r].irq >= 0)
                s->interrupts[node] += in.rows[r].counts[c];
    }
    interrupts_free(&in);
}

void live_sources_close(struct live_sources *s)
{
    for (size_t i = 0; i < s->counters_n; i++) {
        free(s->names[i]);
        free(s->paths[i]);
    }
    free(s->names);
    free(s->paths);
    free(s->counters);
    free(s->interrupts);
    *s = (struct live_sources){0};
}
