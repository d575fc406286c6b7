/* Text from outside (file names, kernel messages) as JSON strings. */
#ifndef NUMALOAD_JSONTEXT_H
#define NUMALOAD_JSONTEXT_H

#include <jansson.h>
#include <stddef.h>

/* A JSON string of text that need not be UTF-8: bytes that are not become '?', so that a strange
 * file name never costs a record. null for NULL. New reference. */
json_t *json_text(const char *text);
json_t *json_textn(const char *text, size_t len);

/* Sets key to null and "<key>_reason" to the sentence: how a record says "unavailable". */
void json_set_missing(json_t *object, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* {"available": false, "reason": ...}. New reference. */
json_t *json_unavailable(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
