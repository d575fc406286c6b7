/* What a placement is made of (internal to the library).
 *
 * A lever is one file lever_X.c and one line in levers[] (place.c). Probing is done in the order of
 * the table: a lever may use what an earlier one decided (mem follows the CPUs of the threads). */
#ifndef NUMALOAD_LEVER_H
#define NUMALOAD_LEVER_H

#include "device.h"
#include "pages.h"
#include "place.h"
#include "setting.h"
#include "usable.h"
#include "word.h"

#define LEVERS_MAX 16
#define PLACE_TEXTS_MAX 16

/* What is known about one window, or about the time between two edges. */
struct lever_window {
    const struct place_thread_seen *seen;
    size_t seen_n;
    unsigned from, to; /* edges */
};

/* What cq can say, for the levers that it means. */
#define CQ_WORDS                                                                                   \
    (ACCEPT_WORD(WORD_LEAVE) | ACCEPT_WORD(WORD_NODE) | ACCEPT_WORD(WORD_NIC) |                    \
     ACCEPT_WORD(WORD_REMOTE) | ACCEPT_WORD(WORD_BALANCED) | ACCEPT_WORD(WORD_CPUS))

enum reached { REACHED_NO, REACHED_YES, REACHED_UNKNOWN /* not asked, or not observable */ };

/* Filled by observe(); freed by the caller. */
struct lever_seen {
    char *observed; /* a short text for people; NULL: nothing could be seen */
    enum reached reached;
    char *reason; /* why not, or why unknown; NULL when reached */
    json_t *detail;
};

/* One machine-wide value that a lever writes, or only watches. */
struct lever_value {
    struct setting s;
    char *want; /* the text to write; NULL: watch only */
    int error;  /* -errno of the write; 0: taken, or not tried */
};

struct lever {
    const struct lever_ops *ops;
    bool asked;                 /* something other than "leave it" was asked for */
    char *word;                 /* what was asked, as said */
    char *applied;              /* what was done, for people; NULL: nothing */
    struct lever_value *values; /* read at every edge, put back at the end, by place.c */
    size_t values_n;
};

struct lever_ops {
    const char *name;

    /* Decides what the lever will do and whether it can be done, changing nothing. *out is set
     * also on failure when there is something to free. */
    bool (*probe)(struct place *p, struct lever **out, struct err *err);

    /* Writes the values. NULL: nothing is machine-wide. Each write goes through lever_write. */
    bool (*apply)(struct place *p, struct lever *l, struct err *err);

    /* Act on the calling thread or on its mapping. May be NULL. Thread-safe. */
    bool (*bind_thread)(const struct place *p, const struct lever *l, unsigned thread,
                        struct err *err);
    bool (*bind_memory)(const struct place *p, const struct lever *l, unsigned thread, void *addr,
                        size_t bytes, struct err *err);

    /* Reads at a window edge what is not among the values. May be NULL. */
    void (*edge)(const struct place *p, struct lever *l, unsigned edge);

    void (*observe)(const struct place *p, const struct lever *l, const struct lever_window *w,
                    struct lever_seen *out);

    /* Frees the lever's own members. May be NULL. */
    void (*release)(struct lever *l);
};

struct place {
    const struct topo *topo;
    struct place_ask ask; /* with strings of its own */
    char *ask_text[PLACE_TEXTS_MAX];
    struct device device; /* when device_named */
    bool device_named;
    char *device_how;   /* on what grounds the device was found; NULL: it was named, or none */
    char *device_tried; /* why none could be found; NULL: not looked for, or found */
    hwloc_bitmap_t workqueue_cpus; /* set by the irq lever for a device without interrupts: the
                                      unbound lever acts in its place */
    bool vectors_suffice; /* set by the comp-vector lever: the engine's own queues take vectors that
                             fire where cq asks, so the irq lever moves nothing */
    struct journal *journal; /* NULL until the first write */
    struct lever *levers[LEVERS_MAX];
    size_t levers_n;

    hwloc_bitmap_t *thread_cpus; /* [ask.threads]; NULL: unpinned. Set by the cpus lever */
    hwloc_bitmap_t *thread_mem;  /* [ask.threads] nodes; NULL: no promise. Set by the mem lever */
    struct pages_seen *pages;    /* [ask.threads]; NULL before place_query_pages */
};

extern const struct lever_ops lever_cpus, lever_mem, lever_irq, lever_unbound, lever_rps,
    lever_balancing, lever_scope, lever_vector, lever_irqbalance;

/* Allocates a lever of `bytes` (its struct begins with struct lever). NULL when memory is out, err
 * set. */
void *lever_new(const struct lever_ops *ops, size_t bytes, const char *word, bool asked,
                struct err *err);

/* How much of the interrupts must be where they were asked. */
double lever_min_share(const struct place *p);

/* Refuses for want of a device, with what was tried to find one. */
bool lever_no_device(const struct place *p, const char *prefix, struct err *err);

/* The CPUs behind node:, socket:, nic, remote or cpus:; `text` is the word as said. */
bool lever_cpus_of_word(const struct place *p, const char *key, const char *text,
                        const struct word *w, enum usable_for who, hwloc_bitmap_t out,
                        struct err *err);

/* Adds a value to l, read now; `want` (taken over) may be NULL to watch only. Returns 0 or -errno.
 */
int lever_add_value(struct lever *l, const char *path, char *want);

/* Writes one value under the journal, which is begun when it is needed first. False only when there
 * can be no journal; what the kernel answers is in v->error. */
bool lever_write(struct place *p, struct lever_value *v, struct err *err);

/* "node0 51 %, node1 49 %" from counts by index into topo->nodes; `other` (may be 0) is shown under
 * `other_name`. Caller frees; NULL when all are 0. */
char *lever_shares(const struct topo *t, const uint64_t *by_node, uint64_t other,
                   const char *other_name);

/* {"0": n, "1": m} from the same counts. */
json_t *lever_counts(const struct topo *t, const uint64_t *by_node);

#endif
