#define _GNU_SOURCE
#include "args.h"
#include "cmd.h"
#include "pattern.h"
#include "run/buffers.h"
#include "run/end_signals.h"
#include "run/live.h"
#include "run/worker.h"

#include "../placement/place.h"
#include "../verbs/offer.h"
#include "../verbs/serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#ifdef HAVE_VERBS

static void say(const char *text)
{
    live_say("%s", text);
}

/* What ends a run early as something to poll for. */
static int signal_fd(void)
{
    sigset_t set;
    end_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

/* Serves until a signal comes, or with --once until the last client has left. */
static bool serve(const struct profile *p, struct responder *r, int signals, struct err *err)
{
    struct pollfd fds[2] = {{.fd = responder_fd(r), .events = POLLIN},
                            {.fd = signals, .events = POLLIN}};
    uint64_t revoke_ns = 0;
    bool revoked = false;
    for (;;) {
        int timeout = -1;
        uint64_t now = now_ns();
        if (revoke_ns && !revoked)
            timeout = now < revoke_ns ? (int)((revoke_ns - now) / 1000000) + 1 : 0;
        if (poll(fds, 2, timeout) < 0 && errno != EINTR)
            return err_set(err, STATUS_FAILED, "poll: %s", strerror(errno));
        if (fds[1].revents)
            return true;
        if (fds[0].revents && !responder_step(r, err))
            return false;
        struct responder_counts c = responder_counts(r);
        if (p->revoke_after_ns && c.clients && !revoke_ns)
            revoke_ns = now_ns() + p->revoke_after_ns;
        if (revoke_ns && !revoked && now_ns() >= revoke_ns) {
            responder_revoke(r);
            revoked = true;
            live_say("the memory was revoked");
        }
        if (p->once && c.clients && !c.present)
            return true;
    }
}

static bool make_memory(const struct profile *p, struct topo *t, struct place **place,
                        struct buffers *b, struct err *err)
{
    struct place_ask ask = {.cpus = "unpinned",
                            .mem = p->mem,
                            .threads = 1,
                            .bytes_per_thread = p->size_bytes,
                            .allow_partial = p->allow_partial};
    counter progress = 0;
    if (!buffers_check(1, p->size_bytes, err) || !place_plan(place, t, &ask, err) ||
        !buffers_make(b, *place, 0, p->size_bytes, &progress, err))
        return false;
    pattern_fill(b->addr, p->size_bytes, 0, p->salt);
    return true;
}

static void announce(const struct profile *p, const struct responder *r, const struct address *at,
                     int node)
{
    char size[32], where[32] = "memory of no certain node";
    char *devices = responder_devices(r);
    if (node >= 0)
        snprintf(where, sizeof(where), "node %d", node);
    live_say("listening on rdma://%s (%s): %s of %s, salt %llu", at->text, devices ? devices : "?",
             format_size(p->size_bytes, size, sizeof(size)), where, (unsigned long long)p->salt);
    free(devices);
}

static void summary(const struct profile *p, const struct responder *r, uint64_t ns)
{
    struct responder_counts c = responder_counts(r);
    if (p->json) {
        json_t *o = json_pack("{s:I, s:I, s:I, s:I, s:i}", "connections", (json_int_t)c.clients,
                              "probes", (json_int_t)c.probes, "rejected", (json_int_t)c.rejected,
                              "served_ns", (json_int_t)ns, "exit_status", 0);
        json_dumpf(o, stdout, JSON_INDENT(2));
        puts("");
        json_decref(o);
    } else {
        printf("%llu connections served in %.1f s\n", (unsigned long long)c.clients,
               (double)ns / 1e9);
    }
}

static bool run(const struct profile *p, struct err *err)
{
    struct topo *t = NULL;
    struct place *place = NULL;
    struct buffers b = {0};
    struct address at, bound = {0};
    struct responder *r = NULL;
    uint64_t began = now_ns();
    int signals = signal_fd();
    bool ok = signals >= 0 || err_set(err, STATUS_FAILED, "signalfd: %s", strerror(errno));
    ok = ok && address_parse(&at, p->listen, OFFER_PORT, true, err) && topo_load(&t, err) &&
         make_memory(p, t, &place, &b, err);
    if (ok) {
        struct responder_setup setup = {.listen = &at,
                                        .device = p->device,
                                        .memory = b.addr,
                                        .bytes = p->size_bytes,
                                        .salt = p->salt,
                                        .node = place_thread_mem_node(place, 0),
                                        .say = say};
        r = responder_open(&setup, &bound, err);
        ok = r != NULL;
        if (ok) {
            announce(p, r, &bound, setup.node);
            ok = serve(p, r, signals, err);
        }
        if (ok)
            summary(p, r, now_ns() - began);
    }
    if (r)
        responder_close(r);
    if (signals >= 0)
        close(signals);
    buffers_free(&b);
    place_free(place);
    topo_free(t);
    return ok;
}

#else

static bool run(const struct profile *p, struct err *err)
{
    (void)p;
    return err_set(err, STATUS_SKIP,
                   "serve: this numaload was built without libibverbs and librdmacm");
}

#endif

int cmd_serve(int argc, char **argv)
{
    static const char *const keys[] = {"listen", "size", "mem",          "device",        "salt",
                                       "once",   "json", "revoke-after", "allow-partial", NULL};
    struct profile p;
    struct err err = {0};
    bool help = false, json = args_want_json(argc, argv);
    if (!profile_init(&p, &err) || !args_read(&p, argc, argv, keys, &help, &err))
        goto fail;
    if (help) {
        puts("usage: numaload serve [--listen HOST:PORT] [--size SIZE] [--mem WORD] [...]\n\n"
             "Offers memory, filled with the pattern that 'numaload prepare' writes, to\n"
             "engine rdma-read of other machines (or this one): any number of clients, until\n"
             "Ctrl-C. The address to give them as --path is said on stderr.\n\n"
             "  --listen HOST:PORT   where to wait [0.0.0.0:20885; port 0: a free one]\n"
             "  --size SIZE          of the memory [1G]\n"
             "  --mem WORD           its node, as in 'run' [default]\n"
             "  --device NAME        serve on this RDMA device only\n"
             "  --salt N             of the pattern [1]\n"
             "  --once               end when the last client has left\n"
             "  --revoke-after TIME  take the memory back so long after the first client\n"
             "  --json               the summary at the end as JSON\n\n"
             "Exit status: 0 done; 1 failed; 2 usage; 77 this machine or build has no RDMA.");
        profile_free(&p);
        return STATUS_OK;
    }
    if (!p.size_bytes)
        p.size_bytes = UINT64_C(1) << 30;
    if (run(&p, &err)) {
        profile_free(&p);
        return STATUS_OK;
    }
fail:
    live_say("error: %s", err.text);
    if (json)
        printf("{\"exit_status\": %d}\n", (int)err.status);
    profile_free(&p);
    return (int)err.status;
}
