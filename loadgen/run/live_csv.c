#include "live_csv.h"

#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool live_csv_open(struct live_csv *c, const char *path, struct err *err)
{
    *c = (struct live_csv){.path = path};
    /* Without O_NONBLOCK a pipe that nobody reads would hold up the run. */
    c->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
    if (c->fd >= 0)
        return true;
    return err_set(err, STATUS_FAILED, "--livecsv %s: %s", path,
                   errno == ENXIO ? "nobody reads this pipe; start the reader first"
                                  : strerror(errno));
}

static void give_up(struct live_csv *c)
{
    c->error = errno;
    close(c->fd);
    c->fd = -1;
    live_say("warning: --livecsv %s: %s: no more lines are written, the run goes on", c->path,
             c->error == EPIPE ? "its reader is gone" : strerror(c->error));
}

/* Writes what fits. What a pipe did not take of a line that was begun is kept for the next time;
 * false when not a byte went out. */
static bool put(struct live_csv *c, const char *text)
{
    size_t len = strlen(text), done = 0;
    while (done < len) {
        ssize_t n = write(c->fd, text + done, len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) {
            give_up(c);
            return false;
        }
        if (n < 0)
            break;
        done += (size_t)n;
    }
    if (done && done < len)
        c->rest = strdup(text + done);
    return done > 0;
}

static bool put_rest(struct live_csv *c)
{
    char *rest = c->rest;
    c->rest = NULL;
    if (!rest || put(c, rest)) {
        free(rest);
        return !c->rest;
    }
    c->rest = rest;
    return false;
}

void live_csv_header(struct live_csv *c, const char *line)
{
    if (c->fd >= 0)
        put(c, line);
}

void live_csv_line(struct live_csv *c, const char *line)
{
    if (c->fd < 0)
        return;
    bool ready = put_rest(c);
    if (c->fd < 0)
        return;
    if (ready && put(c, line))
        c->lines++;
    else if (c->fd >= 0)
        c->lost++;
}

void live_csv_close(struct live_csv *c)
{
    if (c->fd >= 0) {
        put_rest(c);
        if (c->fd >= 0 && close(c->fd) && !c->error)
            live_say("warning: --livecsv %s: %s", c->path, strerror(errno));
        c->fd = -1;
    }
    if (c->lost)
        live_say("warning: --livecsv %s: its reader was too slow: %" PRIu64 " of %" PRIu64
                 " lines are missing",
                 c->path, c->lost, c->lost + c->lines);
    free(c->rest);
    c->rest = NULL;
}
