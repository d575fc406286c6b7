#define _GNU_SOURCE
#include "nfs_rdma_prepare.h"

#include "../../verbs/nfs_find.h"

#include <string.h>

bool nfs_rdma_named(const struct profile *p)
{
    const char *path = profile_path(p);
    return path && strncmp(path, NFS_URL_PREFIX, strlen(NFS_URL_PREFIX)) == 0;
}

#ifdef HAVE_VERBS
#include "../../verbs/nfs_client.h"
#include "../../verbs/nfs_connect.h"
#include "../pattern.h"
#include "../run/live.h"
#include "../run/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

enum { SLOTS = 16, SLOTS_MAX = 64, CREDITS = 64, NOTE_MAX = 512 };
#define RETRY_NS UINT64_C(100000000)
#define REAP_NS UINT64_C(1000000000)

struct job {
    const struct profile *profile;
    struct nfs_url url;
    struct rpc_auth auth;
    struct address server;
    struct rpcrdma_domain domain;
    struct transport *connection;
    unsigned slots; /* blocks that are written at a time */
    char *memory;   /* slots x block */
    size_t memory_bytes;
    struct nfs_fh folder;
    struct nfs_fh data, note;
    const char *name;
    char note_name[NFS3_NAME_MAX + 1];
    struct nfs3_fsinfo limits;
    struct nfs_client *client;
};

