/* The INI form of a profile, read with inih. */
#include "profile.h"

#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    FILE *file;
    struct profile *profile;
    struct err *err;
    unsigned line;
    unsigned long_line; /* a line that inih's buffer cut, or 0 */
    bool failed;        /* err is set: the first complaint is the one that is shown */
};

/* inih's handler gets no line number in the packaged build, but it asks for one line at a time. */
static char *next_line(char *buf, int cap, void *stream)
{
    struct reader *r = stream;
    char *got = fgets(buf, cap, r->file);
    if (!got)
        return NULL;
    r->line++;
    /* inih takes an indented line for more of the value before it. */
    size_t blanks = strspn(buf, " \t");
    memmove(buf, buf + blanks, strlen(buf + blanks) + 1);
    if (!strchr(buf, '\n') && !feof(r->file)) {
        if (!r->long_line)
            r->long_line = r->line;
        for (int c; (c = fgetc(r->file)) != EOF && c != '\n';)
            ;
    }
    return got;
}

static int complain(struct reader *r, const char *what)
{
    if (!r->failed)
        err_set(r->err, STATUS_USAGE, "%s:%u: %s", r->profile->file, r->line, what);
    r->failed = true;
    return 0;
}

static int keep_line(struct reader *r, const char *section, const char *name, const char *value)
{
    struct profile *p = r->profile;
    struct profile_line *grown = realloc(p->lines, (p->lines_n + 1) * sizeof(*grown));
    if (!grown)
        return complain(r, "out of memory");
    p->lines = grown;
    struct profile_line *l = &p->lines[p->lines_n++];
    *l = (struct profile_line){strdup(section), strdup(name), strdup(value), r->line};
    return l->section && l->name && l->value ? 1 : complain(r, "out of memory");
}

static int on_key(void *user, const char *section, const char *name, const char *value)
{
    struct reader *r = user;
    char text[256];
    if (r->failed)
        return 0;
    if (strcmp(section, "matrix") == 0 || strcmp(section, "expect") == 0)
        return keep_line(r, section, name, value);
    if (*section && strcmp(section, "run") != 0) {
        snprintf(text, sizeof(text),
                 "unknown section [%.80s]; keys belong in [run], axes in [matrix], expectations in "
                 "[expect]",
                 section);
        return complain(r, text);
    }
    const struct key *key = profile_key(name);
    if (!key) {
        const char *near = profile_nearest(name);
        if (near)
            snprintf(text, sizeof(text), "unknown key '%.80s'; did you mean '%s'?", name, near);
        else
            snprintf(text, sizeof(text),
                     "unknown key '%.80s'; 'numaload run --help' lists them all", name);
        return complain(r, text);
    }
    struct origin origin = {.file = r->profile->file, .line = r->line};
    if (!profile_set(r->profile, key, value, origin, r->err)) {
        r->failed = true;
        return 0;
    }
    return 1;
}

bool profile_read_ini(struct profile *p, const char *file, struct err *err)
{
    struct reader r = {.profile = p, .err = err};
    r.file = fopen(file, "re");
    if (!r.file)
        return err_set(err, STATUS_USAGE, "profile %s: %s", file, strerror(errno));
    free(p->file);
    p->file = strdup(file);
    if (!p->file) {
        fclose(r.file);
        return err_set(err, STATUS_FAILED, "out of memory");
    }
    int bad_line = ini_parse_stream(next_line, &r, on_key, &r);
    bool read_error = ferror(r.file) != 0;
    fclose(r.file);
    if (read_error)
        return err_set(err, STATUS_USAGE, "profile %s: %s", file, strerror(EISDIR));
    if (r.long_line)
        return err_set(err, STATUS_USAGE, "%s:%u: line is too long for the INI reader", file,
                       r.long_line);
    if (r.failed)
        return false;
    if (bad_line)
        return err_set(err, STATUS_USAGE, "%s:%d: expected 'key = value' or '[section]'", file,
                       bad_line);
    return true;
}
