/* Which known name a mistyped one probably meant. */
#ifndef NUMALOAD_NEAREST_H
#define NUMALOAD_NEAREST_H

struct nearest {
    const char *typed;
    const char *best; /* NULL: none offered so far is near */
    unsigned least;   /* edits that a candidate must stay below: half of what was typed, and one */
};

void nearest_begin(struct nearest *n, const char *typed);

/* Takes `name` when it is nearer than the best so far; the pointer is kept. */
void nearest_offer(struct nearest *n, const char *name);

#endif
