/* A slab cache without what earlier loads left in it. */
#ifndef NUMALOAD_SLAB_SHRINK_H
#define NUMALOAD_SLAB_SHRINK_H

#include <jansson.h>

/* Writes to the cache's file "shrink" (Documentation/ABI/testing/sysfs-kernel-slab): the kernel
 * empties all sheaves and barns into their slabs and frees the slabs without an object in use. What
 * was freed needs no restoring. For the record (schema.json, slab_shrink): whether it was done,
 * else a warning among the notes, and slabs and partial slabs by node before and after. New
 * reference. */
json_t *slab_shrink(const char *cache, json_t *notes);

#endif
