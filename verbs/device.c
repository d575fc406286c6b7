#define _GNU_SOURCE
#include "device.h"

#include "query.h"

#include "../placement/sysroot.h"
#include "../placement/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASS "/sys/class/infiniband"
/* Longer tables than any device has; a recorded tree may hold anything. */
#define GIDS_MAX 4096

const char *verbs_gid_type_name(enum gid_type type)
{
    static const char *const names[] = {
        [GID_IB] = "InfiniBand",
        [GID_ROCE_V1] = "RoCE v1",
        [GID_ROCE_V2] = "RoCE v2",
        [GID_IWARP] = "iWARP",
    };
    return names[type];
}

/* First line of a file below the device's folder, or "". */
static void read_word(char *buf, size_t cap, const char *name, const char *file)
{
    char path[PATH_MAX];
    buf[0] = '\0';
    int n = snprintf(path, sizeof(path), CLASS "/%.63s/%s", name, file);
    if (n < 0 || n >= (int)sizeof(path) || sysroot_read_into(path, buf, cap) < 0)
        buf[0] = '\0';
    buf[strcspn(buf, "\n")] = '\0';
}

/* "4: ACTIVE" is the state's number and its name. */
static void read_named(char *buf, size_t cap, const char *name, const char *file)
{
    char line[64];
    read_word(line, sizeof(line), name, file);
    const char *colon = strstr(line, ": ");
    snprintf(buf, cap, "%.*s", (int)cap - 1, colon ? colon + 2 : line);
}

/* sysfs writes a GID as eight groups of four hexadecimal digits. */
static bool parse_gid(const char *text, uint8_t raw[16])
{
    static const uint8_t unset[16];
    return inet_pton(AF_INET6, text, raw) == 1 && memcmp(raw, unset, 16) != 0;
}

