/* The subcommands: one line a command in commands.c is the source of the usage text, 'numaload
 * help', the manual page numaload(1) and the completion. */
#ifndef NUMALOAD_COMMANDS_H
#define NUMALOAD_COMMANDS_H

struct command {
    const char *name;
    int (*run)(int argc, char **argv); /* cmd.h */
    const char *help;                  /* a few words, without a full stop */
};

extern const struct command commands[]; /* ends with name == NULL */

/* The command of that name, or NULL. */
const struct command *command_find(const char *name);

/* The name that was probably meant, or NULL when none is near. */
const char *command_nearest(const char *name);

#endif
