#include "live_meter.h"

#include <stdlib.h>
#include <string.h>

/* Sums are over all phases. Phases that are long over are added up once (`closed`), so that a look
 * costs the same however many windows there were. */
struct meter_state {
    uint64_t began_ns, last_ns;
    unsigned open_phase; /* phases below this one are in `closed` */
    unsigned last_phase;
    uint64_t *closed_bytes, *bytes;         /* [worker] */
    uint64_t *closed_hits, *hits, *hits_by; /* [worker][node]; hits_by: scratch */
    uint64_t *hist, *diff;                  /* [HIST_BUCKETS] */
    uint64_t closed_ios, ios;
    uint64_t *counters, *interrupts;
    bool interrupts_known;
    int *node_of_cpu; /* index into nodes, or -1 */
};

static bool allocate(struct live_meter *m, const struct topo *topo)
{
    struct meter_state *s = m->state;
    size_t workers = m->crew->threads, nodes = topo->nodes_n + 1u;
    uint64_t **arrays[] = {&s->closed_bytes, &s->bytes,      &s->closed_hits, &s->hits, &s->hits_by,
                           &s->counters,     &s->interrupts, &s->hist,        &s->diff};
    const size_t sizes[] = {workers,         workers,      workers * nodes,
                            workers * nodes, nodes,        m->sources.counters_n + 1,
                            nodes,           HIST_BUCKETS, HIST_BUCKETS};
    bool ok = true;
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        ok = (*arrays[i] = calloc(sizes[i], sizeof(uint64_t))) && ok;
    s->node_of_cpu = calloc(m->crew->cpus_n + 1u, sizeof(int));
    m->node_bytes_per_s = calloc(nodes, sizeof(double));
    m->node_interrupts_per_s = calloc(nodes, sizeof(double));
    m->counter_per_s = calloc(m->sources.counters_n + 1, sizeof(double));
    return ok && s->node_of_cpu && m->node_bytes_per_s && m->node_interrupts_per_s &&
           m->counter_per_s;
}

bool live_meter_open(struct live_meter *m, const struct crew *crew, const struct worker *workers,
                     const struct topo *topo, const char *slab)
{
    *m = (struct live_meter){.crew = crew, .workers = workers};
    m->state = calloc(1, sizeof(*m->state));
    if (!m->state || !live_sources_open(&m->sources, topo, slab) || !allocate(m, topo)) {
        live_meter_close(m);
        return false;
    }
    struct meter_state *s = m->state;
    for (unsigned c = 0; c < crew->cpus_n; c++)
        s->node_of_cpu[c] = topo_node_index(topo, topo_cpu_node(topo, c));
    live_sources_read(&m->sources);
    memcpy(s->counters, m->sources.counters, m->sources.counters_n * sizeof(uint64_t));
    memcpy(s->interrupts, m->sources.interrupts, topo->nodes_n * sizeof(uint64_t));
    s->interrupts_known = m->sources.interrupts_known;
    s->began_ns = s->last_ns = now_ns();
    return true;
}

static double rate(uint64_t from, uint64_t to, double seconds)
{
    return to > from ? (double)(to - from) / seconds : 0;
}

/* One phase of one worker. */
static void add_phase(const struct live_meter *m, unsigned worker, unsigned phase, uint64_t *bytes,
                      uint64_t *by_node, uint64_t *ios)
{
    const struct phase_counters *pc = worker_phase(&m->workers[worker], phase);
    uint64_t n = counter_get(&pc->ios);
    if (!n)
        return;
    *ios += n;
    *bytes += counter_get(&pc->bytes);
    for (unsigned c = 0; c < m->crew->cpus_n; c++) {
        int node = m->state->node_of_cpu[c];
        if (node >= 0)
            by_node[node] += counter_get(&pc->cpu_hits[c]);
    }
}

/* A worker's bytes belong to the nodes it was seen on in the interval, in that proportion. */
static void share_out(struct live_meter *m, unsigned worker, uint64_t bytes, double seconds)
{
    const size_t nodes = m->sources.topo->nodes_n;
    uint64_t *last = m->state->hits + worker * nodes, seen = 0;
    for (size_t n = 0; n < nodes; n++)
        seen += m->state->hits_by[n] - last[n];
    for (size_t n = 0; n < nodes; n++) {
        uint64_t here = m->state->hits_by[n] - last[n];
        if (seen)
            m->node_bytes_per_s[n] += (double)bytes * (double)here / (double)seen / seconds;
        last[n] = m->state->hits_by[n];
    }
}

