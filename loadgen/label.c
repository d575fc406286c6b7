#include "label.h"

#include <string.h>

/* "node:0" as tables write it: "node0". */
static void short_word(const char *word, char *buf, size_t cap)
{
    const char *colon = strchr(word, ':');
    if (colon && strncmp(word, "cpus:", 5) != 0)
        snprintf(buf, cap, "%.*s%s", (int)(colon - word), word, colon + 1);
    else
        snprintf(buf, cap, "%s", word);
}

void label_set(json_t *record, const struct profile *p)
{
    char cpus[64], unbound[64], label[160];
    short_word(p->cpus ? p->cpus : "unpinned", cpus, sizeof(cpus));
    bool by_cq = p->cq && strcmp(p->cq, "leave") != 0;
    short_word(by_cq ? p->cq : p->unbound ? p->unbound : "leave", unbound, sizeof(unbound));
    snprintf(label, sizeof(label), "%s / %s", cpus, unbound);
    json_t *s = json_string(p->label ? p->label : label);
    json_object_set_new(record, "label", s ? s : json_string("(not UTF-8)"));
}
