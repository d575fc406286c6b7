/* The files or devices under load: looked at once, before anything is set up.
 *
 * The blocks of all files are counted through, file after file, so that a worker's part is one
 * range of numbers, wherever the files end. */
#ifndef NUMALOAD_TARGET_H
#define NUMALOAD_TARGET_H

#include "../profile.h"

#include <sys/types.h>

struct target_file {
    char *path;
    uint64_t bytes;       /* of the whole file or device */
    uint64_t load_bytes;  /* the part under load, from its beginning: `size` or all of it */
    uint64_t first_block; /* number of its first block */
    uint64_t end_block;   /* number after its last block, which may be shorter than `block` */
    bool device;          /* a block device */
    bool made;            /* by target_open, for a write */
    dev_t dev;            /* with ino what it is under any name; of a block device its number, */
    ino_t ino;            /* and 0 */
    bool noted;           /* its note says that all of it was written, with the profile's salt */
    char filesystem[32];  /* type in /proc/self/mountinfo, or "unknown" */
    char *source;         /* what is mounted there, or NULL */
    char *mount_options;  /* super block options, or NULL */
};

struct target {
    struct target_file *files;
    unsigned files_n;
    uint64_t blocks; /* of all files */
    void *located;   /* what an engine's locate() keeps for its threads; freed with the target */
};

/* Adds what an engine's locate() found under a name of its own. */
bool target_add(struct target *t, const char *path, uint64_t bytes, const char *filesystem,
                struct err *err);

/* Adds the profile's paths, their number ranges expanded: each is opened and closed to see that it
 * can be used as asked; a missing file is made for a write. Refuses: missing, not allowed, a
 * directory without files, direct I/O that the file system refuses or wants aligned otherwise
 * (statx(2), STATX_DIOALIGN); to read: holes and unwritten extents without allow_sparse, data that
 * was written with another salt than verify has; to write: a device, or a file that numaload did
 * not write, without allow_overwrite, or the same file twice, whatever its names are. What it made
 * is gone again when it refuses. */
bool target_open(struct target *t, const struct profile *p, struct err *err);

/* Cuts the files into blocks, once all are added. Refuses an empty file and one that is smaller
 * than one block or than size. */
bool target_cut(struct target *t, const struct profile *p, struct err *err);

/* Takes away what target_open made, and the notes beside it: for a run that is refused before it
 * has written anything. */
void target_unmake(struct target *t);

/* Compares what is to be written with what is free where the files are, of files on one file system
 * together: a disk that is full in the end is found out before the first byte. What a file holds
 * already is room that it has. */
bool target_check_room(const struct target *t, struct err *err);

/* Around a load that writes: the notes beside the files (datanote.h). `whole`: every block under
 * load was written. */
bool target_begin_write(const struct target *t, const struct profile *p, struct err *err);
bool target_end_write(const struct target *t, const struct profile *p, bool whole, struct err *err);

void target_free(struct target *t);

/* A descriptor of the caller's own for one file; -1 with err set. */
int target_fd(const struct target *t, unsigned file, const struct profile *p, struct err *err);

/* The "files" of a record; new reference. */
json_t *target_json(const struct target *t);

#endif
