/* The file or device under load: looked at once, before anything is set up. */
#ifndef NUMALOAD_TARGET_H
#define NUMALOAD_TARGET_H

#include "../profile.h"

struct target {
    const char *path;    /* the profile's */
    uint64_t bytes;      /* of the whole file or device */
    uint64_t load_bytes; /* the part that is read: `size` or all of it */
    uint64_t blocks;     /* of `block` bytes in load_bytes; the last may be shorter */
    char filesystem[32]; /* type in /proc/self/mountinfo, or "unknown" */
    char *source;        /* what is mounted there, or NULL */
    char *mount_options; /* super block options, or NULL */
};

/* Opens and closes the file to see that it can be read as asked. Refuses: missing, not readable, a
 * directory, empty, smaller than one block or than size, holes without allow_sparse, direct I/O
 * that the file system refuses or wants aligned otherwise (statx(2), STATX_DIOALIGN). */
bool target_open(struct target *t, const struct profile *p, struct err *err);
void target_free(struct target *t);

/* A descriptor of the caller's own; -1 with err set. */
int target_fd(const struct target *t, bool direct, struct err *err);

/* The entry of "files" in a record; new reference. */
json_t *target_json(const struct target *t);

#endif
