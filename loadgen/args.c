#include "args.h"

#include <string.h>

struct option {
    const struct key *key;
    const char *value;
    bool positional, help;
};

static bool is_bool_text(const char *text)
{
    bool ignored;
    return parse_bool(text, &ignored, NULL);
}

static bool unknown(const char *arg, const char *name, struct err *err)
{
    const char *near = profile_nearest(name);
    if (near)
        return err_set(err, STATUS_USAGE, "unknown option '%s'; did you mean '--%s'?", arg, near);
    return err_set(err, STATUS_USAGE, "unknown option '%s'; --help lists them all", arg);
}

/* Takes one option from argv at *i and moves *i past it. */
static bool next_option(int argc, char **argv, int *i, struct option *o, struct err *err)
{
    const char *arg = argv[(*i)++];
    *o = (struct option){0};
    if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
        o->help = true;
        return true;
    }
    if (strncmp(arg, "--", 2) != 0) {
        if (arg[0] == '-' && arg[1])
            return unknown(arg, arg + 1, err);
        o->positional = true;
        o->value = arg;
        return true;
    }
    char name[80];
    const char *equals = strchr(arg, '=');
    size_t len = equals ? (size_t)(equals - arg - 2) : strlen(arg + 2);
    if (len >= sizeof(name))
        return unknown(arg, arg + 2, err);
    memcpy(name, arg + 2, len);
    name[len] = '\0';

    o->key = profile_key(name);
    if (!o->key && strncmp(name, "no-", 3) == 0 && !equals) {
        o->key = profile_key(name + 3);
        if (o->key && o->key->type != KEY_BOOL)
            o->key = NULL;
        o->value = "no";
        if (o->key)
            return true;
    }
    if (!o->key)
        return unknown(arg, name, err);
    if (equals)
        o->value = equals + 1;
    else if (o->key->type == KEY_BOOL && (*i >= argc || !is_bool_text(argv[*i])))
        o->value = "yes";
    else if (*i < argc)
        o->value = argv[(*i)++];
    else
        return err_set(err, STATUS_USAGE, "--%s needs a value (%s)", o->key->name, o->key->meta);
    return true;
}

static bool allowed(const char *const *keys, const struct key *key)
{
    if (!keys)
        return true;
    for (; *keys; keys++)
        if (strcmp(*keys, key->name) == 0)
            return true;
    return false;
}

bool args_read(struct profile *p, int argc, char **argv, const char *const *keys, bool *help,
               struct err *err)
{
    struct option o;
    *help = false;
    const char *file = NULL;
    for (int i = 1; i < argc;) {
        if (!next_option(argc, argv, &i, &o, err))
            return false;
        if (o.help) {
            *help = true;
            return true;
        }
        if (o.positional && file)
            return err_set(err, STATUS_USAGE, "two profiles given: '%s' and '%s'", file, o.value);
        if (o.positional)
            file = o.value;
        else if (!allowed(keys, o.key))
            return err_set(err, STATUS_USAGE, "--%s has no meaning for 'numaload %s'", o.key->name,
                           argv[0]);
    }
    if (file && !profile_read_ini(p, file, err))
        return false;
    for (int i = 1; i < argc;) {
        next_option(argc, argv, &i, &o, err);
        if (o.key && !profile_set(p, o.key, o.value, (struct origin){.cli = true}, err))
            return false;
    }
    return true;
}

bool args_want_json(int argc, char **argv)
{
    bool want;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0 ||
            (strncmp(argv[i], "--json=", 7) == 0 && parse_bool(argv[i] + 7, &want, NULL) && want))
            return true;
    return false;
}
