/* The threads of this process by number, for samplers that look at them over and over. */
#ifndef NUMALOAD_TASKS_H
#define NUMALOAD_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define TASKS "/proc/self/task"

struct task_list {
    void *dir; /* DIR; NULL: not open */
    bool sure; /* links says whether tids is still right */
    unsigned long links;
    long *tids; /* ascending */
    size_t n, cap;
};

/* 0 or -errno. */
int task_list_open(struct task_list *l);

/* Brings the list up to date; true when it was read anew. The kernel counts the threads in the
 * folder's links, so that nothing is read where none came or went. One that ended while another
 * began is not seen: whoever finds that a thread is gone says so with task_list_doubt. */
bool task_list_refresh(struct task_list *l);
void task_list_doubt(struct task_list *l);

void task_list_close(struct task_list *l);

#endif
