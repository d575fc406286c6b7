#define _GNU_SOURCE
#include "irqbalance.h"

#include "set.h"
#include "text.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_DIR "/run/irqbalance"
#define PATIENCE_S 3

/* In the file system since 1.6, in the abstract name space before, and where /run is not to be had.
 */
static int connect_to(int pid)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    snprintf(to.sun_path, sizeof(to.sun_path), SOCKET_DIR "/irqbalance%d.sock", pid);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    int first = errno;
    memset(to.sun_path, 0, sizeof(to.sun_path));
    int n = snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, "irqbalance%d.sock", pid);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    if (connect(fd, (struct sockaddr *)&to, len) == 0)
        return fd;
    close(fd);
    return -first;
}

/* It answers only to those who say who they are. */
static int send_message(int fd, const char *message)
{
    struct ucred me = {.pid = getpid(), .uid = geteuid(), .gid = getegid()};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(struct ucred))];
    } control = {0};
    struct iovec text = {.iov_base = (void *)message, .iov_len = strlen(message)};
    struct msghdr m = {.msg_iov = &text,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof(control.room)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_CREDENTIALS;
    c->cmsg_len = CMSG_LEN(sizeof(me));
    memcpy(CMSG_DATA(c), &me, sizeof(me));
    return sendmsg(fd, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* One connection carries one message. The answer, up to the end of the connection, when wanted. */
static int ask(int pid, const char *message, char **answer)
{
    if (kill(pid, 0) && errno == ESRCH)
        return -ENOENT;
    int fd = connect_to(pid);
    if (fd < 0)
        return fd == -ENOENT ? -ECONNREFUSED : fd;
    int error = send_message(fd, message);
    char buf[4096];
    ssize_t n = 1;
    while (!error && n > 0) {
        n = recv(fd, buf, sizeof(buf) - 1, 0);
        if (n < 0 && errno == EINTR) {
            n = 1;
            continue;
        }
        if (n < 0 && errno != ECONNRESET) /* it may close with a part of the message unread */
            error = errno == EAGAIN ? -ETIMEDOUT : -errno;
        if (n > 0 && answer) {
            buf[n] = '\0';
            text_append(answer, "%s", buf);
        }
    }
    close(fd);
    return error;
}

char *irqbalance_parse_setup(const char *answer)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    char *text = NULL;
    unsigned irq;
    for (const char *at = answer; set && (at = strstr(at, "IRQ ")); at += 4)
        if (sscanf(at, "IRQ %8u", &irq) == 1 && irq <= SET_ID_MAX)
            hwloc_bitmap_set(set, irq);
    for (int i = set ? hwloc_bitmap_first(set) : -1; i >= 0; i = hwloc_bitmap_next(set, i))
        text_append(&text, "%s%d", text ? " " : "", i);
    hwloc_bitmap_free(set);
    text_append(&text, "\n");
    return text;
}

ssize_t irqbalance_read_banned(int pid, char **text)
{
    char *answer = NULL;
    *text = NULL;
    int error = ask(pid, "setup", &answer);
    /* An empty answer is none: it always gives its interval. */
    if (!error && (!answer || !strstr(answer, "SLEEP")))
        error = -EPROTO;
    if (!error && !(*text = irqbalance_parse_setup(answer)))
        error = -ENOMEM;
    free(answer);
    return error ? error : (ssize_t)strlen(*text);
}

int irqbalance_write_banned(int pid, const char *list)
{
    int n = (int)strcspn(list, "\n");
    char *message = text_printf("settings ban irqs %.*s", n ? n : 4, n ? list : "NONE");
    if (!message)
        return -ENOMEM;
    int error = strlen(message) > IRQBALANCE_MESSAGE_MAX ? -E2BIG : ask(pid, message, NULL);
    free(message);
    return error;
}