static void read_workers(struct live_meter *m, unsigned phase, uint64_t now, double seconds)
{
    struct meter_state *s = m->state;
    struct live_rates *r = &m->rates;
    const size_t nodes = m->sources.topo->nodes_n;
    uint64_t moved = 0, ios = s->closed_ios, oldest = 0;
    memset(s->diff, 0, HIST_BUCKETS * sizeof(uint64_t));
    memset(m->node_bytes_per_s, 0, nodes * sizeof(double));
    for (unsigned i = 0; i < m->crew->threads; i++) {
        const struct worker *w = &m->workers[i];
        uint64_t bytes = s->closed_bytes[i];
        memcpy(s->hits_by, s->closed_hits + i * nodes, nodes * sizeof(uint64_t));
        for (unsigned p = s->open_phase; p <= phase; p++)
            add_phase(m, i, p, &bytes, s->hits_by, &ios);
        for (unsigned b = 0; w->hist && b < HIST_BUCKETS; b++)
            s->diff[b] += counter_get(&w->hist[b]);
        uint64_t step = bytes - s->bytes[i];
        double own = (double)step / seconds;
        moved += step;
        s->bytes[i] = bytes;
        share_out(m, i, step, seconds);
        if (i == 0 || own < r->slowest_bytes_per_s) {
            r->slowest = i;
            r->slowest_bytes_per_s = own;
        }
        if (i == 0 || own > r->fastest_bytes_per_s) {
            r->fastest = i;
            r->fastest_bytes_per_s = own;
        }
        r->states[atomic_load_explicit(&w->state, memory_order_relaxed)]++;
        r->outstanding += counter_get(&w->outstanding);
        uint64_t start = counter_get(&w->oldest_start_ns);
        if (start && (!oldest || start < oldest))
            oldest = start;
    }
    r->oldest_ns = oldest && oldest < now ? now - oldest : 0;
    r->bytes_per_s = (double)moved / seconds;
    r->ios_per_s = rate(s->ios, ios, seconds);
    s->ios = ios;
    /* hist keeps the sums, diff becomes the interval's own. */
    for (unsigned b = 0; b < HIST_BUCKETS; b++) {
        uint64_t sum = s->diff[b];
        s->diff[b] = sum - s->hist[b];
        s->hist[b] = sum;
    }
    r->p50_ns = hist_percentile(s->diff, 0.5);
    r->p99_ns = hist_percentile(s->diff, 0.99);
}

/* Workers may add to a phase for a moment after it is over, so the last one seen stays open. */
static void close_phases(struct live_meter *m)
{
    struct meter_state *s = m->state;
    const size_t nodes = m->sources.topo->nodes_n;
    for (; s->open_phase < s->last_phase; s->open_phase++)
        for (unsigned i = 0; i < m->crew->threads; i++)
            add_phase(m, i, s->open_phase, &s->closed_bytes[i], s->closed_hits + i * nodes,
                      &s->closed_ios);
}

static void read_sources(struct live_meter *m, double seconds)
{
    struct meter_state *s = m->state;
    bool before = s->interrupts_known;
    live_sources_read(&m->sources);
    for (size_t i = 0; i < m->sources.counters_n; i++) {
        m->counter_per_s[i] = rate(s->counters[i], m->sources.counters[i], seconds);
        s->counters[i] = m->sources.counters[i];
    }
    for (unsigned n = 0; n < m->sources.topo->nodes_n; n++) {
        m->node_interrupts_per_s[n] = rate(s->interrupts[n], m->sources.interrupts[n], seconds);
        s->interrupts[n] = m->sources.interrupts[n];
    }
    s->interrupts_known = m->sources.interrupts_known;
    m->sources.interrupts_known = m->sources.interrupts_known && before;
}

void live_meter_read(struct live_meter *m)
{
    struct meter_state *s = m->state;
    unsigned phase = atomic_load_explicit(&m->crew->phase, memory_order_relaxed);
    uint64_t now = now_ns();
    double seconds = (double)(now - s->last_ns) / 1e9;
    if (seconds <= 0)
        return;
    m->rates = (struct live_rates){
        .at_s = (double)(now - s->began_ns) / 1e9, .seconds = seconds, .phase = phase};
    read_workers(m, phase, now, seconds);
    close_phases(m);
    s->last_phase = phase;
    read_sources(m, seconds);
    s->last_ns = now;
}

void live_meter_close(struct live_meter *m)
{
    struct meter_state *s = m->state;
    if (s) {
        free(s->closed_bytes);
        free(s->bytes);
        free(s->closed_hits);
        free(s->hits);
        free(s->hits_by);
        free(s->hist);
        free(s->diff);
        free(s->counters);
        free(s->interrupts);
        free(s->node_of_cpu);
        free(s);
    }
    free(m->node_bytes_per_s);
    free(m->node_interrupts_per_s);
    free(m->counter_per_s);
    live_sources_close(&m->sources);
    *m = (struct live_meter){0};
}
