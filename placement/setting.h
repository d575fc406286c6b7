/* One machine-wide value in a file of /proc or /sys, or of irqbalance (irqbalance.h): what it was,
 * what was written, what it is now.
 *
 * Every lever that changes the machine does it through a setting, so that reading back, watching at
 * window edges and putting back are the same everywhere. Values are compared as text: the kernel
 * prints a value the same way each time. Before each change the journal knows how to undo it. */
#ifndef NUMALOAD_SETTING_H
#define NUMALOAD_SETTING_H

#include "err.h"
#include "journal.h"
#include "kept.h"

struct setting {
    char *path;
    char *before; /* to the byte, as read when it was opened */
    char *wrote;  /* NULL: not changed by us */
    char *after;  /* as read right after the write; NULL: not changed by us */
    char **edges; /* as read at edge k, or NULL */
    unsigned edges_n;
    struct kept_file file; /* for the edges */
};

/* Reads the present value. Returns 0 or -errno; nothing needs closing then. */
int setting_open(struct setting *s, const char *path);
void setting_close(struct setting *s);

/* Writes the undo record to `j`, then `text`, and reads back into `after`. Returns 0 or -errno,
 * with the value as it was; -EIO also when the journal cannot be written. j may be NULL in tests
 * only. */
int setting_write(struct setting *s, const char *text, struct journal *j);

/* Writes the present value, to learn whether a write would be taken; 0 or -errno. */
int setting_try(const struct setting *s);

/* Reads the value again at a window edge; any edge number, repeated ones replace. */
void setting_edge(struct setting *s, unsigned edge);

/* The value at an edge, or NULL when it was not read there. */
const char *setting_at(const struct setting *s, unsigned edge);

enum put_back {
    PUT_BACK_DONE,   /* written, and it reads back as before */
    PUT_BACK_AS_WAS, /* it was already the old value */
    PUT_BACK_THEIRS, /* somebody else changed it meanwhile: kept, err says so */
    PUT_BACK_GONE,   /* the file is not there any more (an interrupt was freed) */
    PUT_BACK_FAILED, /* err says why */
};

/* Puts one value back to `before`, given what was written and what read back right after (NULL when
 * that is not known: the writer was killed in between, so a value that is not the old one is taken
 * for ours). With `force` a value of somebody else's is overwritten. */
enum put_back setting_put_back(const char *path, const char *before, const char *after, bool force,
                               struct err *err);

/* Writes the old value back and checks that it is there. A value that is neither the one we left
 * nor the old one was changed by somebody else: it is kept, and the refusal says so. True also when
 * there was nothing to put back; a second call does nothing. */
bool setting_restore(struct setting *s, struct err *err);

/* Leaves the value as it is now: setting_restore will have nothing to do. */
void setting_forget(struct setting *s);

#endif
