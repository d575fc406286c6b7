#define _GNU_SOURCE
#include "buffers.h"

#include "../../placement/sysroot.h"
#include "../profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* A number of /proc/meminfo: kB, or pages for HugePages_*. */
static bool meminfo(const char *key, uint64_t *value)
{
    char *text;
    if (sysroot_read("/proc/meminfo", &text) < 0)
        return false;
    char want[64];
    snprintf(want, sizeof(want), "\n%s:", key);
    const char *at = strstr(text, want);
    bool ok = at && sscanf(at + strlen(want), "%" SCNu64, value) == 1;
    free(text);
    return ok;
}

bool buffers_huge_pool(uint64_t *page_bytes, uint64_t *free_pages)
{
    uint64_t kb = 0;
    *free_pages = 0;
    meminfo("Hugepagesize", &kb);
    meminfo("HugePages_Free", free_pages);
    *page_bytes = kb * 1024;
    return kb > 0;
}

bool buffers_check(unsigned threads, uint64_t bytes_per_thread, struct err *err)
{
    uint64_t available_kb, need = threads * bytes_per_thread;
    char a[32], b[32], c[32];
    if (bytes_per_thread && need / bytes_per_thread != threads)
        return err_set(err, STATUS_FAILED, "buffers: threads x iodepth x block overflows 64 bits");
    if (!meminfo("MemAvailable", &available_kb) || need <= available_kb * 1024)
        return true;
    return err_set(
        err, STATUS_FAILED,
        "buffers: %u threads x %s (iodepth x block) need %s of memory, %s are available; "
        "lower threads, iodepth or block",
        threads, format_size(bytes_per_thread, a, sizeof(a)), format_size(need, b, sizeof(b)),
        format_size(available_kb * 1024, c, sizeof(c)));
}

/* Faults a range in without the risk of SIGBUS (hugetlb) where the kernel can; by touching
 * where it cannot. */
static int populate(char *addr, size_t bytes, size_t page, bool huge)
{
    if (madvise(addr, bytes, MADV_POPULATE_WRITE) == 0)
        return 0;
    if (errno != EINVAL || huge)
        return errno;
    for (size_t i = 0; i < bytes; i += page)
        *(volatile char *)(addr + i) = 0;
    return 0;
}

static bool map(struct buffers *b, const struct place *place, unsigned thread, size_t page,
                int flags, struct err *err)
{
    b->page_bytes = page;
    b->huge = flags & MAP_HUGETLB;
    b->addr =
        mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (b->addr == MAP_FAILED) {
        b->addr = NULL;
        return err_set(err, STATUS_FAILED, "buffers: %zu bytes: %s", b->bytes, strerror(errno));
    }
    return place_bind_memory(place, thread, b->addr, b->bytes, err);
}

static bool fault_in(struct buffers *b, counter *progress, struct err *err)
{
    enum { STEP = 16 << 20 };
    for (size_t at = 0; at < b->bytes; at += STEP) {
        size_t n = b->bytes - at < STEP ? b->bytes - at : STEP;
        int error = populate((char *)b->addr + at, n, b->page_bytes, b->huge);
        if (error)
            return err_set(
                err, STATUS_FAILED, "buffers: faulting in %zu bytes stopped after %zu: %s%s",
                b->bytes, at, strerror(error),
                error == ENOMEM || error == EFAULT ? "; the node it is bound to has no more memory"
                                                   : "");
        counter_add(progress, n);
    }
    return true;
}

static size_t round_up(uint64_t bytes, size_t page)
{
    return (size_t)((bytes + page - 1) / page * page);
}

bool buffers_make(struct buffers *b, const struct place *place, unsigned thread, uint64_t bytes,
                  counter *progress, struct err *err)
{
    size_t base = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t huge = 0, free_pages = 0;
    *b = (struct buffers){0};
    buffers_huge_pool(&huge, &free_pages);
    /* The pool only decides whether to try: other threads take from it at the same time. */
    if (huge && bytes >= huge && free_pages * huge >= bytes) {
        b->bytes = round_up(bytes, huge);
        if (map(b, place, thread, huge, MAP_HUGETLB, err) && fault_in(b, progress, err))
            return true;
        buffers_free(b);
        counter_set(progress, 0);
    }
    b->bytes = round_up(bytes, base);
    if (!map(b, place, thread, base, 0, err))
        goto fail;
    if (huge && bytes >= huge)
        madvise(b->addr, b->bytes, MADV_HUGEPAGE);
    if (fault_in(b, progress, err))
        return true;
fail:
    buffers_free(b);
    return false;
}

void buffers_free(struct buffers *b)
{
    if (b->addr)
        munmap(b->addr, b->bytes);
    *b = (struct buffers){0};
}
