#define _GNU_SOURCE
#include "outcome.h"

#include "generator.h"
#include "instrument.h"

#include "../record/completions.h"
#include "../record/derived.h"
#include "../record/notes.h"
#include "window.h"

#include <inttypes.h>
#include <stdlib.h>

#define total(r, span, field)                                                                      \
    window_sum((r)->workers, &(r)->crew, (span)->first_phase, (span)->last_phase,                  \
               offsetof(struct phase_counters, field))

static bool observe(struct run *r, json_t *window, unsigned phase, json_t *notes)
{
    unsigned n = r->crew.threads, cpus = r->crew.cpus_n;
    struct place_thread_seen *seen = calloc(n, sizeof(*seen));
    uint64_t *hits = calloc((size_t)n * cpus, sizeof(*hits));
    json_t *levers = json_array();
    json_object_set_new(window, "placement", levers);
    if (!seen || !hits) {
        note_add(notes, NOTE_INVALID, "placement", "out of memory: not observed");
        free(seen);
        free(hits);
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        uint64_t *mine = hits + (size_t)i * cpus;
        for (unsigned c = 0; c < cpus; c++)
            mine[c] = counter_get(&worker_phase(&r->workers[i], phase)->cpu_hits[c]);
        seen[i] =
            (struct place_thread_seen){.cpu_hits = mine, .tid = atomic_load(&r->workers[i].tid)};
    }
    bool reached = place_observe(r->place, seen, n, phase, phase + 1, levers);
    free(seen);
    free(hits);
    size_t i;
    json_t *l;
    json_array_foreach(levers, i, l)
    {
        if (!json_is_false(json_object_get(l, "reached")))
            continue;
        const char *observed = json_string_value(json_object_get(l, "observed"));
        const char *reason = json_string_value(json_object_get(l, "reason"));
        note_add(notes, NOTE_INVALID, "placement", "%s: asked for %s, observed %s: %s",
                 json_string_value(json_object_get(l, "lever")),
                 json_string_value(json_object_get(l, "asked")), observed ? observed : "nothing",
                 reason ? reason : "not reached");
    }
    return reached;
}

/* The aggregate when the first thread had done its amount, and when the last had. */
static json_t *done_at(uint64_t ns, uint64_t bytes, uint64_t ios)
{
    double seconds = (double)ns / 1e9;
    return json_pack("{s:I, s:I, s:I, s:f, s:f}", "ns", (json_int_t)ns, "bytes", (json_int_t)bytes,
                     "ios", (json_int_t)ios, "bytes_per_s",
                     seconds > 0 ? (double)bytes / seconds : 0, "ios_per_s",
                     seconds > 0 ? (double)ios / seconds : 0);
}

static json_t *amount_of(struct run *r, const struct span *span, json_t *notes)
{
    const struct crew *crew = &r->crew;
    unsigned done = atomic_load(&crew->done_n);
    uint64_t first = atomic_load(&crew->first_done_ns);
    json_t *o = json_pack("{s:i, s:b, s:n, s:n}", "threads_done", (int)done, "complete",
                          done == crew->threads, "first_done", "last_done");
    if (first)
        json_object_set_new(o, "first_done",
                            done_at(first - span->t0_ns, atomic_load(&crew->first_done_bytes),
                                    atomic_load(&crew->first_done_ios)));
    if (done == crew->threads)
        json_object_set_new(
            o, "last_done",
            done_at(span->t1_ns - span->t0_ns, total(r, span, bytes), total(r, span, ios)));
    json_t *elapsed = json_array();
    for (unsigned i = 0; i < crew->threads; i++) {
        uint64_t ns = counter_get(&r->workers[i].done_ns);
        json_array_append_new(elapsed,
                              ns ? json_integer((json_int_t)(ns - span->t0_ns)) : json_null());
    }
    json_object_set_new(o, "thread_done_ns", elapsed);
    if (done < crew->threads)
        note_add(notes, NOTE_WARNING, "amount",
                 "the time was over when %u of %u threads had done their part", done,
                 crew->threads);
    return o;
}

