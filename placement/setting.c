#include "setting.h"

#include "sysroot.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int setting_open(struct setting *s, const char *path)
{
    *s = (struct setting){0};
    ssize_t n = sysroot_read(path, &s->before);
    if (n < 0)
        return (int)n;
    s->path = strdup(path);
    if (!s->path) {
        setting_close(s);
        return -ENOMEM;
    }
    return 0;
}

static void forget_change(struct setting *s)
{
    free(s->wrote);
    free(s->after);
    s->wrote = s->after = NULL;
}

void setting_close(struct setting *s)
{
    for (unsigned k = 0; k < s->edges_n; k++)
        free(s->edges[k]);
    free(s->edges);
    forget_change(s);
    free(s->before);
    free(s->path);
    *s = (struct setting){0};
}

int setting_write(struct setting *s, const char *text)
{
    char *copy = strdup(text), *after = NULL;
    if (!copy)
        return -ENOMEM;
    int result = sysroot_write(s->path, text);
    if (result == 0) {
        ssize_t n = sysroot_read(s->path, &after);
        if (n < 0) {
            sysroot_write(s->path, s->before);
            result = (int)n;
        }
    }
    if (result) {
        free(copy);
        return result;
    }
    forget_change(s);
    s->wrote = copy;
    s->after = after;
    return 0;
}

void setting_edge(struct setting *s, unsigned edge)
{
    if (!s->path)
        return;
    if (edge >= s->edges_n) {
        unsigned more = edge + 16;
        char **bigger = realloc(s->edges, more * sizeof(*bigger));
        if (!bigger)
            return;
        memset(bigger + s->edges_n, 0, (more - s->edges_n) * sizeof(*bigger));
        s->edges = bigger;
        s->edges_n = more;
    }
    free(s->edges[edge]);
    s->edges[edge] = NULL;
    sysroot_read(s->path, &s->edges[edge]);
}

const char *setting_at(const struct setting *s, unsigned edge)
{
    return edge < s->edges_n ? s->edges[edge] : NULL;
}

static bool keep_theirs(struct setting *s, const char *now, struct err *err)
{
    char *theirs = text_chomp(now), *ours = text_chomp(s->after), *old = text_chomp(s->before);
    err_set(
        err, STATUS_FAILED,
        "%s: somebody else changed it to '%s' after '%s' was set here; theirs is kept, the value "
        "before was '%s'",
        s->path, theirs, ours, old);
    free(theirs);
    free(ours);
    free(old);
    forget_change(s);
    return false;
}

bool setting_restore(struct setting *s, struct err *err)
{
    if (!s->after)
        return true;
    char *now;
    ssize_t n = sysroot_read(s->path, &now);
    if (n < 0)
        return err_set(err, STATUS_FAILED, "%s: cannot be put back to '%s': %s", s->path, s->before,
                       strerror((int)-n));
    bool ok = true;
    if (strcmp(now, s->before) == 0) {
        forget_change(s);
    } else if (strcmp(now, s->after) != 0) {
        ok = keep_theirs(s, now, err);
    } else {
        int result = sysroot_write(s->path, s->before);
        free(now);
        now = NULL;
        if (result == 0)
            n = sysroot_read(s->path, &now);
        ok = result == 0 && n >= 0 && strcmp(now, s->before) == 0;
        if (ok)
            forget_change(s);
        else
            err_set(err, STATUS_FAILED, "%s: cannot be put back to '%s': %s", s->path, s->before,
                    result ? strerror(-result) : "it reads back differently");
    }
    free(now);
    return ok;
}
