/* Sets of CPU or node ids as text: the kernel's list form ("0-3,8") and mask form ("ff,ffffc000").
 *
 * Both are described in the kernel's Documentation/admin-guide/cputopology.rst and
 * lib/bitmap-str.c. Sets are hwloc bitmaps, so they grow; ids end at SET_ID_MAX, to keep a broken
 * file from asking for memory without end. */
#ifndef NUMALOAD_SET_H
#define NUMALOAD_SET_H

#include "err.h"

#include <hwloc/bitmap.h>

#define SET_ID_MAX 65535u

/* Parses a kernel list ("0-3,8", stride "0-6:2/..." not accepted) into set. Empty text is an empty
 * set; white space is accepted at the ends only. Refuses anything else, ids above SET_ID_MAX, and
 * reversed ranges, quoting the text. On refusal the set is empty. */
bool set_parse(hwloc_bitmap_t set, const char *text, struct err *err);

/* The list form, "0-3,8"; "" for an empty set. Caller frees; NULL when memory is out. */
char *set_format(hwloc_const_bitmap_t set);

/* Parses a hexadecimal mask, highest bits first: comma groups of 32 bits of which the first may be
 * short ("ff,ffffc000,000fffff"), or plain digits without commas. Same refusals as set_parse; an
 * empty text is refused, since the kernel never prints one. */
bool set_parse_mask(hwloc_bitmap_t set, const char *text, struct err *err);

/* The mask form that the kernel accepts on write: comma groups, no leading zeros, "0" for an empty
 * set. Caller frees; NULL when memory is out. */
char *set_format_mask(hwloc_const_bitmap_t set);

#endif