/* An open loop that the storage could not follow is not the load that was asked for. */
static void check_rate(struct run *r, json_t *window, json_t *notes)
{
    double asked = (double)r->profile->iops;
    double done =
        json_number_value(json_object_get(json_object_get(window, "throughput"), "ios_per_s"));
    if (asked > 0 && done < 0.98 * asked && !profile_once(r->profile))
        note_add(
            notes, NOTE_WARNING, "iops",
            "%.0f I/Os a second were asked for, %.0f were done: latencies include the time that "
            "I/Os waited for a free slot, and grow with the window",
            asked, done);
}

void outcome_window(struct run *r, unsigned phase, bool cut)
{
    json_t *w = json_object(), *notes = json_array();
    struct span span = {phase, phase, r->edge_ns[phase], r->edge_ns[phase + 1]};
    json_object_set_new(w, "index", json_integer(phase - 1));
    json_object_set_new(w, "t0_ns", json_integer((json_int_t)span.t0_ns));
    json_object_set_new(w, "t1_ns", json_integer((json_int_t)span.t1_ns));
    json_object_set_new(w, "window_ns", json_integer((json_int_t)(span.t1_ns - span.t0_ns)));
    json_object_set_new(w, "cut_short", json_boolean(cut));
    window_fill(w, r->workers, &r->crew, &span, notes);
    if (profile_once(r->profile))
        json_object_set_new(w, "amount", amount_of(r, &span, notes));
    check_rate(r, w, notes);
    observe(r, w, phase, notes);
    sampling_window(r->sampling, phase, phase + 1, w, notes);
    json_t *lock = instrument_lock(r->instrument, (unsigned)r->profile->windows);
    if (lock)
        json_object_set_new(w, "lock", lock);
    json_object_set_new(w, "completions", completions_of_window(w, r->place, notes));
    generator_note(w, notes);
    json_object_set_new(w, "derived", derived_from_window(w));
    json_object_set_new(w, "valid", json_boolean(note_worst(notes) < NOTE_INVALID));
    json_object_set_new(w, "notes", notes);
    json_array_append_new(json_object_get(r->record, "windows"), w);
}

void outcome_whole_run(struct run *r, unsigned last_edge)
{
    json_t *w = json_object(), *notes = json_array();
    struct span span = {0, r->crew.phases - 1, r->edge_ns[0], r->edge_ns[last_edge]};
    json_object_set_new(w, "t0_ns", json_integer((json_int_t)span.t0_ns));
    json_object_set_new(w, "t1_ns", json_integer((json_int_t)span.t1_ns));
    json_object_set_new(w, "window_ns", json_integer((json_int_t)(span.t1_ns - span.t0_ns)));
    window_fill(w, r->workers, &r->crew, &span, notes);
    json_object_del(w, "latency");
    sampling_window(r->sampling, 0, last_edge, w, notes);
    json_object_set_new(w, "derived", derived_from_window(w));
    json_object_set_new(w, "notes", notes);
    json_object_set_new(r->record, "whole_run", w);
}

void outcome_outstanding(struct run *r)
{
    uint64_t n = 0, oldest = 0, now = now_ns();
    unsigned threads = 0;
    for (unsigned i = 0; i < r->crew.threads; i++) {
        uint64_t mine = counter_get(&r->workers[i].outstanding);
        uint64_t start = counter_get(&r->workers[i].oldest_start_ns);
        n += mine;
        threads += mine > 0;
        if (mine && start && (!oldest || start < oldest))
            oldest = start;
    }
    uint64_t age = oldest ? now - oldest : 0;
    json_object_set_new(r->record, "outstanding",
                        json_pack("{s:I, s:i, s:I}", "ios", (json_int_t)n, "threads", (int)threads,
                                  "oldest_age_ns", (json_int_t)age));
    note_add(r->notes, NOTE_ERROR, "drain",
             "%" PRIu64
             " I/Os of %u threads did not come back, the oldest for %.1f s: the server or "
             "device stopped answering, or pauses for longer than %.0f s",
             n, threads, (double)age / 1e9, HUNG_NS / 1e9);
}

