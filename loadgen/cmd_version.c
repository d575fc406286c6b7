#include "cmd.h"
#include "engine/engine.h"
#include "record/record.h"

#include <hwloc.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#ifdef HAVE_URING
#include <liburing.h>
#endif

static bool built(const char *name)
{
    for (const struct engine_ops *const *e = engines; *e; e++)
        if (strcmp((*e)->name, name) == 0)
            return true;
    return false;
}

static void list_engines(const char *title, bool in)
{
    unsigned n = 0;
    printf("%-12s", title);
    for (const char *const *name = engine_names; *name; name++)
        if (built(*name) == in)
            printf("%s%s", n++ ? ", " : "", *name);
    puts(n ? "" : "nothing");
}

int cmd_version(int argc, char **argv)
{
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        puts("usage: numaload version\n\n"
             "Says what this build has and what it was built without.\n\n"
             "Exit status: 0 done; 2 usage.");
        return STATUS_OK;
    }
    if (argc > 1) {
        fprintf(stderr, "numaload version: takes no arguments, got '%s'\n", argv[1]);
        return STATUS_USAGE;
    }
    printf("numaload %s\n", NUMALOAD_VERSION);
    list_engines("engines:", true);
    list_engines("without:", false);
    unsigned v = hwloc_get_api_version();
    printf("%-12shwloc %u.%u.%u, jansson %s", "libraries:", v >> 16, v >> 8 & 255, v & 255,
           jansson_version_str());
#if defined(HAVE_URING) && defined(IO_URING_VERSION_MAJOR)
    printf(", liburing %d.%d", IO_URING_VERSION_MAJOR, IO_URING_VERSION_MINOR);
#endif
    printf("\n%-12s%s version %d\n", "record:", RECORD_SCHEMA, RECORD_SCHEMA_VERSION);
    return STATUS_OK;
}
