#include "args.h"
#include "cmd.h"
#include "run/live.h"
#include "run/prepare.h"
#include "run/worker.h"

int cmd_prepare(int argc, char **argv)
{
    static const char *const keys[] = {"path", "size", "block", "threads", "salt", NULL};
    struct profile p;
    struct err err = {0};
    bool help = false;
    if (!profile_init(&p, &err) || !args_read(&p, argc, argv, keys, &help, &err))
        goto fail;
    if (help) {
        puts("usage: numaload prepare [PROFILE] --path FILE --size SIZE [--threads N]\n"
             "                        [--block SIZE] [--salt N]\n\n"
             "Writes real data, which depends on the salt and the offset, and leaves\n"
             "FILE.numaload beside it. 4 threads unless --threads says otherwise. A file\n"
             "that numaload did not write is not overwritten.\n\n"
             "Exit status: 0 done; 1 failed; 2 usage.");
        profile_free(&p);
        return STATUS_OK;
    }
    if (!p.paths || !p.size_bytes) {
        err_set(&err, STATUS_USAGE, "prepare needs --path FILE and --size SIZE");
        goto fail;
    }
    if (!profile_is_set(&p, "threads"))
        p.threads = 4;
    uint64_t began = now_ns();
    if (!prepare_file(&p, &err))
        goto fail;
    char size[32];
    double seconds = (double)(now_ns() - began) / 1e9;
    printf("%s: %s written in %.1f s (%.2f GB/s), salt %llu\n", profile_path(&p),
           format_size(p.size_bytes, size, sizeof(size)), seconds,
           (double)p.size_bytes / 1e9 / seconds, (unsigned long long)p.salt);
    profile_free(&p);
    return STATUS_OK;
fail:
    live_say("error: %s", err.text);
    profile_free(&p);
    return (int)err.status;
}
