#define _GNU_SOURCE
#include "crew.h"

#include "window.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define POLL_NS 50000000

static void crew_sleep(void)
{
    nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
}

static bool over(const struct worker *w)
{
    int state = atomic_load(&((struct worker *)w)->state);
    return state == WORKER_DONE || state == WORKER_FAILED;
}

static size_t latency_bytes(const struct crew *crew)
{
    return (size_t)crew->phases * HIST_BUCKETS * sizeof(counter);
}

const struct err *crew_error(const struct crew *crew, const struct worker *workers)
{
    for (unsigned i = 0; i < crew->threads; i++)
        if (workers[i].thread && workers[i].err.text[0] && over(&workers[i]))
            return &workers[i].err;
    return NULL;
}

/* Waits for all of `started` workers to be ready, but no longer than until it is time to poll;
 * returns how many are. */
static unsigned wait_ready(struct crew *crew, unsigned started)
{
    uint64_t until = now_ns() + POLL_NS;
    struct timespec ts = {.tv_sec = (time_t)(until / 1000000000),
                          .tv_nsec = (long)(until % 1000000000)};
    pthread_mutex_lock(&crew->lock);
    while (crew->ready < started &&
           pthread_cond_timedwait(&crew->readied, &crew->lock, &ts) != ETIMEDOUT)
        ;
    unsigned ready = crew->ready;
    pthread_mutex_unlock(&crew->lock);
    return ready;
}

enum crew_wait crew_start(struct crew *crew, struct worker *workers, crew_poll poll, void *arg,
                          struct err *err)
{
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->changed, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&crew->readied, &monotonic);
    pthread_condattr_destroy(&monotonic);
    crew->phase_bytes = worker_phase_bytes(crew->cpus_n);
    void *latencies = mmap(NULL, latency_bytes(crew), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (latencies == MAP_FAILED) {
        err_set(err, STATUS_FAILED, "latencies of %u windows: %zu bytes: %s", crew->phases - 2,
                latency_bytes(crew), strerror(errno));
        return CREW_FAILED;
    }
    crew->latencies = latencies;
    unsigned started = 0;
    for (; started < crew->threads; started++) {
        struct worker *w = &workers[started];
        w->crew = crew;
        w->number = started;
        if (!worker_start(w, err))
            break;
    }
    bool all = started == crew->threads;
    for (;;) {
        unsigned ready = wait_ready(crew, started);
        const struct err *e = crew_error(crew, workers);
        if (all && e) {
            *err = *e;
            return CREW_FAILED;
        }
        if (ready == started)
            return all ? CREW_OK : CREW_FAILED;
        if (!poll(arg))
            return CREW_GAVE_UP;
    }
}

static void decide(struct crew *crew, bool *flag)
{
    pthread_mutex_lock(&crew->lock);
    *flag = true;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
}

void crew_go(struct crew *crew)
{
    decide(crew, &crew->go);
}

void crew_giveup(struct crew *crew)
{
    decide(crew, &crew->giveup);
}

enum crew_wait crew_drain(struct crew *crew, struct worker *workers, uint64_t hung_ns,
                          crew_poll poll, void *arg)
{
    uint64_t last = 0, last_ns = now_ns();
    for (;;) {
        unsigned busy = 0, loading = 0;
        for (unsigned i = 0; i < crew->threads; i++) {
            int state = atomic_load(&workers[i].state);
            busy += workers[i].thread && !over(&workers[i]);
            loading += state == WORKER_RUNNING;
        }
        if (!busy)
            return CREW_OK;
        uint64_t parts =
            window_sum(workers, crew, 0, crew->phases - 1, offsetof(struct phase_counters, parts));
        uint64_t now = now_ns();
        /* Setting up (faulting in) ends by itself; only I/O can hang. */
        if (parts != last || !loading) {
            last = parts;
            last_ns = now;
        }
        if (now - last_ns > hung_ns)
            return CREW_HUNG;
        if (!poll(arg))
            return CREW_GAVE_UP;
        crew_sleep();
    }
}

void crew_free(struct crew *crew, struct worker *workers)
{
    for (unsigned i = 0; i < crew->threads; i++) {
        struct worker *w = &workers[i];
        if (w->thread)
            pthread_join(w->thread, NULL);
        buffers_free(&w->buffers);
        json_decref(w->features);
        json_decref(w->facts);
        if (w->hist)
            munmap(w->hist, w->counter_bytes);
    }
    if (crew->latencies)
        munmap(crew->latencies, latency_bytes(crew));
    pthread_cond_destroy(&crew->changed);
    pthread_cond_destroy(&crew->readied);
    pthread_mutex_destroy(&crew->lock);
}
