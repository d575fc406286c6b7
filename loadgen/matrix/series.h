/* The folder of a matrix: plan.json, one record a run, a log, and a lock against two at once.
 *
 *   plan.json          plan-schema.json
 *   run-0007.json      the record of run 7; run-0007-2.json is its second attempt
 *   warmup-1-1.json    the first warm-up of the first boot
 *   log                one line an event, with the time in UTC
 *   lock               held (flock(2)) while a program works on the folder
 *   reserve            1 MiB that is given up when the disk is full, for the record in hand
 *   NAME.corrupt       a file that was no record of this series, set aside
 *
 * Everything a series knows is in these files: opening the folder again after any kind of end
 * brings back what was done. */
#ifndef NUMALOAD_MATRIX_SERIES_H
#define NUMALOAD_MATRIX_SERIES_H

#include "plan.h"

#include <limits.h>

/* Where a run was made, in the hierarchy that the statistics resample. */
struct boot_seen {
    unsigned index;                   /* from 1 */
    char id[40];                      /* /proc/sys/kernel/random/boot_id */
    unsigned warmups, warmup_records; /* those that did not fail, and all */
    bool settled;                     /* a level is known */
    double idle_percent, interrupts_per_s;
    unsigned share; /* greatest share of the plan's boots that it ran counted runs of, 0: none */
};

struct mount_seen {
    unsigned index; /* from 1 */
    unsigned boot;
    double mounted_at_s; /* negative: no NFS mount */
};

struct run_seen {
    unsigned attempts;    /* records there are */
    bool counted;         /* one of them is valid */
    unsigned boot, mount; /* of the counted one */
    double bytes_per_s;
};

struct series {
    char folder[PATH_MAX];
    char id[17];
    int lock_fd, log_fd;
    json_t *plan; /* as on disk */
    struct run_seen *runs;
    unsigned runs_n;
    struct boot_seen *boots;
    unsigned boots_n;
    struct mount_seen *mounts;
    unsigned mounts_n;
    unsigned boot, mount; /* index of the present ones; mount 0: not looked at yet */
    unsigned counted;
    unsigned counted_optional;
    unsigned runs_wanted; /* that are not optional */
};

/* Opens or begins the series of this plan in `folder`. plan gets its order here: the seed of the
 * series that is there, else its own or one that is drawn. Refuses (STATUS_USAGE) when the series
 * in the folder is another: what differs is said. With new_series that one is set aside first. Says
 * on stderr what was found and set aside. */
bool series_open(struct series *s, const char *folder, struct plan *plan,
                 const struct profile *profile, struct err *err);
void series_close(struct series *s);

/* True when the folder holds a plan; *plan is a new reference. Looks only, for --dry-run. */
bool series_peek(const char *folder, json_t **plan);

/* Appends a line to the log, on disk when this returns. */
bool series_log(struct series *s, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Path of the record of an attempt (from 1) of a run; of a warm-up of a boot when run is 0. */
void series_record_path(const struct series *s, unsigned run, unsigned boot, unsigned attempt,
                        char *buf, size_t cap);

/* Takes note of a record that was written: state above. */
bool series_take(struct series *s, const json_t *record, const struct plan *plan, struct err *err);

/* The present boot; the pointer is good until the next series_take. */
struct boot_seen *series_boot(struct series *s);

/* Finds out which mount `path` is on now; a mount that was not met before gets the next index. */
void series_look_at_mount(struct series *s, const char *path);

/* When the present mount was made, in seconds after boot; negative: no NFS mount. */
double series_mounted_at(const struct series *s);

/* Writes the record, and when the disk is full gives up the reserve for it: *full says so. */
bool series_write(const char *folder, const json_t *record, const char *file, bool *full,
                  struct err *err);

#endif
