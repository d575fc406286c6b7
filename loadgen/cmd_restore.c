#include "cmd.h"
#include "matrix/remount.h"
#include "run/live.h"

#include "../placement/journal.h"

#include <stdio.h>
#include <string.h>

static void say(void *ctx, const char *text)
{
    (void)ctx;
    live_say("%s", text);
}

/* One that fails does not keep the other from being tried. */
static int restore(const char *dir, bool force)
{
    struct err err = {0};
    unsigned done = 0;
    bool mounted = false;
    int status = STATUS_OK;
    if (!remount_restore(REMOUNT_JOURNAL, &mounted, &err)) {
        live_say("error: %s", err.text);
        status = (int)err.status;
    }
    if (!journal_restore(dir, force, say, NULL, &done, &err)) {
        live_say("error: %s", err.text);
        return (int)err.status;
    }
    if (mounted)
        puts("mounted what a killed remount had left unmounted");
    if (done)
        printf("%u value%s put back\n", done, done == 1 ? "" : "s");
    else if (!mounted && status == STATUS_OK)
        puts("nothing to put back");
    return status;
}

int cmd_restore(int argc, char **argv)
{
    bool force = false;
    const char *dir = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            puts("usage: numaload restore [--force] [--run-dir DIR]\n\n"
                 "Puts back what a run that was killed, or 'numaload place apply', left. Values\n"
                 "that somebody else changed meanwhile are kept, unless --force is given.\n"
                 "Mounts what a matrix was killed at mounting anew.\n\n"
                 "  --force        overwrite them, and forget what cannot be put back\n"
                 "  --run-dir DIR  where the journal is [/run/numaload]\n\n"
                 "Exit status: 0 done, or nothing to do; 1 something was left; 2 usage.");
            return STATUS_OK;
        }
        if (strcmp(argv[i], "--force") == 0) {
            force = true;
        } else if (strcmp(argv[i], "--run-dir") == 0 && i + 1 < argc) {
            dir = argv[++i];
        } else {
            live_say("error: unknown option '%s'; --help lists them all", argv[i]);
            return STATUS_USAGE;
        }
    }
    return restore(dir, force);
}
