/* Where received packets are handled after the interrupt, and which CPUs a transmit queue serves:
 * rps_cpus and xps_cpus of a network device (Documentation/networking/scaling.rst). They matter to
 * soft-RoCE and to TCP; hardware RDMA does not pass here. */
#define _GNU_SOURCE
#include "masks.h"

#include "sysroot.h"
#include "text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define KEY "rps"
#define WORDS                                                                                      \
    (ACCEPT_WORD(WORD_LEAVE) | ACCEPT_WORD(WORD_NODE) | ACCEPT_WORD(WORD_NIC) |                    \
     ACCEPT_WORD(WORD_REMOTE) | ACCEPT_WORD(WORD_CPUS))

static const char *netdev_of(const struct place *p)
{
    if (!p->device_named)
        return "";
    return p->device.kind == DEVICE_NET ? p->device.name : p->device.netdev;
}

static void add_queues(struct masks *l, const char *netdev)
{
    char **queues, path[PATH_MAX];
    snprintf(path, sizeof(path), "/sys/class/net/%s/queues", netdev);
    if (sysroot_list(path, &queues) < 0)
        return;
    for (char **q = queues; *q; q++) {
        bool rx = strncmp(*q, "rx-", 3) == 0, tx = strncmp(*q, "tx-", 3) == 0;
        snprintf(path, sizeof(path), "/sys/class/net/%s/queues/%.255s/%s", netdev, *q,
                 rx ? "rps_cpus" : "xps_cpus");
        /* A device with one transmit queue has the file, but it cannot be read. */
        if (rx || tx)
            masks_add(l, path);
    }
    sysroot_list_free(queues);
}

static bool plan(struct place *p, const struct word *w, struct masks *l, struct err *err)
{
    const char *netdev = netdev_of(p);
    if (l->base.asked) {
        if (!p->device_named && p->device_tried)
            return lever_no_device(p, KEY, err);
        if (!*netdev)
            return err_set(err, STATUS_USAGE, KEY " = %s: name a network device", p->ask.rps);
        l->want = hwloc_bitmap_alloc();
        if (!l->want)
            return err_set(err, STATUS_FAILED, KEY ": out of memory");
        if (!lever_cpus_of_word(p, KEY, p->ask.rps, w, USABLE_FOR_KERNEL, l->want, err))
            return false;
    }
    if (*netdev)
        add_queues(l, netdev);
    char **lowers = *netdev ? device_lowers(netdev) : NULL;
    for (char **lower = lowers; lower && *lower; lower++)
        add_queues(l, *lower);
    if (lowers)
        sysroot_list_free(lowers);
    if (l->base.asked && !l->base.values_n)
        return err_set(err, STATUS_FAILED, KEY " = %s: %s has no rps or xps masks", p->ask.rps,
                       netdev);
    return !sysroot_live() || masks_writable(l, err);
}

static bool probe(struct place *p, struct lever **out, struct err *err)
{
    struct word w;
    bool ok = word_parse(&w, KEY, p->ask.rps, WORDS, err);
    if (ok) {
        struct masks *l = lever_new(&lever_rps, sizeof(*l), p->ask.rps, w.kind != WORD_LEAVE, err);
        ok = l != NULL;
        if (ok) {
            *out = &l->base;
            ok = plan(p, &w, l, err);
        }
    }
    word_free(&w);
    return ok;
}

static bool apply(struct place *p, struct lever *l, struct err *err)
{
    return masks_apply(p, (struct masks *)l, l->values_n, err);
}

static void observe(const struct place *p, const struct lever *l, const struct lever_window *w,
                    struct lever_seen *out)
{
    (void)p;
    masks_observe((const struct masks *)l, w, out);
    json_t *masks = json_object();
    for (size_t i = 0; i < l->values_n; i++)
        json_object_set_new(masks, l->values[i].s.path,
                            mask_as_json(setting_at(&l->values[i].s, w->to)));
    out->detail = json_pack("{s:o}", "masks_at_to", masks);
}

const struct lever_ops lever_rps = {
    .name = KEY,
    .probe = probe,
    .apply = apply,
    .observe = observe,
    .release = masks_release,
};
