/* Takes parts out of a JSON text before it is parsed. Building a document costs ten times as much
 * as reading past it, and a report on thousands of records needs a tenth of each. */
#ifndef NUMALOAD_SKIM_H
#define NUMALOAD_SKIM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* What to keep of an object: a list that ends with a NULL key. "*" stands for any key; of an array,
 * its elements are meant. */
struct skim {
    const char *key;
    const struct skim *of; /* of its value; NULL: all */
};

/* Copies text[0 .. len) to out (of len bytes or more) without the members that are not kept;
 * returns the new length. 0: the text is no JSON object as far as that was looked at (of what is
 * left out only quotes and brackets are). */
size_t skim_text(const char *text, size_t len, const struct skim *keep, char *out);

/* The same of a document. */
void skim_object(json_t *object, const struct skim *keep);

#endif
