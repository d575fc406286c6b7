/* Command-line options from the key table. */
#ifndef NUMALOAD_ARGS_H
#define NUMALOAD_ARGS_H

#include "profile.h"

/* Reads "[PROFILE] [--key value | --key=value | --flag | --no-flag ...]" into p, which profile_init
 * has filled: the profile first, then the options, wherever the profile stands. `keys` limits the
 * options to these (NULL-terminated); NULL allows all. *help is set when --help or -h is there. */
bool args_read(struct profile *p, int argc, char **argv, const char *const *keys, bool *help,
               struct err *err);

/* Whether --json is among the arguments, also when args_read refused them: a bad option must not
 * take away the promise of one document on stdout. */
bool args_want_json(int argc, char **argv);

#endif
