/* elbencho's command line, with elbencho's meaning: 'numaload -r -t 4 -b 1M --direct /mnt/f'.
 *
 * A table maps its options to keys of a profile; what is no option of elbencho's may be any key of
 * numaload's (--cq node:1). The defaults are elbencho's: one thread, one I/O at a time, through the
 * page cache, everything once. Facts: elbencho 3.1, its pages --help-large and --help-all. */
#ifndef NUMALOAD_ELBENCHO_H
#define NUMALOAD_ELBENCHO_H

#include "profile.h"

enum { ELBENCHO_READ, ELBENCHO_WRITE, ELBENCHO_KINDS };

struct elbencho {
    char **paths; /* positional, as typed */
    unsigned paths_n;
    bool phase[ELBENCHO_KINDS]; /* -r, -w */
    bool mkdirs, infloop, rand;
    bool lat, lat_histo, all_elapsed, dryrun;
    bool fd_sharing;
    uint64_t dirs, files; /* a thread, when the path is a directory */
    uint64_t iterations;
    uint64_t verify_salt;           /* 0: off */
    uint64_t limit[ELBENCHO_KINDS]; /* bytes/s a thread; 0: none */
    uint64_t mix_read_percent;
    uint64_t time_limit_s; /* 0: none */
    const char *json_file, *csv_file, *live_csv_file;
    char *words[4]; /* made for cpus and mem; owned */
    unsigned words_n;

    struct given {
        const struct key *key;
        const char *value;
    } * given; /* keys of the profile in the order they were given */
    unsigned given_n;
    bool help;
};

/* Reads argv[1..]; argv must live as long as *e. Refuses what neither program has, and options of
 * elbencho's that numaload does not do, each with the reason. */
bool elbencho_read(struct elbencho *e, int argc, char **argv, struct err *err);
void elbencho_free(struct elbencho *e);

/* The first path is a directory: then each thread has files of its own in it. */
bool elbencho_is_dir(const struct elbencho *e);

/* Calls `each` for every directory of every thread; false when it returns false. */
bool elbencho_each_dir(const struct elbencho *e, uint64_t threads,
                       bool (*each)(const char *dir, uint64_t thread, void *arg), void *arg);

/* The profile of one phase, over a profile_init. With directories the paths are those that elbencho
 * gives its files: DIR/rTHREAD/dDIR/rTHREAD-fFILE. */
bool elbencho_profile(const struct elbencho *e, int kind, struct profile *p, struct err *err);

/* The table of options, for --help. */
void elbencho_help(FILE *out);

#endif
