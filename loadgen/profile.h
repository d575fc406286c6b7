/* What to load and where it should run: the resolved keys of one run.
 *
 * One table (profile_keys) is the source of the INI profile, the command line, --help, the man page
 * and the record. A new key is one line there and one field here. */
#ifndef NUMALOAD_PROFILE_H
#define NUMALOAD_PROFILE_H

#include "../placement/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum key_type {
    KEY_TEXT,  /* char *; NULL when empty */
    KEY_LIST,  /* char **; ends with NULL, NULL when empty; given again it grows */
    KEY_COUNT, /* uint64_t */
    KEY_SIZE,  /* uint64_t bytes, base-2 suffixes */
    KEY_TIME,  /* uint64_t ns, suffixes ns us ms s m */
    KEY_BOOL,  /* bool */
};

struct key {
    const char *name; /* as on the command line, with dashes */
    enum key_type type;
    size_t offset;             /* into struct profile */
    const char *def;           /* default, as it would be typed; NULL: empty */
    uint64_t min, max;         /* of counts, sizes and times */
    const char *const *words;  /* NULL-terminated list of allowed texts, or NULL: any */
    const char *const *shapes; /* of open texts: how a value may begin, for completion; "node:" asks
                                  for more */
    const char *meta;          /* placeholder in --help */
    const char *help;          /* one or two sentences */
};

/* Where a value came from, for messages. */
struct origin {
    const char *file; /* the profile (owned by the profile); NULL: not from a file */
    unsigned line;    /* 1-based */
    bool cli;         /* given on the command line */
};

/* A line of a section that 'numaload run' has no use for: [matrix] and [expect]. */
struct profile_line {
    char *section, *name, *value;
    unsigned line; /* 1-based */
};

enum { PROFILE_KEYS_MAX = 128 };

/* In an hour a 32-bit counter of one CPU that counts 600,000 a second goes half round, and which
 * way it went can no longer be told. */
enum { PROFILE_WINDOW_MAX_S = 3600, PROFILE_WINDOWS_MAX = 1000 };

struct profile {
    char **paths; /* files, devices, URLs; ends with NULL; NULL: none */
    char *engine;
    uint64_t block_bytes;
    uint64_t size_bytes; /* 0: the whole file */
    char *rw;
    uint64_t mix_read_percent;
    uint64_t files; /* in the directory that path names; 0: path is a file */
    bool own_files;
    bool fd_sharing;
    bool once;
    uint64_t amount_bytes;                    /* 0: everything, with once */
    uint64_t limit_thread_bytes, limit_bytes; /* a second; 0: none */
    uint64_t iops;                            /* open loop; 0: closed loop */
    bool verify;
    bool allow_overwrite;
    uint64_t threads;
    uint64_t iodepth;
    uint64_t batch; /* 0: chosen by block */
    uint64_t deadline_ns;
    bool direct;
    uint64_t ramp_ns;
    uint64_t window_ns;
    uint64_t windows;
    char *label;
    char *cpus;
    char *mem;
    char *cq;
    char *device;
    char *unbound;
    char *rps;
    char *numa_balancing;
    char *wq_scope;
    char *comp_vector;
    uint64_t nconnect;
    char *completion;
    uint64_t cq_count;     /* 0: not moderated */
    uint64_t signal_every; /* READs of one call for one completion */
    uint64_t cq_period_ns; /* 0: not moderated */
    char *listen;
    uint64_t revoke_after_ns; /* 0: never */
    char *irqbalance;
    bool strict;
    uint64_t min_share_percent;
    char *slab;
    bool slab_shrink;
    char *sysroot;
    bool json;
    char *record;
    char *instrument;
    bool live;
    char *livecsv;
    uint64_t salt;
    bool allow_merged;
    bool allow_partial;
    bool allow_sparse;

    char *file; /* the profile that was read, or NULL */
    struct profile_line *lines;
    size_t lines_n;
    struct origin origin[PROFILE_KEYS_MAX];
};

extern const struct key profile_keys[]; /* ends with name == NULL */

/* The key of that name ('-' and '_' are the same), or NULL. */
const struct key *profile_key(const char *name);

/* The known key with the smallest edit distance to name; NULL when none is near. */
const char *profile_nearest(const char *name);

/* All defaults. Free with profile_free. */
bool profile_init(struct profile *p, struct err *err);
void profile_free(struct profile *p);

/* Sets one key from text. Errors are STATUS_USAGE and quote the text, its place (file:line or
 * option) and what would be right. */
bool profile_set(struct profile *p, const struct key *key, const char *text, struct origin origin,
                 struct err *err);

/* Reads an INI file: keys before any section or in [run]; the lines of [matrix] and [expect] are
 * kept as they are. inih does the parsing; comments begin with ';' or '#'. Other sections and
 * unknown keys are refused with file and line. */
bool profile_read_ini(struct profile *p, const char *file, struct err *err);

/* Checks what no single key can know: path given, block fit for direct, and so on. */
bool profile_check(const struct profile *p, struct err *err);

/* What rw, once and amount come to: some I/Os write; blocks in random order; some I/Os read; the
 * run ends when an amount was moved, not when its windows are over. */
bool profile_writes(const struct profile *p);
bool profile_random(const struct profile *p);
bool profile_reads(const struct profile *p);
bool profile_once(const struct profile *p);
bool profile_polls(const struct profile *p); /* completion = poll */

/* The first path, or NULL. */
const char *profile_path(const struct profile *p);

/* True when the user set the key, in the profile or on the command line. */
bool profile_is_set(const struct profile *p, const char *key);

/* "profile.ini:12: block" or "--block", for messages about a value that proved wrong later; when
 * the value is the default: "block (default)". */
const char *profile_where(const struct profile *p, const char *key, char *buf, size_t cap);

/* The "profile" object of a record: every key with its unit in the name. New reference. */
json_t *profile_json(const struct profile *p);

/* For tables of keys in general: sets a field of the struct at `base` that the table describes, and
 * prints the table as --help does. Errors quote the text. */
bool key_set(void *base, const struct key *key, const char *text, struct err *err);
void keys_help(FILE *out, const struct key *keys);

/* The options part of --help, at most 78 columns. */
void profile_help(FILE *out);

/* Parsers, shared with other commands. They accept the whole text or nothing. */
bool parse_size(const char *text, uint64_t *bytes, struct err *err);
bool parse_time(const char *text, uint64_t *ns, struct err *err);
bool parse_count(const char *text, uint64_t *n, struct err *err);
bool parse_bool(const char *text, bool *value, struct err *err);

/* "1 MiB", "512 KiB", "1000 B": exact when the unit divides, else with two decimals. */
const char *format_size(uint64_t bytes, char *buf, size_t cap);

/* "10 s", "250 ms", "1.5 us". */
const char *format_time(uint64_t ns, char *buf, size_t cap);

#endif