void outcome_setup(struct run *r)
{
    uint64_t first = 0, last = 0;
    for (unsigned i = 0; i < r->crew.threads; i++) {
        uint64_t ns = counter_get(&r->workers[i].first_io_ns);
        first = ns && (!first || ns < first) ? ns : first;
        last = ns > last ? ns : last;
    }
    json_t *o = json_pack("{s:I, s:I, s:n, s:n}", "launch_to_threads_ns",
                          (json_int_t)(r->threads_ns - r->launched_ns), "launch_to_ready_ns",
                          (json_int_t)(r->ready_ns - r->launched_ns), "ready_to_first_io_ns",
                          "ready_to_all_io_ns");
    json_object_set_new(r->record, "setup", o);
    if (!first) {
        json_object_set_new(o, "reason", json_string("no I/O was begun"));
        return;
    }
    json_object_set_new(o, "ready_to_first_io_ns", json_integer((json_int_t)(first - r->ready_ns)));
    json_object_set_new(o, "ready_to_all_io_ns", json_integer((json_int_t)(last - r->ready_ns)));
}

/* {"key": [{"value": V, "threads": N}, ...]}: each distinct value with the threads that have it. */
static void add_fact(json_t *transport, const char *key, json_t *value)
{
    json_t *seen = json_object_get(transport, key), *entry;
    size_t i;
    if (!seen) {
        seen = json_array();
        json_object_set_new(transport, key, seen);
    }
    json_array_foreach(seen, i, entry)
    {
        if (!json_equal(json_object_get(entry, "value"), value))
            continue;
        json_int_t n = json_integer_value(json_object_get(entry, "threads"));
        json_object_set_new(entry, "threads", json_integer(n + 1));
        return;
    }
    json_array_append_new(seen, json_pack("{s:O, s:i}", "value", value, "threads", 1));
}

static json_t *transport_facts(const struct run *r)
{
    json_t *transport = json_object();
    for (unsigned i = 0; i < r->crew.threads; i++) {
        const struct worker *w = &r->workers[i];
        const char *key;
        json_t *value;
        int state = atomic_load(&((struct worker *)w)->state);
        if (state != WORKER_DONE && state != WORKER_FAILED)
            continue; /* it hangs and may still write */
        json_object_foreach(w->facts, key, value)
        {
            add_fact(transport, key, value);
        }
    }
    return transport;
}

/* A request that was sent twice, and the time without a connection, are not the load that was
 * asked for. */
static void note_reconnects(struct run *r, const json_t *transport)
{
    size_t i;
    json_t *entry;
    json_int_t times = 0, threads = 0;
    json_array_foreach(json_object_get(transport, "reconnects"), i, entry)
    {
        json_int_t value = json_integer_value(json_object_get(entry, "value"));
        json_int_t n = json_integer_value(json_object_get(entry, "threads"));
        times += value * n;
        threads += value ? n : 0;
    }
    if (times)
        note_add(r->notes, NOTE_INVALID, "engine",
                 "connections were lost and made anew %lld times (%lld threads): requests were "
                 "sent twice and the load stood still meanwhile",
                 (long long)times, (long long)threads);
}

/* Who asked for polling measures wake-ups otherwise. */
static void note_polling(struct run *r, const json_t *features)
{
    const json_t *polling = json_object_get(features, "polls");
    if (!polling || !profile_polls(r->profile))
        return;
    json_int_t sleeping = (json_int_t)r->crew.threads - json_integer_value(polling);
    if (sleeping > 0)
        note_add(r->notes, NOTE_WARNING, "engine",
                 "completion = poll was not done: %lld of %u threads slept for their completions, "
                 "as with event, since this kernel's completion ring of engine %s is not one that "
                 "can be read in user space",
                 (long long)sleeping, r->crew.threads, r->crew.engine->name);
}

