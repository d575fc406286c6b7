/* What a reader of a record must know before believing it: a list of sentences with a level. */
#ifndef NUMALOAD_NOTES_H
#define NUMALOAD_NOTES_H

#include <jansson.h>

enum note_level {
    NOTE_INFO,    /* worth knowing: a feature that the kernel lacks */
    NOTE_WARNING, /* may colour the figures: irqbalance running, numa_balancing on */
    NOTE_INVALID, /* the window does not measure what was asked: exit status 3 */
    NOTE_ERROR,   /* the run failed: exit status 1 */
};

/* Appends {"level": ..., "source": ..., "text": ...} to the JSON array `notes`. The same level,
 * source and text is kept once. */
void note_add(json_t *notes, enum note_level level, const char *source, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The gravest level in the array, or -1 when it is empty. */
int note_worst(const json_t *notes);

const char *note_level_name(enum note_level level);

#endif
