#include "commands.h"

#include "cmd.h"
#include "nearest.h"

#include <string.h>

const struct command commands[] = {
    {"run", cmd_run, "load one placement and record what happened"},
    {"check", cmd_check, "say before a run what would fail, be missing or spoil its figures"},
    {"prepare", cmd_prepare, "write a file of real data to read"},
    {"elbencho", cmd_elbencho, "the same load from elbencho's command line (-r -w -t 4 ...)"},
    {"matrix", cmd_matrix, "run placements x repeats in an order that can be trusted"},
    {"report", cmd_report, "print records, one or several side by side"},
    {"compare", cmd_compare, "put two matrices side by side"},
    {"serve", cmd_serve, "offer memory to engine rdma-read on other machines"},
    {"topo", cmd_topo, "nodes, CPUs and the interrupts of devices"},
    {"place", cmd_place, "show, apply or undo a placement, or run a command in one"},
    {"restore", cmd_restore, "put back what a killed run or 'place apply' left"},
    {"version", cmd_version, "what this build has and what it was built without"},
    {0},
};

const struct command *command_find(const char *name)
{
    for (const struct command *c = commands; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

const char *command_nearest(const char *name)
{
    struct nearest n;
    nearest_begin(&n, name);
    for (const struct command *c = commands; c->name; c++)
        nearest_offer(&n, c->name);
    return n.best;
}
