#include "commands.h"
#include "front.h"
#include "run/launch.h"

#include "../placement/err.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void usage(FILE *out)
{
    fputs("numaload: NUMA-aware load generator for NFS/RDMA\n\n"
          "usage: numaload COMMAND [ARGUMENTS]\n\n",
          out);
    for (const struct command *c = commands; c->name; c++)
        fprintf(out, "  %-10s %s\n", c->name, c->help);
    fputs("\n'numaload help COMMAND' and 'numaload COMMAND --help' say more.\n", out);
}

static bool is_help(const char *arg)
{
    return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0 || strcmp(arg, "help") == 0;
}

static int unknown(const char *name)
{
    const char *near = command_nearest(name);
    if (near)
        fprintf(stderr, "numaload: unknown command '%s'; did you mean '%s'?\n", name, near);
    else
        fprintf(stderr, "numaload: unknown command '%s'; 'numaload --help' lists them\n", name);
    return STATUS_USAGE;
}

/* A file that is opened later must not become the standard output. Writing to it still fails. */
static void keep_standard_files(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
            return;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return STATUS_USAGE;
    }
    bool help = is_help(argv[1]);
    if (help && (argc < 3 || is_help(argv[2]))) {
        usage(stdout);
        return STATUS_OK;
    }
    const char *name = help ? argv[2] : strcmp(argv[1], "--version") == 0 ? "version" : argv[1];
    /* elbencho's command line, pasted: an option comes first. */
    if (!help && name[0] == '-' && name[1])
        return command_find("elbencho")->run(argc, argv);
    const struct command *c = command_find(name);
    if (!c)
        return unknown(name);
    if (help)
        return c->run(2, (char *[]){argv[2], (char[]){"--help"}, NULL});
    return c->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    launch_now();
    keep_standard_files();
    return front_end_output(dispatch(argc, argv));
}
