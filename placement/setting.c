#include "setting.h"

#include "irqbalance.h"
#include "sysroot.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Like sysroot_read, but the text takes no more room than it needs: many are kept. */
static ssize_t read_value(const char *path, char **text)
{
    ssize_t n = irqbalance_owns(path) ? irqbalance_read(path, text) : sysroot_read(path, text);
    char *fit = n >= 0 ? realloc(*text, (size_t)n + 1) : NULL;
    if (fit)
        *text = fit;
    return n;
}

int setting_open(struct setting *s, const char *path)
{
    *s = (struct setting){0};
    ssize_t n = read_value(path, &s->before);
    if (n < 0)
        return (int)n;
    s->path = strdup(path);
    if (!s->path) {
        setting_close(s);
        return -ENOMEM;
    }
    return 0;
}

void setting_forget(struct setting *s)
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
    kept_close(&s->file);
    setting_forget(s);
    free(s->before);
    free(s->path);
    *s = (struct setting){0};
}

static int write_value(const char *path, const char *text)
{
    return irqbalance_owns(path) ? irqbalance_write(path, text) : sysroot_write(path, text);
}

/* The default affinity scope reads "default (cache_shard)"; only its first word can be written. */
static int write_back(const char *path, const char *before)
{
    const char *remark = strstr(before, " (");
    if (!remark || irqbalance_owns(path))
        return write_value(path, before);
    char *word = strndup(before, (size_t)(remark - before));
    int error = word ? sysroot_write(path, word) : -ENOMEM;
    free(word);
    return error;
}

int setting_write(struct setting *s, const char *text, struct journal *j)
{
    char *copy = strdup(text), *after = NULL;
    if (!copy)
        return -ENOMEM;
    if (j && !journal_before(j, s->path, s->before, text)) {
        free(copy);
        return -EIO;
    }
    int result = write_value(s->path, text);
    if (result == 0) {
        ssize_t n = read_value(s->path, &after);
        if (n < 0) {
            write_back(s->path, s->before);
            result = (int)n;
        }
    }
    if (result) {
        free(copy);
        if (j)
            journal_after(j, s->path, s->before);
        return result;
    }
    setting_forget(s);
    s->wrote = copy;
    s->after = after;
    if (j)
        journal_after(j, s->path, after);
    return 0;
}

int setting_try(const struct setting *s)
{
    return write_back(s->path, s->before);
}

/* There may be two files for each of hundreds of interrupts. */
static char *read_again(struct setting *s)
{
    char buf[4096], *text = NULL;
    ssize_t n = -EOVERFLOW;
    if (!irqbalance_owns(s->path))
        n = kept_read_piece(&s->file, s->path, buf, sizeof(buf));
    if (n == -EOVERFLOW)
        read_value(s->path, &text);
    return n >= 0 ? strdup(buf) : text;
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
    s->edges[edge] = read_again(s);
}

const char *setting_at(const struct setting *s, unsigned edge)
{
    return edge < s->edges_n ? s->edges[edge] : NULL;
}

static enum put_back theirs(const char *path, const char *before, const char *after,
                            const char *now, struct err *err)
{
    char *they = text_chomp(now), *we = text_chomp(after), *old = text_chomp(before);
    err_set(
        err, STATUS_FAILED,
        "%s: somebody else changed it to '%s' after '%s' was set here; theirs is kept, the value "
        "before was '%s'",
        path, they, we, old);
    free(they);
    free(we);
    free(old);
    return PUT_BACK_THEIRS;
}

static enum put_back failed(const char *path, const char *before, int error, struct err *err)
{
    char *old = text_chomp(before);
    err_set(err, STATUS_FAILED, "%s: cannot be put back to '%s': %s", path, old,
            error ? strerror(-error) : "it reads back differently");
    free(old);
    return PUT_BACK_FAILED;
}

enum put_back setting_put_back(const char *path, const char *before, const char *after, bool force,
                               struct err *err)
{
    char *now;
    ssize_t n = read_value(path, &now);
    if (n == -ENOENT)
        return PUT_BACK_GONE;
    if (n < 0)
        return failed(path, before, (int)n, err);
    enum put_back result = PUT_BACK_AS_WAS;
    if (strcmp(now, before) == 0)
        goto out;
    if (after && strcmp(now, after) != 0 && !force) {
        result = theirs(path, before, after, now, err);
        goto out;
    }
    int error = write_back(path, before);
    free(now);
    now = NULL;
    if (error == 0 && (n = read_value(path, &now)) < 0)
        error = (int)n;
    result = !error && strcmp(now, before) == 0 ? PUT_BACK_DONE : failed(path, before, error, err);
out:
    free(now);
    return result;
}

bool setting_restore(struct setting *s, struct err *err)
{
    if (!s->after)
        return true;
    enum put_back result = setting_put_back(s->path, s->before, s->after, false, err);
    if (result != PUT_BACK_FAILED)
        setting_forget(s);
    return result != PUT_BACK_FAILED && result != PUT_BACK_THEIRS;
}
