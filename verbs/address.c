#define _GNU_SOURCE
#include "address.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEME "rdma://"

static bool malformed(const char *text, struct err *err)
{
    return err_set(err, STATUS_USAGE,
                   "'%.200s' is not an address; write rdma://HOST:PORT, HOST:PORT or [IPV6]:PORT",
                   text);
}

static bool port_ok(const char *port)
{
    size_t n = strlen(port);
    return n > 0 && n <= 5 && strspn(port, "0123456789") == n && atoi(port) <= 65535;
}

bool address_split(const char *text, const char *default_port, char *host, char *port,
                   struct err *err)
{
    const char *at = text, *rest;
    size_t n;
    if (strncmp(at, SCHEME, strlen(SCHEME)) == 0)
        at += strlen(SCHEME);
    if (*at == '[') {
        rest = strchr(++at, ']');
        if (!rest)
            return malformed(text, err);
        n = (size_t)(rest++ - at);
    } else {
        n = strcspn(at, ":/");
        rest = at + n;
    }
    memcpy(host, at, n);
    host[n] = '\0';
    if (*rest == ':') {
        n = strcspn(++rest, "/");
        memcpy(port, rest, n);
        port[n] = '\0';
        rest += n;
    } else {
        strcpy(port, default_port);
    }
    if (!port_ok(port) || (*rest && strcmp(rest, "/") != 0))
        return malformed(text, err);
    return true;
}

bool address_parse(struct address *a, const char *text, const char *default_port, bool passive,
                   struct err *err)
{
    /* RDMA_PS_TCP ports are looked up like those of TCP. */
    const struct addrinfo hints = {.ai_flags = passive ? AI_PASSIVE : 0,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    char host[256], port[256];
    *a = (struct address){0};
    if (strlen(text) >= sizeof(host))
        return malformed(text, err);
    if (!address_split(text, default_port, host, port, err))
        return false;
    if (!*host && !passive)
        return malformed(text, err);
    int error = getaddrinfo(*host ? host : NULL, port, &hints, &list);
    if (error)
        return err_set(err, STATUS_FAILED, "address '%s': %s", text, gai_strerror(error));
    memcpy(&a->sa, list->ai_addr, list->ai_addrlen);
    freeaddrinfo(list);
    address_name(a);
    return true;
}

void address_name(struct address *a)
{
    char host[64], port[8];
    socklen_t len =
        a->sa.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    if (getnameinfo((const struct sockaddr *)&a->sa, len, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV)) {
        strcpy(a->text, "?");
        return;
    }
    snprintf(a->text, sizeof(a->text), a->sa.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
             port);
}
