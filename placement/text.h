/* Small texts that outlive the call: the strings of levers, reports and messages. */
#ifndef NUMALOAD_TEXT_H
#define NUMALOAD_TEXT_H

#include <stdint.h>

/* A new string; the caller frees. NULL when memory is out, which callers may treat as "no text". */
char *text_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Replaces *text (freed) by itself followed by more; a NULL *text is an empty one. */
void text_append(char **text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "1.5 GiB" into buf (at least 24 bytes), which is returned. */
#define TEXT_BYTES_MAX 24
const char *text_bytes(char *buf, uint64_t bytes);

/* A copy without the white space at its end, for a file's content in a sentence. Caller frees. */
char *text_chomp(const char *text);

#endif
