#include "args.h"
#include "cmd.h"
#include "engine/nfs_rdma_prepare.h"
#include "front.h"
#include "run/live.h"
#include "run/prepare.h"

#include <string.h>

static bool set(struct profile *p, const char *key, const char *value, struct err *err)
{
    return profile_set(p, profile_key(key), value, (struct origin){.cli = true}, err);
}

/* A few threads through the page cache: the fastest way for most storage that needs no tuning. */
static bool defaults(struct profile *p, struct err *err)
{
    static const char *const words[][2] = {
        {"threads", "4"}, {"iodepth", "1"}, {"engine", "sync"}, {"direct", "no"}};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (!profile_is_set(p, words[i][0]) && !set(p, words[i][0], words[i][1], err))
            return false;
    if (strcmp(p->engine, "sync") == 0 && !set(p, "iodepth", "1", err))
        return false;
    /* What a profile says of the load to come is not for the writing. */
    static const char *const always[][2] = {
        {"rw", "write"},      {"once", "yes"},          {"amount", "0"},  {"own-files", "no"},
        {"iops", "0"},        {"limit", "0"},           {"verify", "no"}, {"limit-thread", "0"},
        {"fd-sharing", "no"}, {"mix-read-percent", "0"}};
    for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
        if (!set(p, always[i][0], always[i][1], err))
            return false;
    return profile_check(p, err);
}

static int prepare(int argc, char **argv)
{
    static const char *const keys[] = {"path",   "size",    "files",  "block", "threads",
                                       "engine", "iodepth", "direct", "salt",  "allow-overwrite",
                                       NULL};
    struct profile p;
    struct err err = {0};
    bool help = false;
    if (!profile_init(&p, &err) || !args_read(&p, argc, argv, keys, &help, &err))
        goto fail;
    if (help) {
        puts("usage: numaload prepare [PROFILE] --path FILE --size SIZE [--key value ...]\n\n"
             "Writes real data, which depends on the salt and the offset, and leaves\n"
             "FILE.numaload beside it. --path may be given several times and have ranges\n"
             "(f[1-4]); with --files N it is a directory. A file that numaload did not\n"
             "write is not overwritten, unless --allow-overwrite. FILE may be a URL of engine\n"
             "nfs-rdma: it is written over one connection then, by one thread.\n\n"
             "Keys and defaults: path, size, files, block [1M], threads [4], engine [sync],\n"
             "iodepth [1], direct [no], salt [1], allow-overwrite [no].\n\n"
             "Exit status: 0 done; 1 failed; 2 usage.");
        profile_free(&p);
        return STATUS_OK;
    }
    if (!p.paths || !p.size_bytes) {
        err_set(&err, STATUS_USAGE, "prepare needs --path FILE and --size SIZE");
        goto fail;
    }
    struct prepared done;
    if (nfs_rdma_named(&p) ? !nfs_rdma_prepare(&p, &done, &err)
                           : !defaults(&p, &err) || !prepare_files(&p, &done, &err))
        goto fail;
    char size[32];
    double seconds = (double)done.ns / 1e9;
    if (done.files == 1)
        printf("%s: ", profile_path(&p));
    else
        printf("%u files: ", done.files);
    printf("%s written in %.1f s (%.2f GB/s), salt %llu\n",
           format_size(done.bytes, size, sizeof(size)), seconds, (double)done.bytes / 1e9 / seconds,
           (unsigned long long)p.salt);
    profile_free(&p);
    return STATUS_OK;
fail:
    live_say("error: %s", err.text);
    profile_free(&p);
    return (int)err.status;
}

int cmd_prepare(int argc, char **argv)
{
    return front_run(prepare, argc, argv);
}
