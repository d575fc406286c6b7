#include "window.h"

#include "../record/notes.h"

#include <stddef.h>
#include <stdlib.h>

static uint64_t one(const struct worker *w, unsigned first, unsigned last, size_t offset)
{
    uint64_t sum = 0;
    for (unsigned p = first; w->phase_memory && p <= last; p++)
        sum += counter_get((const counter *)((const char *)worker_phase(w, p) + offset));
    return sum;
}

uint64_t window_sum(const struct worker *workers, const struct crew *crew, unsigned first_phase,
                    unsigned last_phase, size_t offset)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < crew->threads; i++)
        sum += one(&workers[i], first_phase, last_phase, offset);
    return sum;
}

#define SUM(field)                                                                                 \
    window_sum(workers, crew, span->first_phase, span->last_phase,                                 \
               offsetof(struct phase_counters, field))

static double per_second(uint64_t n, const struct span *span)
{
    return (double)n / ((double)(span->t1_ns - span->t0_ns) / 1e9);
}

/* The histogram by powers of two, from the first that has an I/O to the last. */
static json_t *octaves(const uint64_t hist[HIST_BUCKETS])
{
    json_t *a = json_array();
    uint64_t left = 0;
    for (unsigned b = 0; b < HIST_BUCKETS; b++)
        left += hist[b];
    for (unsigned log2 = 6, b = 0; left; log2++) {
        uint64_t n = 0;
        for (; b < HIST_BUCKETS && b < hist_bucket(UINT64_C(1) << log2); b++)
            n += hist[b];
        if (log2 == HIST_MAX_LOG2)
            for (; b < HIST_BUCKETS; b++)
                n += hist[b];
        left -= n;
        if (n || json_array_size(a))
            json_array_append_new(a, json_pack("{s:I, s:I}", "below_ns", (json_int_t)1 << log2,
                                               "ios", (json_int_t)n));
    }
    return a;
}

/* What workers have booked, and of those that are still in a phase of the span what they have not.
 */
static void add_latencies(const struct worker *workers, const struct crew *crew,
                          const struct span *span, uint64_t hist[HIST_BUCKETS])
{
    for (unsigned p = span->first_phase; p <= span->last_phase; p++)
        for (unsigned b = 0; b < HIST_BUCKETS; b++)
            hist[b] += counter_get(&crew->latencies[(size_t)p * HIST_BUCKETS + b]);
    for (unsigned i = 0; i < crew->threads; i++) {
        const struct worker *w = &workers[i];
        uint64_t phase = counter_get(&w->counts_into);
        if (!w->hist || phase < span->first_phase || phase > span->last_phase)
            continue;
        for (unsigned b = 0; b < HIST_BUCKETS; b++) {
            uint64_t booked = counter_get(&w->booked[b]), all = counter_get(&w->hist[b]);
            hist[b] += all > booked ? all - booked : 0; /* one that hung may go on just now */
        }
    }
}

static json_t *latency(const struct worker *workers, const struct crew *crew,
                       const struct span *span)
{
    static const struct {
        const char *key;
        double q;
    } percentiles[] = {
        {"p50_ns", 0.5},     {"p90_ns", 0.9},       {"p99_ns", 0.99},
        {"p99_9_ns", 0.999}, {"p99_99_ns", 0.9999},
    };
    uint64_t count = SUM(ios), min = UINT64_MAX, max = 0;
    json_t *o =
        json_pack("{s:I, s:f}", "count", (json_int_t)count, "error_bound", HIST_ERROR_BOUND);
    uint64_t *hist = calloc(HIST_BUCKETS, sizeof(*hist));
    if (!count || !hist) {
        static const char *const keys[] = {"min_ns", "mean_ns", "max_ns",   "p50_ns",
                                           "p90_ns", "p99_ns",  "p99_9_ns", "p99_99_ns"};
        for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
            json_object_set_new(o, keys[i], json_null());
        json_object_set_new(o, "reason",
                            json_string(hist ? "no I/O was completed" : "out of memory"));
        free(hist);
        return o;
    }
    for (unsigned i = 0; i < crew->threads; i++) {
        for (unsigned p = span->first_phase; p <= span->last_phase; p++) {
            const struct phase_counters *pc = worker_phase(&workers[i], p);
            if (counter_get(&pc->ios) == 0)
                continue;
            uint64_t lo = counter_get(&pc->latency_min_ns), hi = counter_get(&pc->latency_max_ns);
            min = lo < min ? lo : min;
            max = hi > max ? hi : max;
        }
    }
    add_latencies(workers, crew, span, hist);
    json_object_set_new(o, "min_ns", json_integer((json_int_t)min));
    json_object_set_new(o, "mean_ns",
                        json_integer((json_int_t)((SUM(latency_sum_ns) + count / 2) / count)));
    for (size_t i = 0; i < sizeof(percentiles) / sizeof(*percentiles); i++) {
        uint64_t v = hist_percentile(hist, percentiles[i].q);
        v = v < min ? min : v > max ? max : v;
        json_object_set_new(o, percentiles[i].key, json_integer((json_int_t)v));
    }
    json_object_set_new(o, "max_ns", json_integer((json_int_t)max));
    json_object_set_new(o, "octaves", octaves(hist));
    free(hist);
    return o;
}

