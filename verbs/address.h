/* Where a peer listens: "host:port", "[v6]:port", "rdma://host:port/". */
#ifndef NUMALOAD_VERBS_ADDRESS_H
#define NUMALOAD_VERBS_ADDRESS_H

#include "../placement/err.h"

#include <netinet/in.h>
#include <sys/socket.h>

#define ADDRESS_TEXT_MAX 80

struct address {
    struct sockaddr_storage sa;
    char text[ADDRESS_TEXT_MAX]; /* "10.77.0.1:20885", "[fe80::1%2]:20885" */
};

/* Splits the text without looking anything up. host and port have room for as many bytes as
 * `text`. `port` is set to the default when the text has none. */
bool address_split(const char *text, const char *default_port, char *host, char *port,
                   struct err *err);

/* Splits and resolves; a host of several addresses gives its first. With `passive` an empty host
 * means every address. Errors are STATUS_USAGE for a text that is none and STATUS_FAILED for a
 * name that nobody knows. */
bool address_parse(struct address *a, const char *text, const char *default_port, bool passive,
                   struct err *err);

/* Fills a->text from a->sa. */
void address_name(struct address *a);

#endif