void outcome_engine(struct run *r)
{
    /* A feature is listed with the number of threads that have it, unless all agree. */
    json_t *features = json_object();
    for (unsigned i = 0; i < r->crew.threads; i++) {
        const char *key;
        json_t *value;
        json_object_foreach(r->workers[i].features, key, value)
        {
            json_int_t n = json_integer_value(json_object_get(features, key));
            json_object_set_new(features, key, json_integer(n + json_is_true(value)));
        }
    }
    note_polling(r, features);
    json_object_set_new(r->record, "engine",
                        json_pack("{s:s, s:i, s:o}", "name", r->crew.engine->name, "threads",
                                  (int)r->crew.threads, "feature_threads", features));
    if (r->crew.engine->facts) {
        json_t *transport = transport_facts(r);
        note_reconnects(r, transport);
        json_object_set_new(json_object_get(r->record, "engine"), "transport", transport);
    }

    uint64_t bytes = 0, slowest = 0;
    unsigned huge = 0;
    size_t page = 0;
    for (unsigned i = 0; i < r->crew.threads; i++) {
        const struct worker *w = &r->workers[i];
        bytes += w->buffers.bytes;
        huge += w->buffers.huge;
        if (w->buffers.page_bytes && (!page || w->buffers.page_bytes < page))
            page = w->buffers.page_bytes;
        if (counter_get(&w->fault_in_ns) > slowest)
            slowest = counter_get(&w->fault_in_ns);
    }
    json_object_set_new(r->record, "buffers",
                        json_pack("{s:I, s:i, s:I, s:I}", "bytes", (json_int_t)bytes,
                                  "huge_page_threads", (int)huge, "page_bytes", (json_int_t)page,
                                  "fault_in_ns", (json_int_t)slowest));
}

void outcome_verify(struct run *r)
{
    const struct span all = {0, r->crew.phases - 1, 0, 0};
    uint64_t checked = total(r, &all, verified), wrong = total(r, &all, wrong);
    const struct wrong_byte *first = NULL;
    for (unsigned i = 0; wrong && i < r->crew.threads; i++) {
        const struct wrong_byte *b = &r->workers[i].wrong;
        if (b->found && (!first || b->file < first->file ||
                         (b->file == first->file && b->offset < first->offset)))
            first = b;
    }
    json_t *o =
        json_pack("{s:I, s:I, s:I, s:n}", "salt", (json_int_t)r->profile->salt, "blocks_checked",
                  (json_int_t)checked, "blocks_wrong", (json_int_t)wrong, "first_wrong");
    json_object_set_new(r->record, "verify", o);
    note_add(r->notes, NOTE_INFO, "verify",
             "every block was checked by the thread that read it: throughput includes that");
    if (!first)
        return;
    const char *path = r->target.files[first->file].path;
    json_t *name = json_string(path);
    json_object_set_new(o, "first_wrong",
                        json_pack("{s:o, s:I, s:i, s:i}", "path",
                                  name ? name : json_string("(not UTF-8)"), "offset",
                                  (json_int_t)first->offset, "expected", (int)first->expected,
                                  "found", (int)first->got));
    err_set(&r->err, STATUS_FAILED,
            "%" PRIu64 " of %" PRIu64
            " blocks are wrong; the first wrong byte is at offset %" PRIu64
            " of %s: expected 0x%02x, found 0x%02x (salt %" PRIu64 ")",
            wrong, checked, first->offset, path, first->expected, first->got, r->profile->salt);
    note_add(r->notes, NOTE_ERROR, "verify", "%s", r->err.text);
}