static json_t *threads(const struct worker *workers, const struct crew *crew,
                       const struct span *span, json_t *notes)
{
    unsigned slowest = 0, fastest = 0, idle = 0, first_idle = 0;
    uint64_t least = UINT64_MAX, most = 0;
    json_t *bytes = json_array();
    for (unsigned i = 0; i < crew->threads; i++) {
        uint64_t n = one(&workers[i], span->first_phase, span->last_phase,
                         offsetof(struct phase_counters, bytes));
        json_array_append_new(bytes, json_integer((json_int_t)n));
        if (n < least) {
            least = n;
            slowest = i;
        }
        if (n >= most) {
            most = n;
            fastest = i;
        }
        if (n == 0 && idle++ == 0)
            first_idle = i;
    }
    if (idle && profile_once(crew->profile))
        note_add(notes, NOTE_INFO, "threads",
                 "%u of %u threads had nothing to do: fewer blocks than threads", idle,
                 crew->threads);
    else if (idle)
        note_add(notes, NOTE_INVALID, "threads",
                 "%u of %u threads completed no I/O in the window (first: thread %u); the sum is "
                 "not that of %u threads. Lengthen the window or lower threads and iodepth",
                 idle, crew->threads, first_idle, crew->threads);
    return json_pack("{s:i, s:i, s:{s:i, s:f}, s:{s:i, s:f}, s:o}", "count", (int)crew->threads,
                     "without_io", (int)idle, "slowest", "thread", (int)slowest, "bytes_per_s",
                     per_second(least, span), "fastest", "thread", (int)fastest, "bytes_per_s",
                     per_second(most, span), "bytes", bytes);
}

/* How I/O reached the kernel: libaio's submit can block, and then the depth asked for is not the
 * depth that was there. */
static json_t *submission(const struct worker *workers, const struct crew *crew,
                          const struct span *span)
{
    uint64_t submits = SUM(submits);
    bool timed = !crew->engine->call_in_reap;
    json_t *o =
        json_pack("{s:I, s:o, s:I, s:o}", "submits", (json_int_t)submits, "submit_ns",
                  timed ? json_integer((json_int_t)SUM(submit_ns)) : json_null(), "requests",
                  (json_int_t)SUM(parts), "unreaped_ns",
                  crew->engine->waiting ? json_integer((json_int_t)SUM(unreaped_ns)) : json_null());
    if (!timed)
        json_object_set_new(o, "submit_reason",
                            json_string("this engine makes its system call when it waits"));
    if (!crew->engine->waiting)
        json_object_set_new(o, "unreaped_reason",
                            json_string("this engine cannot tell without taking completions"));
    json_object_set_new(o, "mean_outstanding_per_thread",
                        submits ? json_real((double)SUM(depth_sum) / (double)submits)
                                : json_null());
    if (!submits)
        json_object_set_new(o, "reason", json_string("nothing was submitted"));
    return o;
}

void window_fill(json_t *window, const struct worker *workers, const struct crew *crew,
                 const struct span *span, json_t *notes)
{
    uint64_t bytes = SUM(bytes), ios = SUM(ios);
    json_object_set_new(window, "throughput",
                        json_pack("{s:I, s:I, s:I, s:f, s:f}", "bytes", (json_int_t)bytes, "ios",
                                  (json_int_t)ios, "submitted_ios", (json_int_t)SUM(submitted),
                                  "bytes_per_s", per_second(bytes, span), "ios_per_s",
                                  per_second(ios, span)));
    if (profile_writes(crew->profile)) {
        json_t *t = json_object_get(window, "throughput");
        json_object_set_new(t, "write_bytes", json_integer((json_int_t)SUM(write_bytes)));
        json_object_set_new(t, "write_ios", json_integer((json_int_t)SUM(write_ios)));
    }
    json_object_set_new(window, "latency", latency(workers, crew, span));
    json_object_set_new(window, "submission", submission(workers, crew, span));
    json_object_set_new(window, "threads", threads(workers, crew, span, notes));
}
