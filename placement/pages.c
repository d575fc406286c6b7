#define _GNU_SOURCE
#include "pages.h"

#include <errno.h>
#include <numaif.h>
#include <stdlib.h>
#include <string.h>

/* Pages asked about in one call: bounds the two arrays and the time the mmap lock is held. */
#define BATCH 4096

bool pages_query(const struct topo *t, void *addr, size_t bytes, size_t page_bytes,
                 struct pages_seen *out)
{
    *out = (struct pages_seen){.page_bytes = page_bytes};
    out->by_node = calloc(t->nodes_n, sizeof(*out->by_node));
    void **pages = malloc(BATCH * sizeof(*pages));
    int *status = malloc(BATCH * sizeof(*status));
    bool ok = out->by_node && pages && status;
    size_t total = page_bytes ? (bytes + page_bytes - 1) / page_bytes : 0;
    for (size_t done = 0; ok && done < total && !out->query_errno;) {
        size_t n = total - done < BATCH ? total - done : BATCH;
        for (size_t i = 0; i < n; i++)
            pages[i] = (char *)addr + (done + i) * page_bytes;
        if (move_pages(0, n, pages, NULL, status, 0) < 0) {
            out->query_errno = errno;
            break;
        }
        for (size_t i = 0; i < n; i++) {
            int node = status[i] >= 0 ? topo_node_index(t, status[i]) : -1;
            if (node >= 0)
                out->by_node[node]++;
            else if (status[i] >= 0)
                out->elsewhere++;
            else if (status[i] == -ENOENT || status[i] == -EFAULT)
                out->unmapped++;
            else
                out->errors++;
        }
        done += n;
    }
    free(pages);
    free(status);
    return ok;
}

void pages_seen_free(struct pages_seen *p)
{
    free(p->by_node);
    *p = (struct pages_seen){0};
}

uint64_t pages_mapped(const struct topo *t, const struct pages_seen *p)
{
    uint64_t sum = p->elsewhere;
    for (unsigned i = 0; p->by_node && i < t->nodes_n; i++)
        sum += p->by_node[i];
    return sum;
}

/* The mask as the system calls take it. *bits is one more than the mask has, since the kernel
 * ignores the last bit it is told of (mm/mempolicy.c, get_nodes). NULL when memory is out. */
static unsigned long *node_mask(hwloc_const_bitmap_t nodes, unsigned long *bits)
{
    const unsigned width = 8 * sizeof(unsigned long);
    int last = hwloc_bitmap_last(nodes);
    unsigned n = last < 0 ? 1 : (unsigned)last / width + 1;
    unsigned long *mask = calloc(n, sizeof(*mask));
    for (unsigned i = 0; mask && i < n; i++)
        mask[i] = hwloc_bitmap_to_ith_ulong(nodes, i);
    *bits = (unsigned long)n * width + 1;
    return mask;
}

int pages_policy_thread(int mode, hwloc_const_bitmap_t nodes)
{
    if (!nodes)
        return set_mempolicy(mode, NULL, 0) ? -errno : 0;
    unsigned long bits, *mask = node_mask(nodes, &bits);
    if (!mask)
        return -ENOMEM;
    int result = set_mempolicy(mode, mask, bits) ? -errno : 0;
    free(mask);
    return result;
}

int pages_policy_range(int mode, hwloc_const_bitmap_t nodes, void *addr, size_t bytes)
{
    if (!nodes)
        return mbind(addr, bytes, mode, NULL, 0, 0) ? -errno : 0;
    unsigned long bits, *mask = node_mask(nodes, &bits);
    if (!mask)
        return -ENOMEM;
    int result = mbind(addr, bytes, mode, mask, bits, 0) ? -errno : 0;
    free(mask);
    return result;
}

int pages_policy_probe(void)
{
    /* The kernel wants room for all its nodes (at most 1024) and refuses more than a page. */
    const unsigned long bits = 8192;
    unsigned long mask[8192 / (8 * sizeof(unsigned long))] = {0};
    int mode;
    if (get_mempolicy(&mode, mask, bits, NULL, 0))
        return -errno;
    bool has_nodes = mode != MPOL_DEFAULT && mode != MPOL_LOCAL;
    if (has_nodes)
        return set_mempolicy(mode, mask, bits) ? -errno : 0;
    return set_mempolicy(mode, NULL, 0) ? -errno : 0;
}

bool pages_policy_refused(const char *call, int error, struct err *err)
{
    if (error == -EPERM)
        return err_set(
            err, STATUS_FAILED,
            "%s: not permitted; a container's seccomp profile may block it (it is allowed "
            "with CAP_SYS_NICE)",
            call);
    if (error == -ENOSYS)
        return err_set(err, STATUS_FAILED, "%s: this kernel is built without NUMA", call);
    return err_set(err, STATUS_FAILED, "%s: %s", call, strerror(-error));
}
