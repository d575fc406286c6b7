/* Errors as values: one sentence for a person and the exit status it deserves. */
#ifndef NUMALOAD_ERR_H
#define NUMALOAD_ERR_H

#include <stdbool.h>

/* Exit statuses of every subcommand (README, "Exit status"). */
enum status {
    STATUS_OK = 0,
    STATUS_FAILED = 1,  /* the run or an expectation failed */
    STATUS_USAGE = 2,   /* the command line or the profile is wrong */
    STATUS_INVALID = 3, /* measured, but placement not reached or window disturbed */
    STATUS_SKIP = 77,   /* this machine lacks what was asked for (ctest's skip code) */
};

struct err {
    enum status status;
    char text[1024]; /* what was asked, what stood in the way, what to do */
};

/* Fills *e and returns false, so that a failing function can `return err_set(...)`.
 * A NULL e is allowed. Text longer than the buffer is cut. */
bool err_set(struct err *e, enum status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " in front of the text that is there; returns false. */
bool err_prefix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
