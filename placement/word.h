/* The words of a placement: what can be said for cpus, mem, cq and unbound. */
#ifndef NUMALOAD_WORD_H
#define NUMALOAD_WORD_H

#include "err.h"
#include "set.h"

enum word_kind {
    WORD_UNPINNED,
    WORD_DEFAULT,
    WORD_LEAVE,
    WORD_NODE,   /* node:N */
    WORD_SOCKET, /* socket:N, N is physical_package_id */
    WORD_SPREAD,
    WORD_LOCAL,
    WORD_INTERLEAVE,
    WORD_ALL,
    WORD_NIC,
    WORD_REMOTE,
    WORD_BALANCED,
    WORD_CPUS, /* cpus:LIST */
    WORD_KINDS
};

struct word {
    enum word_kind kind;
    int id;              /* of node: and socket: */
    hwloc_bitmap_t cpus; /* of cpus:, never empty there; else NULL */
};

#define ACCEPT_WORD(kind) (1u << (kind))

/* Parses `text` (NULL: the first accepted kind) as a value of `key`. `accepted` is a mask of
 * ACCEPT_WORD(). Refuses with STATUS_USAGE, quoting key and value and listing what is accepted.
 * Release with word_free, also after a refusal. */
bool word_parse(struct word *w, const char *key, const char *text, unsigned accepted,
                struct err *err);
void word_free(struct word *w);

#endif
