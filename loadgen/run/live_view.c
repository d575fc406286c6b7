#define _GNU_SOURCE
#include "live_view.h"

#include "../record/jsontext.h"
#include "live.h"
#include "live_csv.h"
#include "live_meter.h"
#include "live_paint.h"
#include "live_screen.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TICK_NS UINT64_C(1000000000)
/* A terminal or disk that takes nothing any more is left to itself after this. */
#define PATIENCE_S 2

struct live_view {
    const struct profile *profile;
    bool screen, csv_asked, watching;
    struct live_csv csv;
    struct live_meter meter;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop, left; /* under lock; left: the run went on without the thread, and freed things */
    _Atomic uint64_t ticks, cpu_ns;
};

bool live_view_open(struct live_view **out, const struct profile *p, struct err *err)
{
    *out = NULL;
    bool screen = p->live && live_screen_possible();
    if (p->live && !screen)
        live_say("warning: --live: standard error is not a terminal that can show it");
    if (!screen && !p->livecsv)
        return true;
    struct live_view *v = calloc(1, sizeof(*v));
    if (!v)
        return err_set(err, STATUS_FAILED, "out of memory");
    v->profile = p;
    v->csv_asked = p->livecsv;
    v->csv.fd = -1;
    if (p->livecsv && !live_csv_open(&v->csv, p->livecsv, err)) {
        free(v);
        return false;
    }
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&v->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&v->lock, NULL);
    v->screen = screen;
    if (screen)
        live_screen_begin();
    *out = v;
    return true;
}

/* ---- the file of values ---- */

static void write_header(struct live_view *v)
{
    char *line = NULL;
    size_t size;
    FILE *f = open_memstream(&line, &size);
    if (!f)
        return;
    const struct live_sources *s = &v->meter.sources;
    fputs("time_s,phase,window,bytes_per_s,ios_per_s,latency_p50_ns,latency_p99_ns,"
          "outstanding_ios,oldest_outstanding_ns,threads_running,live_cpu_ns",
          f);
    for (unsigned n = 0; n < s->topo->nodes_n; n++)
        fprintf(f, ",node%d_bytes_per_s,node%d_interrupts_per_s", s->topo->nodes[n].id,
                s->topo->nodes[n].id);
    for (size_t i = 0; i < s->counters_n; i++)
        fprintf(f, ",%s_per_s", s->names[i]);
    fputc('\n', f);
    if (fclose(f) == 0)
        live_csv_header(&v->csv, line);
    free(line);
}

static void write_line(struct live_view *v)
{
    char *line = NULL;
    size_t size;
    FILE *f = open_memstream(&line, &size);
    if (!f)
        return;
    const struct live_meter *m = &v->meter;
    const struct live_rates *r = &m->rates;
    unsigned drain = m->crew->phases - 1;
    fprintf(f, "%.3f,%s,", r->at_s, r->phase == 0 ? "ramp" : r->phase < drain ? "window" : "drain");
    if (r->phase > 0 && r->phase < drain)
        fprintf(f, "%u", r->phase);
    fprintf(f, ",%.0f,%.1f,", r->bytes_per_s, r->ios_per_s);
    if (r->p50_ns) /* empty, not 0: no I/O ended */
        fprintf(f, "%" PRIu64 ",%" PRIu64, r->p50_ns, r->p99_ns);
    else
        fputc(',', f);
    fprintf(f, ",%" PRIu64 ",%" PRIu64 ",%u,%" PRIu64, r->outstanding, r->oldest_ns,
            r->states[WORKER_RUNNING], atomic_load(&v->cpu_ns));
    for (unsigned n = 0; n < m->sources.topo->nodes_n; n++) {
        fprintf(f, ",%.0f,", m->node_bytes_per_s[n]);
        if (m->sources.interrupts_known)
            fprintf(f, "%.1f", m->node_interrupts_per_s[n]);
    }
    for (size_t i = 0; i < m->sources.counters_n; i++)
        fprintf(f, ",%.1f", m->counter_per_s[i]);
    fputc('\n', f);
    if (fclose(f) == 0)
        live_csv_line(&v->csv, line);
    free(line);
}

