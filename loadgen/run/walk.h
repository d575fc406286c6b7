/* Which block comes next: one worker's way through the blocks of the target.
 *
 * In order, a worker goes round its own part, so that no two read the same block at the same time.
 * At random, it draws from all blocks, again and again. Shuffled, it visits each block of its part
 * once in an order that looks random, then again: for runs that end when everything was done once.
 */
#ifndef NUMALOAD_WALK_H
#define NUMALOAD_WALK_H

#include "target.h"

enum walk_order { WALK_IN_ORDER, WALK_RANDOM, WALK_SHUFFLED };

struct walk {
    const struct target *target;
    uint32_t file_number;             /* the file of the last block, in target.files */
    uint64_t file_first, file_blocks; /* its blocks */
    uint64_t file_bytes;              /* its part under load */
    enum walk_order order;
    uint64_t first, end;              /* the worker's part: [first, end); may be empty */
    uint64_t next;                    /* in order: the next block; shuffled: the next step */
    uint64_t draw_first, draw_blocks; /* at random: drawn from these */
    uint64_t mask;                    /* shuffled: the least 2^n - 1 that covers the part */
    unsigned shift;
    uint64_t rng;
};

/* Plans the way of worker `number` of `threads` for the profile's rw, once and own-files. With
 * fewer blocks than workers these go round all of them, each from another start; in a run with an
 * amount (profile_once) some have nothing to do instead. */
void walk_init(struct walk *w, const struct target *t, const struct profile *p, unsigned number,
               unsigned threads);

/* I/Os that this worker begins: those of its part once, or its share of the amount; UINT64_MAX: no
 * limit. */
uint64_t walk_amount(const struct walk *w, const struct profile *p, unsigned number,
                     unsigned threads);

/* The file that holds a block. */
const struct target_file *walk_file(const struct target *t, uint64_t block);

static inline void walk_enter(struct walk *w, const struct target_file *f)
{
    w->file_number = (uint32_t)(f - w->target->files);
    w->file_first = f->first_block;
    w->file_blocks = f->end_block - f->first_block;
    w->file_bytes = f->load_bytes;
}

/* wyrand (Wang Yi): the two halves of one product; no state but a counter. */
static inline uint64_t walk_rng(struct walk *w)
{
    uint64_t z = w->rng += UINT64_C(0xa0761d6478bd642f);
    unsigned __int128 product = (unsigned __int128)z * (z ^ UINT64_C(0xe7037ed1a0b428db));
    return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

/* A one-to-one map of 0 .. mask onto itself; steps that fall outside the part are left out. */
static inline uint64_t walk_shuffle(struct walk *w)
{
    uint64_t n = w->end - w->first, z;
    do {
        z = w->next;
        w->next = (w->next + 1) & w->mask;
        z = (z * UINT64_C(0xbf58476d1ce4e5b9) + w->draw_first) & w->mask;
        z ^= z >> w->shift;
        z = (z * UINT64_C(0x94d049bb133111eb)) & w->mask;
        z ^= z >> w->shift;
    } while (z >= n);
    return w->first + z;
}

/* In order and at random, as the names say. */
static inline uint64_t walk_step(struct walk *w)
{
    uint64_t block = w->next++;
    if (w->next == w->end)
        w->next = w->first;
    return block;
}

/* The high half of the product: even but for 2^-64 x blocks. */
static inline uint64_t walk_draw(struct walk *w)
{
    return w->draw_first + (uint64_t)(((unsigned __int128)walk_rng(w) * w->draw_blocks) >> 64);
}

/* The number of the next block in the given order, that of the walk; file_number and its like are
 * those of the file that holds it. Only with a part that is not empty. No division, and no search
 * unless the file changes. */
static inline uint64_t walk_next_in(struct walk *w, enum walk_order order)
{
    uint64_t block = order == WALK_IN_ORDER ? walk_step(w)
                     : order == WALK_RANDOM ? walk_draw(w)
                                            : walk_shuffle(w);
    if (__builtin_expect(block - w->file_first >= w->file_blocks, false))
        walk_enter(w, walk_file(w->target, block));
    return block;
}

static inline uint64_t walk_next(struct walk *w)
{
    return walk_next_in(w, w->order);
}

#endif
