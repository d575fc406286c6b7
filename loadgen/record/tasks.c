#define _GNU_SOURCE
#include "tasks.h"

#include "../../placement/sysroot.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int task_list_open(struct task_list *l)
{
    *l = (struct task_list){0};
    int fd = sysroot_open(TASKS);
    if (fd < 0)
        return fd;
    l->dir = fdopendir(fd);
    if (l->dir)
        return 0;
    int error = errno;
    close(fd);
    return -error;
}

static int by_number(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

static bool add(struct task_list *l, long tid)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 64;
        long *bigger = realloc(l->tids, cap * sizeof(*bigger));
        if (!bigger)
            return false;
        l->tids = bigger;
        l->cap = cap;
    }
    l->tids[l->n++] = tid;
    return true;
}

bool task_list_refresh(struct task_list *l)
{
    struct stat st;
    if (!l->dir)
        return false;
    bool counted = sysroot_live() && fstat(dirfd(l->dir), &st) == 0;
    if (counted && l->sure && st.st_nlink == l->links)
        return false;
    l->n = 0;
    bool all = true;
    rewinddir(l->dir);
    for (struct dirent *d; all && (d = readdir(l->dir));)
        if (isdigit((unsigned char)d->d_name[0]))
            all = add(l, strtol(d->d_name, NULL, 10));
    qsort(l->tids, l->n, sizeof(*l->tids), by_number);
    l->sure = all && counted;
    l->links = counted ? (unsigned long)st.st_nlink : 0;
    return true;
}

void task_list_doubt(struct task_list *l)
{
    l->sure = false;
}

void task_list_close(struct task_list *l)
{
    if (l->dir)
        closedir(l->dir);
    free(l->tids);
    *l = (struct task_list){0};
}