static bool connect_to(struct job *j, struct err *err)
{
    struct rpcrdma_facts facts;
    unsigned unanswered = 0;
    const struct profile *p = j->profile;
    if (!nfs_url_parse(&j->url, profile_path(p), err) ||
        !address_parse(&j->server, j->url.server, NFS_RDMA_PORT, false, err))
        return false;
    j->memory_bytes = j->slots * p->block_bytes;
    j->memory =
        mmap(NULL, j->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (j->memory == MAP_FAILED) {
        j->memory = NULL;
        return err_set(err, STATUS_FAILED, "out of memory");
    }
    struct rpcrdma_setup setup = {.to = &j->server,
                                  .device = p->device,
                                  .domain = &j->domain,
                                  .memory = j->memory,
                                  .bytes = j->memory_bytes,
                                  .credits = CREDITS,
                                  .write = true};
    j->connection = nfs_connect(&setup, &facts, p->deadline_ns, &unanswered, err);
    return j->connection;
}

/* Makes both files, unless the data's name is taken by somebody else's file. */
static bool make_files(struct job *j, struct err *err)
{
    struct transport *t = j->connection;
    struct nfs3_lookup data, note;
    uint64_t limit = j->profile->deadline_ns;
    if (!nfs_find_folder(t, &j->url, &j->auth, limit, &j->folder, &j->name, err))
        return false;
    if (snprintf(j->note_name, sizeof(j->note_name), "%s.numaload", j->name) >=
        (int)sizeof(j->note_name))
        return err_set(err, STATUS_USAGE, "%s: name too long", j->url.path);
    if (!nfs_lookup(t, &j->folder, j->name, &j->auth, limit, &data, err) ||
        !nfs_lookup(t, &j->folder, j->note_name, &j->auth, limit, &note, err))
        return false;
    bool taken = data.status == NFS3_OK && !(data.attr.present && data.attr.size_bytes == 0);
    if (taken && note.status != NFS3_OK && !j->profile->allow_overwrite)
        return err_set(err, STATUS_FAILED,
                       "%s is there already and was not written by numaload (no %s beside it); "
                       "remove it first, choose another path, or add --allow-overwrite",
                       j->url.path, j->note_name);
    return nfs_create(t, &j->folder, j->note_name, &j->auth, limit, &j->note, err) &&
           nfs_create(t, &j->folder, j->name, &j->auth, limit, &j->data, err) &&
           nfs_limits(t, &j->data, &j->auth, limit, &j->limits, err);
}

/* The writing of one file: which slots are free, and how far it has come. */
struct writing {
    struct nfs_io io[SLOTS_MAX];
    uint32_t idle[SLOTS_MAX];
    unsigned idle_n;
    uint64_t next, written;
};

/* Goes on with what came back; 0 or -errno. */
static int take_done(struct job *j, struct writing *w, const struct nfs_done *done, int n)
{
    for (int i = 0; i < n; i++) {
        struct nfs_io *io = &w->io[done[i].slot];
        if (done[i].result <= 0)
            return done[i].result ? done[i].result : -EIO;
        w->written += (uint32_t)done[i].result;
        io->buf = (char *)io->buf + done[i].result;
        io->offset += (uint32_t)done[i].result;
        io->bytes -= (uint32_t)done[i].result;
        if (io->bytes)
            nfs_client_start(j->client, done[i].slot, io);
        else
            w->idle[w->idle_n++] = done[i].slot;
    }
    return n < 0 ? n : 0;
}

/* Writes [0, bytes) of a file: the pattern, or what is in the first slot's buffer already. */
static bool write_file(struct job *j, const struct nfs_fh *fh, uint64_t bytes, bool pattern,
                       struct err *err)
{
    const uint64_t block = j->profile->block_bytes;
    struct writing w = {.idle_n = j->slots};
    struct nfs_done done[SLOTS_MAX];
    char a[32], b[32];
    for (unsigned i = 0; i < j->slots; i++)
        w.idle[i] = j->slots - 1 - i;
    while (w.written < bytes) {
        while (w.idle_n && w.next < bytes) {
            uint32_t slot = w.idle[--w.idle_n];
            uint64_t left = bytes - w.next;
            struct nfs_io *io = &w.io[slot];
            *io = (struct nfs_io){.buf = j->memory + slot * block,
                                  .offset = w.next,
                                  .bytes = (uint32_t)(left < block ? left : block),
                                  .fh = fh,
                                  .write = true};
            if (pattern)
                pattern_fill(io->buf, io->bytes, w.next, j->profile->salt);
            nfs_client_start(j->client, slot, io);
            w.next += io->bytes;
        }
        int r = take_done(j, &w, done, nfs_client_reap(j->client, done, j->slots, REAP_NS));
        const char *why = nfs_client_why(j->client);
        if (r < 0)
            return err_set(err, STATUS_FAILED, "%s: writing: %s", j->url.path,
                           why ? why : strerror(-r));
        live_line("writing %s of %s", format_size(w.written, a, sizeof(a)),
                  format_size(bytes, b, sizeof(b)));
    }
    return true;
}

static bool write_note(struct job *j, uint64_t bytes, struct err *err)
{
    int n = snprintf(j->memory, NOTE_MAX,
                     "{\n  \"bytes\": %" PRIu64 ",\n  \"salt\": %" PRIu64
                     ",\n  \"block_bytes\": %" PRIu64 "\n}\n",
                     bytes, j->profile->salt, j->profile->block_bytes);
    return write_file(j, &j->note, (uint64_t)n, false, err);
}

static bool write_all(struct job *j, struct err *err)
{
    struct nfs_client_setup setup = {
        .connections = &j->connection,
        .connections_n = 1,
        .auth = &j->auth,
        .slots = j->slots,
        .io_bytes = (uint32_t)j->profile->block_bytes,
        .read_bytes = j->limits.rtmax_bytes,
        .write_bytes = j->limits.wtmax_bytes,
        .deadline_ns = j->profile->deadline_ns,
        .retry_ns = RETRY_NS,
    };
    j->client = nfs_client_new(&setup, err);
    /* First, so that a file that was cut off is known as numaload's and may be written again. */
    return j->client && write_note(j, 0, err) &&
           write_file(j, &j->data, j->profile->size_bytes, true, err) &&
           nfs_create(j->connection, &j->folder, j->note_name, &j->auth, j->profile->deadline_ns,
                      &j->note, err) &&
           write_note(j, j->profile->size_bytes, err);
}

/* What `prepare` can be told for kernel files, but means nothing here. */
static void say_ignored(const struct profile *p)
{
    static const char *const keys[] = {"threads", "engine", "direct"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (profile_is_set(p, keys[i]))
            live_say("note: %s has no effect here: one thread writes, by engine nfs-rdma over one "
                     "connection; iodepth says how many blocks at a time",
                     keys[i]);
}

bool nfs_rdma_prepare(const struct profile *p, struct prepared *done, struct err *err)
{
    struct job j = {.profile = p, .auth = rpc_auth_self(), .slots = SLOTS};
    if (profile_is_set(p, "iodepth"))
        j.slots = (unsigned)p->iodepth;
    if (j.slots > SLOTS_MAX)
        return err_set(err, STATUS_USAGE,
                       "iodepth: prepare over RDMA writes at most %d blocks at "
                       "a time",
                       SLOTS_MAX);
    say_ignored(p);
    uint64_t began = now_ns();
    if (p->files || p->paths[1])
        return err_set(err, STATUS_USAGE, "%s: one file at a time by engine nfs-rdma",
                       profile_path(p));
    if (p->block_bytes % 8 || p->block_bytes < NOTE_MAX)
        return err_set(err, STATUS_USAGE, "block: %" PRIu64 " is not a multiple of 8 from %d on",
                       p->block_bytes, NOTE_MAX);
    bool ok = connect_to(&j, err) && make_files(&j, err) && write_all(&j, err);
    live_clear();
    nfs_client_free(j.client);
    if (j.connection)
        j.connection->ops->close(j.connection);
    rpcrdma_domain_free(&j.domain);
    if (j.memory)
        munmap(j.memory, j.memory_bytes);
    *done = (struct prepared){.files = 1, .bytes = p->size_bytes, .ns = now_ns() - began};
    return ok;
}
#else
bool nfs_rdma_prepare(const struct profile *p, struct prepared *done, struct err *err)
{
    (void)done;
    return err_set(err, STATUS_SKIP, "%s: this numaload was built without engine nfs-rdma",
                   profile_path(p));
}
#endif
