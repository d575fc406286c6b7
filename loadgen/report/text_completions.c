/* One line about where completions ran: frees by node, and the kernel's workers. */
#include "text.h"

#include "fmt.h"
#include "view.h"

#include <stdio.h>
#include <string.h>

/* "node0 12 %, node1 88 %" behind what is in text already. */
static size_t add_shares(char *text, size_t cap, size_t used, const json_t *by_node, double total)
{
    const char *node, *comma = "";
    json_t *n;
    json_object_foreach((json_t *)by_node, node, n)
    {
        double part = json_number_value(n);
        if (part <= 0 || total <= 0 || used + 64 >= cap)
            continue;
        used += (size_t)snprintf(text + used, cap - used, "%snode%.16s %s %%", comma, node,
                                 fmt_figure(100 * part / total).s);
        comma = ", ";
    }
    return used;
}

void text_completions(FILE *out, const json_t *window)
{
    char text[1024] = "";
    size_t used = 0;
    json_int_t frees, ns;
    const json_t *c = json_object_get(window, "completions");
    if (view_integer(c, "frees", &frees)) {
        used = add_shares(text, sizeof(text), used, json_object_get(c, "by_node"), (double)frees);
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, " of %s frees", fmt_count(frees).s);
    }
    const char *queue;
    json_t *q;
    json_object_foreach(json_object_get(json_object_get(window, "kworker"), "queues"), queue, q)
    {
        if (strcmp(queue, "other") == 0 || !view_integer(q, "cpu_ns", &ns) ||
            used + 128 >= sizeof(text))
            continue;
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "%s%.32s ", used ? "; " : "", queue);
        used = add_shares(text, sizeof(text), used, json_object_get(q, "by_node"), (double)ns);
        used += (size_t)snprintf(text + used, sizeof(text) - used, " of %s", fmt_ns((double)ns).s);
    }
    if (used)
        fmt_wrapped(out, 11, "completed  ", text);
}
