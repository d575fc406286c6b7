/* The undo record of everything machine-wide, on disk before the first change.
 *
 * One placement at a time is in force on a machine. Who holds the lock of the directory owns it;
 * the lock is shared with a guardian process (guardian.h), so it lasts until the values are back
 * even when the owner was killed. The journal is a file of JSON lines:
 *
 *   {"journal": 1, "pid": 12, "start": 3456, "boot": "...", "command": "numaload run"}
 *   {"change": "/proc/irq/24/smp_affinity_list", "before": "0-3\n", "wrote": "2"}   before the
 * write
 *   {"changed": "/proc/irq/24/smp_affinity_list", "after": "2\n"}                   after it
 *   {"kept": true}                                         left in force on purpose (place apply)
 *
 * Each line is fsynced. A last line without its end was never acted upon, and is ignored. */
#ifndef NUMALOAD_JOURNAL_H
#define NUMALOAD_JOURNAL_H

#include "err.h"

#include <stddef.h>

#define JOURNAL_DIR "/run/numaload"

struct journal;

/* Takes one sentence for the user, without a newline. NULL wherever a say function is asked for
 * means standard error. */
typedef void journal_say(void *ctx, const char *text);

/* Takes the machine: creates `dir` (NULL: JOURNAL_DIR), locks it, puts back what a dead owner left
 * (said through `say`), writes the first line and starts the guardian. Refuses with STATUS_FAILED
 * when another process owns the placement (its pid is named), when a placement was left in force by
 * journal_end(JOURNAL_KEEP), and when the directory cannot be written.
 * Forks: call it before threads are started and buffers are allocated. */
bool journal_begin(struct journal **out, const char *dir, journal_say *say, void *ctx,
                   struct err *err);

/* Around every change. False when the line could not be written (errno is set): do not change. */
bool journal_before(struct journal *j, const char *path, const char *before, const char *wrote);
bool journal_after(struct journal *j, const char *path, const char *after);

enum journal_end {
    JOURNAL_DONE, /* everything is back: the journal goes away */
    JOURNAL_KEEP, /* the placement stays in force until journal_restore */
    JOURNAL_LEFT, /* something could not be put back: the journal stays for journal_restore */
};

/* Dismisses the guardian, gives up the lock and frees j (NULL is allowed). */
bool journal_end(struct journal *j, enum journal_end end, struct err *err);

/* Puts back, in reverse order, what a dead or kept journal in `dir` holds, saying what happens to
 * each value. With `force` values that somebody else changed meanwhile are overwritten, and the
 * journal goes away even when something failed. Waits up to 10 s for a guardian that is at it.
 * Refuses when the owner is alive. *done (may be NULL) counts the values put back. True when there
 * was nothing to do. */
bool journal_restore(const char *dir, bool force, journal_say *say, void *ctx, unsigned *done,
                     struct err *err);

/* Looks at the journal of `dir` without touching it or waiting. `who` gets "'command' (pid N)". */
enum journal_state {
    JOURNAL_NONE,  /* none, or of an earlier boot */
    JOURNAL_OWNED, /* its owner is alive */
    JOURNAL_KEPT,  /* left in force on purpose */
    JOURNAL_STALE, /* its owner is gone and the values are not back */
};
enum journal_state journal_look(const char *dir, char *who, size_t cap);

/* For the guardian: journal_restore without taking the lock, which it holds already. */
bool journal_replay(const char *dir, bool force, journal_say *say, void *ctx, unsigned *done,
                    struct err *err);

#endif
