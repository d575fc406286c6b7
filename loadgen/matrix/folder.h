/* Files of a matrix's folder that know nothing of runs: lock, log, reserve, setting aside. */
#ifndef NUMALOAD_MATRIX_FOLDER_H
#define NUMALOAD_MATRIX_FOLDER_H

#include "../../placement/err.h"

#include <stddef.h>

/* Creates the folder if need be. */
bool folder_make(const char *folder, struct err *err);

/* Takes the lock; -1 with a sentence that names the holder. Waits up to 20 s for the last run of a
 * program that is dead already: it holds the lock too until everything is put back. */
int folder_lock(const char *folder, struct err *err);

/* Opens the log for appending, close-on-exec; -1 on failure. */
int folder_log(const char *folder, struct err *err);

/* Makes sure of the reserve; a folder without room for it is refused. */
bool folder_reserve(const char *folder, struct err *err);

/* Gives the reserve up. */
void folder_release(const char *folder);

/* Renames FOLDER/name to FOLDER/name.corrupt (or .corrupt-2 ...); to receives the new name. */
bool folder_set_aside(const char *folder, const char *name, char *to, size_t cap, struct err *err);

/* Renames the whole folder to FOLDER.old-N. */
bool folder_retire(const char *folder, char *to, size_t cap, struct err *err);

#endif