/* ---- the thread ---- */

static uint64_t thread_cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Sleeps until the deadline; true when the view is to end. */
static bool wait_for(struct live_view *v, uint64_t deadline_ns)
{
    const struct timespec ts = {.tv_sec = (time_t)(deadline_ns / 1000000000),
                                .tv_nsec = (long)(deadline_ns % 1000000000)};
    pthread_mutex_lock(&v->lock);
    while (!v->stop && pthread_cond_timedwait(&v->changed, &v->lock, &ts) == 0)
        ;
    bool stop = v->stop;
    pthread_mutex_unlock(&v->lock);
    return stop;
}

static bool left_behind(struct live_view *v)
{
    pthread_mutex_lock(&v->lock);
    bool left = v->left;
    pthread_mutex_unlock(&v->lock);
    return left;
}

static void *view_main(void *arg)
{
    struct live_view *v = arg;
    uint64_t next = now_ns() + TICK_NS;
    if (v->csv_asked)
        write_header(v);
    for (bool stop = false; !stop;) {
        stop = wait_for(v, next);
        uint64_t now = now_ns();
        /* A last line for what is left, unless that is too short to be a rate. */
        if (left_behind(v) || (stop && now + TICK_NS < next + TICK_NS / 5))
            break;
        live_meter_read(&v->meter);
        if (v->csv_asked)
            write_line(v);
        if (left_behind(v))
            break;
        if (v->screen && !stop)
            live_paint(&v->meter, v->profile);
        atomic_fetch_add(&v->ticks, 1);
        atomic_store(&v->cpu_ns, thread_cpu_ns());
        while (next <= now)
            next += TICK_NS;
    }
    return NULL;
}

void live_view_watch(struct live_view *v, const struct crew *crew, const struct worker *workers,
                     const struct topo *topo)
{
    if (!v || !live_meter_open(&v->meter, crew, workers, topo, v->profile->slab))
        return;
    /* A closed pipe is an error of a write here, not the end of the process. */
    sigset_t pipe, before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    v->watching = pthread_create(&v->thread, NULL, view_main, v) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!v->watching)
        live_say("warning: --live: no thread could be started for it");
}

/* Ends the thread; false when it hangs in a write. */
static bool end_thread(struct live_view *v)
{
    struct timespec until;
    if (!v->watching)
        return true;
    pthread_mutex_lock(&v->lock);
    v->stop = true;
    pthread_cond_signal(&v->changed);
    pthread_mutex_unlock(&v->lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    if (pthread_timedjoin_np(v->thread, NULL, &until) == 0)
        return true;
    pthread_mutex_lock(&v->lock);
    v->left = true;
    pthread_mutex_unlock(&v->lock);
    pthread_detach(v->thread);
    return false;
}

json_t *live_view_close(struct live_view *v)
{
    if (!v)
        return NULL;
    bool ended = end_thread(v);
    if (v->screen)
        live_screen_end();
    if (!ended)
        live_say("warning: --live: its output is stuck; it was left behind");
    json_t *o =
        json_pack("{s:b, s:I, s:I, s:I, s:o}", "screen", v->screen, "interval_ns",
                  (json_int_t)TICK_NS, "ticks", (json_int_t)atomic_load(&v->ticks), "cpu_ns",
                  (json_int_t)atomic_load(&v->cpu_ns), "csv", json_text(v->profile->livecsv));
    if (!ended) /* the thread may wake up and look at it: never freed */
        return o;
    live_csv_close(&v->csv);
    if (v->csv_asked) {
        json_object_set_new(o, "csv_lines", json_integer((json_int_t)v->csv.lines));
        json_object_set_new(o, "csv_lines_lost", json_integer((json_int_t)v->csv.lost));
        json_object_set_new(o, "csv_error",
                            json_text(v->csv.error ? strerror(v->csv.error) : NULL));
    }
    if (v->watching)
        live_meter_close(&v->meter);
    pthread_mutex_destroy(&v->lock);
    pthread_cond_destroy(&v->changed);
    free(v);
    return o;
}
