#include "cmd.h"

#include "../placement/err.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"run", cmd_run, "load one placement and record what happened"},
    {"prepare", cmd_prepare, "write a file of real data to read"},
    {"report", cmd_report, "print records, one or several side by side"},
    {"topo", cmd_topo, "nodes, CPUs and the interrupts of devices"},
    {"place", cmd_place, "show, apply or undo a placement, or run a command in one"},
    {"restore", cmd_restore, "put back what a killed run or 'place apply' left"},
    {"version", cmd_version, "what this build has and what it was built without"},
};

enum { COMMANDS = sizeof(commands) / sizeof(*commands) };

static void usage(FILE *out)
{
    fputs("numaload: NUMA-aware load generator for NFS/RDMA\n\n"
          "usage: numaload COMMAND [ARGUMENTS]\n\n",
          out);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
    fputs("\n'numaload COMMAND --help' says more.\n", out);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return STATUS_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return STATUS_OK;
    }
    const char *name = strcmp(argv[1], "--version") == 0 ? "version" : argv[1];
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "numaload: unknown command '%s'; 'numaload --help' lists them\n", argv[1]);
    return STATUS_USAGE;
}
