#define _GNU_SOURCE
#include "tasks.h"

#include "../../placement/sysroot.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

bool task_numbers_add(struct task_numbers *l, long number)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 64;
        long *bigger = realloc(l->all, cap * sizeof(*bigger));
        if (!bigger)
            return false;
        l->all = bigger;
        l->cap = cap;
    }
    l->all[l->n++] = number;
    return true;
}

void task_numbers_sort(struct task_numbers *l)
{
    if (l->n) /* else there may be no memory, which qsort does not take */
        qsort(l->all, l->n, sizeof(*l->all), by_number);
}

bool task_list_refresh(struct task_list *l)
{
    struct stat st;
    if (!l->dir)
        return false;
    bool counted = sysroot_live() && fstat(dirfd(l->dir), &st) == 0;
    if (counted && l->sure && st.st_nlink == l->links)
        return false;
    l->tids.n = 0;
    bool all = true;
    rewinddir(l->dir);
    for (struct dirent *d; all && (d = readdir(l->dir));)
        if (isdigit((unsigned char)d->d_name[0]))
            all = task_numbers_add(&l->tids, strtol(d->d_name, NULL, 10));
    task_numbers_sort(&l->tids);
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
    free(l->tids.all);
    *l = (struct task_list){0};
}

static long number_of(const void *task)
{
    return *(const long *)task;
}

/* Takes over what is known of a task, or has it met. True when it is in the set. */
static bool take(const struct task_kind *kind, void *owner, void *known, long number, void *to)
{
    if (known && (!kind->see || kind->see(owner, known))) {
        memcpy(to, known, kind->bytes);
        return true;
    }
    if (known)
        kind->gone(owner, known);
    memset(to, 0, kind->bytes);
    *(long *)to = number;
    if (kind->meet(owner, to))
        return true;
    kind->gone(owner, to);
    return false;
}

bool task_set_update(struct task_set *set, const struct task_kind *kind, void *owner,
                     const long *numbers, size_t n)
{
    char *now = malloc((n + 1) * kind->bytes), *to = now;
    char *old = set->all, *end = old ? old + set->n * kind->bytes : NULL;
    if (!now)
        return false;
    for (size_t i = 0; i < n; i++) {
        for (; old < end && number_of(old) < numbers[i]; old += kind->bytes)
            kind->gone(owner, old);
        bool known = old < end && number_of(old) == numbers[i];
        to += take(kind, owner, known ? old : NULL, numbers[i], to) ? kind->bytes : 0;
        old += known ? kind->bytes : 0;
    }
    for (; old < end; old += kind->bytes)
        kind->gone(owner, old);
    free(set->all);
    set->all = now;
    set->n = (size_t)(to - now) / kind->bytes;
    return true;
}

void task_set_free(struct task_set *set, const struct task_kind *kind, void *owner)
{
    char *task = set->all;
    for (size_t i = 0; i < set->n; i++, task += kind->bytes)
        kind->gone(owner, task);
    free(set->all);
    *set = (struct task_set){0};
}

ssize_t task_read(struct kept_file *f, const char *folder, long number, const char *name, char *buf,
                  size_t cap)
{
    char path[96] = "";
    if (!kept_is_open(f))
        snprintf(path, sizeof(path), "%s/%ld/%s", folder, number, name);
    return kept_read_piece(f, path, buf, cap);
}
