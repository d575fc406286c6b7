/* Threads and processes by number, for samplers that look at them over and over. */
#ifndef NUMALOAD_TASKS_H
#define NUMALOAD_TASKS_H

#include "../../placement/kept.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* ---- numbers ---- */
struct task_numbers {
    long *all;
    size_t n, cap;
};

/* False when memory is out. */
bool task_numbers_add(struct task_numbers *l, long number);

/* Ascending. */
void task_numbers_sort(struct task_numbers *l);

/* ---- the threads of this process ---- */
#define TASKS "/proc/self/task"

struct task_list {
    void *dir; /* DIR; NULL: not open */
    bool sure; /* links says whether tids is still right */
    unsigned long links;
    struct task_numbers tids; /* ascending */
};

/* 0 or -errno. */
int task_list_open(struct task_list *l);

/* Brings the list up to date; true when it was read anew. The kernel counts the threads in the
 * folder's links, so that nothing is read where none came or went. One that ended while another
 * began is not seen: whoever finds that a thread is gone says so with task_list_doubt. */
bool task_list_refresh(struct task_list *l);
void task_list_doubt(struct task_list *l);

void task_list_close(struct task_list *l);

/* ---- what a sampler knows of each task ---- */
struct task_kind {
    size_t bytes; /* of what is known of a task: a struct that begins with its number, a long */

    /* A task that was not there before: all zero but for the number. False: leave it out; gone() is
     * called for it. */
    bool (*meet)(void *owner, void *task);
    /* One that was there before. False: another one has its number, which is met. NULL: none to
     * look at. */
    bool (*see)(void *owner, void *task);
    /* It is no longer there, or left out: close what is open. */
    void (*gone)(void *owner, void *task);
};

struct task_set {
    void *all; /* ascending */
    size_t n;
};

/* Brings a set up to date with the numbers that there are now, ascending. False when memory is out;
 * nothing has changed then. */
bool task_set_update(struct task_set *set, const struct task_kind *kind, void *owner,
                     const long *numbers, size_t n);

/* gone() for all of them. */
void task_set_free(struct task_set *set, const struct task_kind *kind, void *owner);

/* kept_read_piece() of FOLDER/NUMBER/NAME. */
ssize_t task_read(struct kept_file *f, const char *folder, long number, const char *name, char *buf,
                  size_t cap);

#endif
