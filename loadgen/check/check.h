/* The preflight: what would make a run fail, what it could not show, and what would spoil its
 * figures. Looks only; nothing on the machine is changed.
 *
 * All of /proc, /sys and /boot goes through the sysroot seam. On a recorded tree the file under
 * load and the io_uring of this machine are not looked at. A new check is a function and a line in
 * the table of check.c. */
#ifndef NUMALOAD_CHECK_CHECK_H
#define NUMALOAD_CHECK_CHECK_H

#include "../engine/engine.h"
#include "../profile.h"
#include "../run/target.h"

#include "../../placement/place.h"

#include <jansson.h>

enum severity {
    SEVERITY_NOTE,        /* worth knowing */
    SEVERITY_UNAVAILABLE, /* figures that the record will not have */
    SEVERITY_SPOILS,      /* figures that will not be what they seem */
    SEVERITY_FAILS,       /* the run would refuse or stop */
};

enum { SEVERITIES = SEVERITY_FAILS + 1 };

const char *severity_name(enum severity s);

/* What the checks look at, and where they leave what they find. */
struct look {
    const struct profile *profile;
    const struct engine_ops *engine; /* NULL: not in this build */
    const struct topo *topo;
    const json_t *host;   /* hostfacts_read */
    bool nfs, rdma;       /* some file is on NFS, over RDMA: set by check_mount */
    struct target target; /* files_n is 0 when it could not be looked at */
    char *first;          /* the first file, or the folder that it will be made in */
    struct place *place;  /* NULL: it cannot be planned, err says why */
    struct err place_err;
    uint64_t iodepth;          /* that the engine will use */
    uint64_t bytes_per_thread; /* of buffers */
    uint64_t bytes;            /* of all buffers */
    uint64_t uid;              /* effective; UINT64_MAX: unknown */
    uint64_t capabilities;     /* CapEff */

    const char *name; /* of the check at work */
    json_t *findings;
};

/* Adds {"check", "severity", "found", "do"}. `what_to_do` may be NULL when what was found says it
 * itself, as the run's own refusals do. */
void found(struct look *l, enum severity s, const char *what_to_do, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The file itself, or the folder of one that is not there yet; the caller frees it. */
char *check_place_of(const char *path);

/* Runs all checks; `p` has passed profile_check. The document has "findings", gravest first,
 * "in_order" (names of the checks without a finding), "counts" by severity, "host" and "profile".
 * False only when nothing could be looked at (err set). */
bool check_all(const struct profile *p, json_t **document, struct err *err);

/* Exit status of a document: STATUS_FAILED when the run would fail, STATUS_INVALID when something
 * would spoil its figures, else STATUS_OK. */
enum status check_status(const json_t *document);

/* For people, at most 72 columns. */
void check_print(const json_t *document);

/* The checks: kernel.c, limits.c, load.c. */
void check_user(struct look *l);
void check_debugging(struct look *l);
void check_samplers(struct look *l);
void check_irqbalance(struct look *l);
void check_balancing(struct look *l);
void check_governor(struct look *l);
void check_pages(struct look *l);
void check_journal(struct look *l);
void check_engine(struct look *l);
void check_memlock(struct look *l);
void check_open_files(struct look *l);
void check_processes(struct look *l);
void check_memory(struct look *l);
void check_file(struct look *l);
void check_mount(struct look *l);
void check_placement(struct look *l);

#endif
