#include "word.h"

#include "text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A colon at the end means that an argument follows. */
static const struct {
    const char *text, *argument;
} forms[WORD_KINDS] = {
    [WORD_UNPINNED] = {"unpinned", ""}, [WORD_DEFAULT] = {"default", ""},
    [WORD_LEAVE] = {"leave", ""},       [WORD_NODE] = {"node:", "N"},
    [WORD_SOCKET] = {"socket:", "N"},   [WORD_SPREAD] = {"spread", ""},
    [WORD_LOCAL] = {"local", ""},       [WORD_INTERLEAVE] = {"interleave", ""},
    [WORD_ALL] = {"all", ""},           [WORD_NIC] = {"nic", ""},
    [WORD_REMOTE] = {"remote", ""},     [WORD_BALANCED] = {"balanced", ""},
    [WORD_CPUS] = {"cpus:", "LIST"},
};

static bool unknown(const char *key, const char *text, unsigned accepted, struct err *err)
{
    char *list = NULL;
    for (unsigned k = 0; k < WORD_KINDS; k++)
        if (accepted & ACCEPT_WORD(k))
            text_append(&list, "%s%s%s", list ? " | " : "", forms[k].text, forms[k].argument);
    err_set(err, STATUS_USAGE, "%s = '%s' is none of %s", key, text, list ? list : "");
    free(list);
    return false;
}

static bool parse_id(const char *text, int *id)
{
    unsigned v = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (!isdigit((unsigned char)*text))
            return false;
        v = v * 10 + (unsigned)(*text - '0');
        if (v > SET_ID_MAX)
            return false;
    }
    *id = (int)v;
    return true;
}

static bool parse_argument(struct word *w, const char *key, const char *text, const char *argument,
                           struct err *err)
{
    if (w->kind != WORD_CPUS) {
        if (parse_id(argument, &w->id))
            return true;
        return err_set(err, STATUS_USAGE, "%s = '%s': '%s' is not a number from 0 to %u", key, text,
                       argument, SET_ID_MAX);
    }
    w->cpus = hwloc_bitmap_alloc();
    if (!w->cpus)
        return err_set(err, STATUS_FAILED, "%s: out of memory", key);
    if (!set_parse(w->cpus, argument, err))
        return err_prefix(err, "%s", key);
    if (hwloc_bitmap_iszero(w->cpus))
        return err_set(err, STATUS_USAGE, "%s = '%s' names no CPU", key, text);
    return true;
}

bool word_parse(struct word *w, const char *key, const char *text, unsigned accepted,
                struct err *err)
{
    *w = (struct word){.id = -1};
    for (unsigned k = 0; k < WORD_KINDS; k++) {
        if (!(accepted & ACCEPT_WORD(k)))
            continue;
        w->kind = (enum word_kind)k;
        if (!text)
            return true;
        size_t len = strlen(forms[k].text);
        if (*forms[k].argument && strncmp(text, forms[k].text, len) == 0)
            return parse_argument(w, key, text, text + len, err);
        if (!*forms[k].argument && strcmp(text, forms[k].text) == 0)
            return true;
    }
    return unknown(key, text, accepted, err);
}

void word_free(struct word *w)
{
    hwloc_bitmap_free(w->cpus);
    w->cpus = NULL;
}
