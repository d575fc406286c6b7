/* Numeric ranges in square brackets, as elbencho's paths have them: "/mnt/f[1-4]" is four files,
 * "/mnt/[01-02]/f[1,3-5]" eight. Zeros in front of a first number are kept as a width. */
#ifndef NUMALOAD_EXPAND_H
#define NUMALOAD_EXPAND_H

#include "../../placement/err.h"

enum { EXPAND_MAX = 100000 };

/* Calls `each` for every path that `text` stands for, in order; stops when it returns false, and
 * returns false then. A bracket that holds something else than numbers is taken as it stands.
 * Refuses a range that goes down and more than EXPAND_MAX paths. */
bool expand_path(const char *text, bool (*each)(const char *path, void *arg), void *arg,
                 struct err *err);

/* As expand_path, but the name of a file that is there is taken as it stands. */
bool expand_files(const char *text, bool (*each)(const char *path, void *arg), void *arg,
                  struct err *err);

#endif