static bool is_ipv4(const uint8_t raw[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(raw, mapped, sizeof(mapped)) == 0;
}

static bool is_link_local(const uint8_t raw[16])
{
    return raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80;
}

static void name_gid(struct verbs_gid *g)
{
    if (is_ipv4(g->raw))
        inet_ntop(AF_INET, g->raw + 12, g->text, sizeof(g->text));
    else
        inet_ntop(AF_INET6, g->raw, g->text, sizeof(g->text));
}

static enum gid_type type_of(const struct verbs_device *d, const struct verbs_port *p,
                             const char *type)
{
    if (d->iwarp)
        return GID_IWARP;
    if (strcmp(p->link_layer, "InfiniBand") == 0)
        return GID_IB;
    return strcmp(type, "RoCE v2") == 0 ? GID_ROCE_V2 : GID_ROCE_V1;
}

static bool read_gids(const struct verbs_device *d, struct verbs_port *p, struct err *err)
{
    char dir[PATH_MAX], file[PATH_MAX], line[64], **names;
    snprintf(dir, sizeof(dir), CLASS "/%s/ports/%u/gids", d->base.name, p->number);
    ssize_t n = sysroot_list(dir, &names);
    if (n < 0)
        return true;
    bool ok = true;
    for (ssize_t i = 0; i < n && ok; i++) {
        unsigned index;
        struct verbs_gid g = {0};
        if (!device_irq_number(names[i], &index) || index >= GIDS_MAX)
            continue;
        snprintf(file, sizeof(file), "ports/%u/gids/%u", p->number, index);
        read_word(line, sizeof(line), d->base.name, file);
        if (!parse_gid(line, g.raw))
            continue;
        g.index = index;
        snprintf(file, sizeof(file), "ports/%u/gid_attrs/types/%u", p->number, index);
        read_word(line, sizeof(line), d->base.name, file);
        g.type = type_of(d, p, line);
        snprintf(file, sizeof(file), "ports/%u/gid_attrs/ndevs/%u", p->number, index);
        read_word(g.netdev, sizeof(g.netdev), d->base.name, file);
        name_gid(&g);
        struct verbs_gid *bigger = realloc(p->gids, (p->gids_n + 1) * sizeof(*bigger));
        ok = bigger || err_set(err, STATUS_FAILED, "out of memory");
        if (bigger) {
            p->gids = bigger;
            p->gids[p->gids_n++] = g;
        }
    }
    sysroot_list_free(names);
    return ok;
}

static bool read_ports(struct verbs_device *d, struct err *err)
{
    char dir[PATH_MAX], file[64], **names;
    snprintf(dir, sizeof(dir), CLASS "/%s/ports", d->base.name);
    ssize_t n = sysroot_list(dir, &names);
    if (n < 0)
        return true;
    bool ok = true;
    d->ports = calloc((size_t)n + 1, sizeof(*d->ports));
    if (!d->ports)
        ok = err_set(err, STATUS_FAILED, "out of memory");
    for (ssize_t i = 0; i < n && ok; i++) {
        struct verbs_port *p = &d->ports[d->ports_n];
        if (!device_irq_number(names[i], &p->number))
            continue;
        d->ports_n++;
        snprintf(file, sizeof(file), "ports/%u/state", p->number);
        read_named(p->state, sizeof(p->state), d->base.name, file);
        snprintf(file, sizeof(file), "ports/%u/phys_state", p->number);
        read_named(p->physical, sizeof(p->physical), d->base.name, file);
        snprintf(file, sizeof(file), "ports/%u/link_layer", p->number);
        read_word(p->link_layer, sizeof(p->link_layer), d->base.name, file);
        snprintf(file, sizeof(file), "ports/%u/rate", p->number);
        read_word(p->rate, sizeof(p->rate), d->base.name, file);
        ok = read_gids(d, p, err);
    }
    sysroot_list_free(names);
    return ok;
}

bool verbs_device_read(struct verbs_device *d, const char *name, struct err *err)
{
    char type[32];
    *d = (struct verbs_device){0};
    if (!device_find(&d->base, name, err))
        return false;
    if (d->base.kind != DEVICE_RDMA) {
        char *list = verbs_device_list();
        err_set(err, STATUS_FAILED, "device '%s' is a %s; RDMA devices here: %s", name,
                device_kind_name(d->base.kind), list ? list : "?");
        free(list);
        return false;
    }
    read_word(d->firmware, sizeof(d->firmware), name, "fw_ver");
    read_word(type, sizeof(type), name, "node_type");
    d->iwarp = strcmp(type, "4: RNIC") == 0;
    if (!read_ports(d, err))
        return false;
    if (sysroot_live())
        query_device(d);
    else
        d->limits_reason = text_printf("a recorded tree does not hold them");
    return true;
}

void verbs_device_free(struct verbs_device *d)
{
    for (size_t i = 0; i < d->ports_n; i++)
        free(d->ports[i].gids);
    free(d->ports);
    free(d->limits_reason);
    device_free(&d->base);
    *d = (struct verbs_device){0};
}

const struct verbs_port *verbs_device_port(const struct verbs_device *d, unsigned number)
{
    for (size_t i = 0; i < d->ports_n; i++)
        if (d->ports[i].number == number)
            return &d->ports[i];
    return NULL;
}

static char *list_gids(const struct verbs_port *p)
{
    char *list = NULL;
    for (size_t i = 0; i < p->gids_n && i < 8; i++)
        text_append(&list, "%s%s (%s)", list ? ", " : "", p->gids[i].text,
                    verbs_gid_type_name(p->gids[i].type));
    return list;
}

/* Higher is better, 0 is unfit. */
static int gid_rank(const struct verbs_gid *g, enum gid_family family)
{
    bool v4 = is_ipv4(g->raw);
    if (g->type == GID_ROCE_V1)
        return 0;
    if (g->type != GID_ROCE_V2)
        return 1; /* neither has a family */
    if (family != GID_ANY && v4 != (family == GID_IPV4))
        return 0;
    return v4 ? 3 : is_link_local(g->raw) ? 1 : 2;
}

const struct verbs_gid *verbs_gid_choose(const struct verbs_device *d,
                                         const struct verbs_port *port, enum gid_family family,
                                         struct err *err)
{
    static const char *const families[] = {"", " of an IPv4 address", " of an IPv6 address"};
    const struct verbs_gid *best = NULL;
    for (size_t i = 0; i < port->gids_n; i++) {
        int rank = gid_rank(&port->gids[i], family);
        if (rank && (!best || rank > gid_rank(best, family)))
            best = &port->gids[i];
    }
    if (best)
        return best;
    char *list = list_gids(port);
    err_set(err, STATUS_FAILED,
            "%s port %u has no %sGID%s (it has: %s); give %s an address: ip addr add ADDRESS dev "
            "%s",
            d->base.name, port->number,
            strcmp(port->link_layer, "Ethernet") == 0 && !d->iwarp ? "RoCE v2 " : "",
            families[family], list ? list : "none",
            *d->base.netdev ? d->base.netdev : "its interface",
            *d->base.netdev ? d->base.netdev : "INTERFACE");
    free(list);
    return NULL;
}

bool verbs_port_usable(const struct verbs_device *d, const struct verbs_port *port, struct err *err)
{
    if (strcmp(port->state, "ACTIVE") == 0)
        return true;
    return err_set(err, STATUS_FAILED, "%s port %u is %s (link: %s), not ACTIVE%s%s%s",
                   d->base.name, port->number, *port->state ? port->state : "in no known state",
                   *port->physical ? port->physical : "unknown",
                   *d->base.netdev ? "; ip link set " : "", d->base.netdev,
                   *d->base.netdev ? " up" : "");
}

char *verbs_device_list(void)
{
    char **names, **ports, *list = NULL, dir[PATH_MAX], state[16], file[64];
    ssize_t n = sysroot_list(CLASS, &names);
    for (ssize_t i = 0; i < n; i++) {
        text_append(&list, "%s%s (", list ? ", " : "", names[i]);
        snprintf(dir, sizeof(dir), CLASS "/%.255s/ports", names[i]);
        ssize_t m = sysroot_list(dir, &ports);
        for (ssize_t k = 0; k < m; k++) {
            snprintf(file, sizeof(file), "ports/%.16s/state", ports[k]);
            read_named(state, sizeof(state), names[i], file);
            text_append(&list, "%sport %s %s", k ? ", " : "", ports[k], state);
        }
        if (m >= 0)
            sysroot_list_free(ports);
        text_append(&list, "%s)", m > 0 ? "" : "no port");
    }
    if (n >= 0)
        sysroot_list_free(names);
    return list ? list : strdup("none");
}
