#include "slab_shrink.h"

#include "jsontext.h"
#include "notes.h"

#include "../../placement/sysroot.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLAB_DIR "/sys/kernel/slab"

/* "20 N0=6 N1=14" as {"total": 20, "by_node": {"0": 6, "1": 14}}; nodes without any are not named.
 * NULL when the text is anything else. */
static json_t *by_node(const char *text)
{
    int node, used;
    long long n;
    if (sscanf(text, "%lld%n", &n, &used) != 1)
        return NULL;
    json_t *nodes = json_object();
    json_t *o = json_pack("{s:I, s:o}", "total", (json_int_t)n, "by_node", nodes);
    for (text += used; sscanf(text, " N%d=%lld%n", &node, &n, &used) == 2; text += used) {
        char id[16];
        snprintf(id, sizeof(id), "%d", node);
        json_object_set_new(nodes, id, json_integer((json_int_t)n));
    }
    if (text[strspn(text, " \n")] == '\0')
        return o;
    json_decref(o);
    return NULL;
}

static json_t *look(const char *cache)
{
    static const char *const names[] = {"slabs", "partial"};
    json_t *o = json_object();
    for (size_t i = 0; i < 2; i++) {
        char path[PATH_MAX], *text = NULL;
        snprintf(path, sizeof(path), SLAB_DIR "/%s/%s", cache, names[i]);
        ssize_t len = sysroot_read(path, &text);
        json_t *figure = len < 0 ? NULL : by_node(text);
        if (figure)
            json_object_set_new(o, names[i], figure);
        else
            json_set_missing(o, names[i], "%s: %s", path,
                             len < 0 ? strerror((int)-len) : "not as the kernel documents it");
        free(text);
    }
    return o;
}

static void explain(int error, const char *cache, char *buf, size_t cap)
{
    if (error == -EACCES || error == -EPERM)
        snprintf(buf, cap, "that needs root");
    else if (error == -ENOENT)
        snprintf(buf, cap, "there is no cache \"%s\" in " SLAB_DIR " (module not loaded?)", cache);
    else
        snprintf(buf, cap, SLAB_DIR "/%s/shrink: %s", cache, strerror(-error));
}

json_t *slab_shrink(const char *cache, json_t *notes)
{
    char path[PATH_MAX], reason[300];
    bool name = *cache && cache[0] != '.' && !strchr(cache, '/');
    json_t *before = name ? look(cache) : json_null();
    snprintf(path, sizeof(path), SLAB_DIR "/%s/shrink", cache);
    int error = name ? sysroot_write(path, "1") : -EINVAL;
    json_t *o = json_pack("{s:o, s:b, s:o}", "cache", json_text(cache), "done", error == 0,
                          "before", before);
    if (error == 0) {
        json_object_set_new(o, "after", look(cache));
        return o;
    }
    explain(error, cache, reason, sizeof(reason));
    json_object_set_new(o, "after", json_null());
    json_object_set_new(o, "reason", json_text(reason));
    note_add(notes, NOTE_WARNING, "slab",
             "slab-shrink: the cache %s was not emptied before the load: %s. Objects that earlier "
             "loads left on other nodes may show among the remote frees",
             cache, reason);
    return o;
}
