#include "walk.h"

const struct target_file *walk_file(const struct target *t, uint64_t block)
{
    unsigned low = 0, high = t->files_n - 1;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (block < t->files[middle].end_block)
            high = middle;
        else
            low = middle + 1;
    }
    return &t->files[low];
}

/* Share `number` of n things dealt out as evenly as whole things allow: [*first, *end). */
static void deal(uint64_t n, unsigned number, unsigned threads, uint64_t *first, uint64_t *end)
{
    uint64_t share = n / threads, rest = n % threads;
    *first = number * share + (number < rest ? number : rest);
    *end = *first + share + (number < rest);
}

static void take_part(struct walk *w, const struct profile *p, unsigned number, unsigned threads)
{
    const struct target *t = w->target;
    uint64_t first, end, n = p->own_files ? t->files_n : t->blocks;
    bool scarce = n < threads && !profile_once(p);
    deal(n, number, threads, &first, &end);
    if (scarce && p->own_files) { /* one file for several threads */
        first = number % n;
        end = first + 1;
    }
    if (p->own_files) {
        w->first = first < end ? t->files[first].first_block : 0;
        w->end = first < end ? t->files[end - 1].end_block : 0;
        w->next = w->first;
    } else if (scarce) {
        w->first = 0;
        w->end = n;
        w->next = number % n;
    } else {
        w->first = w->next = first;
        w->end = end;
    }
}

void walk_init(struct walk *w, const struct target *t, const struct profile *p, unsigned number,
               unsigned threads)
{
    *w = (struct walk){.target = t};
    walk_enter(w, walk_file(t, 0));
    /* Its own stream a worker, the same in every run. */
    w->rng = (number + 1) * UINT64_C(0xd1342543de82ef95);
    take_part(w, p, number, threads);
    if (!profile_random(p))
        return;
    if (profile_once(p) && (!p->amount_bytes || profile_writes(p))) {
        w->order = WALK_SHUFFLED;
        w->next = 0;
        uint64_t n = w->end - w->first;
        unsigned bits = n > 1 ? 64 - (unsigned)__builtin_clzll(n - 1) : 1;
        w->mask = (UINT64_C(2) << (bits - 1)) - 1;
        w->shift = bits / 2 ? bits / 2 : 1;
        w->draw_first = walk_rng(w);
    } else {
        w->order = WALK_RANDOM;
        w->draw_first = p->own_files ? w->first : 0;
        w->draw_blocks = p->own_files ? w->end - w->first : t->blocks;
    }
}

uint64_t walk_amount(const struct walk *w, const struct profile *p, unsigned number,
                     unsigned threads)
{
    uint64_t first, end, part = w->end - w->first;
    if (!profile_once(p))
        return UINT64_MAX;
    if (!p->amount_bytes)
        return part;
    deal((p->amount_bytes - 1) / p->block_bytes + 1, number, threads, &first, &end);
    return part || w->draw_blocks ? end - first : 0;
}
