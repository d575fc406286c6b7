#define _GNU_SOURCE
#include "elbencho.h"

#include "../placement/sysroot.h"
#include "../placement/text.h"
#include "run/expand.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum kind {
    KEY,     /* the value of a key of numaload's */
    YES,     /* sets a flag of struct elbencho */
    COUNT,   /* a number of struct elbencho */
    SIZE,    /* a size of struct elbencho */
    TEXT,    /* a text of struct elbencho */
    ZONES,   /* NUMA nodes: cpus and mem */
    CORES,   /* cpus */
    NO_FDS,  /* nofdsharing */
    NOTHING, /* what numaload does anyway */
    REFUSED,
};

#define AT(f) offsetof(struct elbencho, f)

static const struct alias {
    char letter;
    const char *name;
    enum kind kind;
    bool value;
    const char *key; /* of numaload's */
    size_t offset;
    const char *help; /* what it does here, or why it is refused */
} aliases[] = {
    {'r', "read", YES, false, NULL, AT(phase[ELBENCHO_READ]), "a phase that reads"},
    {'w', "write", YES, false, NULL, AT(phase[ELBENCHO_WRITE]), "a phase that writes, before it"},
    {'t', "threads", KEY, true, "threads", 0, NULL},
    {'b', "block", KEY, true, "block", 0, NULL},
    {'s', "size", KEY, true, "size", 0, NULL},
    {0, "iodepth", KEY, true, "iodepth", 0, "1: engine sync; more: engine aio"},
    {0, "direct", KEY, false, "direct", 0, NULL},
    {0, "rand", YES, false, NULL, AT(rand), "rw = randread or randwrite, each block once"},
    {0, "randamount", KEY, true, "amount", 0, NULL},
    {0, "timelimit", COUNT, true, NULL, AT(time_limit_s),
     "window, in seconds; with infloop above 3600 several windows"},
    {0, "infloop", YES, false, NULL, AT(infloop), "until the time limit, or Ctrl-C"},
    {0, "zones", ZONES, true, NULL, 0, "cpus and mem"},
    {0, "cores", CORES, true, NULL, 0, "cpus = cpus:LIST"},
    {0, "lat", NOTHING, false, NULL, 0, "always measured and shown"},
    {0, "latpercent", NOTHING, false, NULL, 0, "always measured and shown"},
    {0, "lathisto", YES, false, NULL, AT(lat_histo), "prints the histogram, by octaves"},
    {0, "allelapsed", YES, false, NULL, AT(all_elapsed), "prints when each thread was done"},
    {0, "cpu", NOTHING, false, NULL, 0, "always measured and shown"},
    {0, "label", KEY, true, "label", 0, NULL},
    {0, "jsonfile", TEXT, true, NULL, AT(json_file), "record; a file a phase"},
    {0, "csvfile", TEXT, true, NULL, AT(csv_file), "appends a line a phase"},
    {0, "livecsv", TEXT, true, NULL, AT(live_csv_file), "livecsv; a file a phase"},
    {0, "verify", COUNT, true, NULL, AT(verify_salt), "salt, and verify when reading"},
    {0, "limitread", SIZE, true, NULL, AT(limit[ELBENCHO_READ]), "limit-thread when reading"},
    {0, "limitwrite", SIZE, true, NULL, AT(limit[ELBENCHO_WRITE]), "limit-thread when writing"},
    {0, "rwmixpct", COUNT, true, NULL, AT(mix_read_percent), "mix-read-percent when writing"},
    {0, "nofdsharing", NO_FDS, false, NULL, 0, "fd-sharing = no"},
    {0, "dryrun", YES, false, NULL, AT(dryrun), "prints files and bytes of each phase"},
    {'d', "mkdirs", YES, false, NULL, AT(mkdirs), "makes the directories"},
    {'n', "dirs", COUNT, true, NULL, AT(dirs), "directories a thread"},
    {'N', "files", COUNT, true, NULL, AT(files), "files a thread and directory"},
    {'i', "iterations", COUNT, true, NULL, AT(iterations), "repeats the phases"},
    {0, "nolive", NOTHING, false, NULL, 0, "no effect"},
    {0, "live1", NOTHING, false, NULL, 0, "no effect: this is what numaload shows"},
    {0, "live1n", NOTHING, false, NULL, 0, "no effect"},
    {0, "nodiocheck", NOTHING, false, NULL, 0, "no effect"},
    {0, "no0usecerr", NOTHING, false, NULL, 0, "no effect"},
    {'F', "delfiles", REFUSED, false, NULL, 0, "numaload deletes nothing; use rm"},
    {'D', "deldirs", REFUSED, false, NULL, 0, "numaload deletes nothing; use rm -r"},
    {0, "stat", REFUSED, false, NULL, 0, "numaload has no metadata phases"},
    {0, "sync", REFUSED, false, NULL, 0, "use --direct, or sync(1) before and after"},
    {0, "dropcache", REFUSED, false, NULL, 0, "numaload leaves the caches alone; use --direct"},
    {0, "hosts", REFUSED, true, NULL, 0, "numaload loads from one machine"},
    {0, "hostsfile", REFUSED, true, NULL, 0, "numaload loads from one machine"},
    {0, "service", REFUSED, false, NULL, 0, "numaload loads from one machine"},
    {0, "gpuids", REFUSED, true, NULL, 0, "numaload has no GPU buffers"},
    {0, "gds", REFUSED, false, NULL, 0, "numaload has no GPU buffers"},
    {0, "mmap", REFUSED, false, NULL, 0, "numaload does no I/O through memory maps"},
    {0, "norandalign", REFUSED, false, NULL, 0, "random offsets are multiples of the block here"},
    {0, "backward", REFUSED, false, NULL, 0, "numaload reads forward or at random"},
    {0, "strided", REFUSED, false, NULL, 0, "numaload reads forward or at random"},
    {0, "rwmixthr", REFUSED, true, NULL, 0, "use --rwmixpct"},
    {0, "trunc", REFUSED, false, NULL, 0, "remove the files first"},
    {0, "trunctosize", REFUSED, false, NULL, 0, "remove the files first"},
    {0, "preallocfile", REFUSED, false, NULL, 0, "numaload writes real data only"},
    {0, NULL, NOTHING, false, NULL, 0, NULL},
};

static bool give(struct elbencho *e, const char *key, const char *value, struct err *err)
{
    const struct key *k = profile_key(key);
    struct given *grown = realloc(e->given, (e->given_n + 1) * sizeof(*grown));
    if (grown)
        e->given = grown;
    if (!k || !grown)
        return err_set(err, STATUS_FAILED, k ? "out of memory" : "--%s: not in this build", key);
    e->given[e->given_n++] = (struct given){k, value};
    return true;
}

static bool give_word(struct elbencho *e, const char *key, char *word, struct err *err)
{
    if (!word || e->words_n == sizeof(e->words) / sizeof(*e->words)) {
        free(word);
        return err_set(err, STATUS_USAGE, "--zones and --cores: give one of them, once");
    }
    e->words[e->words_n++] = word;
    return give(e, key, word, err);
}

/* elbencho binds its threads to the zones in turn. For one zone that is node:N, for all of them
 * spread; of some, the threads get the CPUs of all. */
static bool zones(struct elbencho *e, const char *value, struct err *err)
{
    char path[128], cpus[1024];
    if (strcmp(value, "all") == 0)
        return give(e, "cpus", "spread", err) && give(e, "mem", "local", err);
    if (!*value || strspn(value, "0123456789,") != strlen(value))
        return err_set(err, STATUS_USAGE, "--zones: '%s' is not a list of node numbers, or all",
                       value);
    if (!strchr(value, ','))
        return give_word(e, "cpus", text_printf("node:%s", value), err) &&
               give_word(e, "mem", text_printf("node:%s", value), err);
    char *list = NULL;
    for (const char *p = value; *p; p += strspn(p, ",")) {
        int n = (int)strcspn(p, ",");
        snprintf(path, sizeof(path), "/sys/devices/system/node/node%.*s/cpulist", n, p);
        if (sysroot_read_into(path, cpus, sizeof(cpus)) < 0) {
            free(list);
            return err_set(err, STATUS_USAGE, "--zones: there is no node %.*s", n, p);
        }
        cpus[strcspn(cpus, "\n")] = '\0';
        text_append(&list, "%s%s", !list ? "cpus:" : *cpus ? "," : "", cpus);
        p += n;
    }
    return give_word(e, "cpus", list, err);
}

static bool number(const struct alias *a, const char *value, uint64_t *out, struct err *err)
{
    bool ok = a->kind == SIZE ? parse_size(value, out, err) : parse_count(value, out, err);
    return ok || err_prefix(err, "--%s", a->name);
}

static bool apply(struct elbencho *e, const struct alias *a, const char *value, struct err *err)
{
    char *field = (char *)e + a->offset;
    switch (a->kind) {
    case KEY:
        return give(e, a->key, value ? value : "yes", err);
    case YES:
        *(bool *)field = true;
        return true;
    case COUNT:
    case SIZE:
        return number(a, value, (uint64_t *)field, err);
    case TEXT:
        *(const char **)field = value;
        return true;
    case ZONES:
        return zones(e, value, err);
    case CORES:
        return strcmp(value, "all") == 0 ||
               give_word(e, "cpus", text_printf("cpus:%s", value), err);
    case NO_FDS:
        e->fd_sharing = false;
        return true;
    case NOTHING:
        return true;
    case REFUSED:
        break;
    }
    return err_set(err, STATUS_USAGE, "--%s: %s", a->name, a->help);
}

static const struct alias *find(const char *name, size_t len, char letter)
{
    for (const struct alias *a = aliases; a->name; a++)
        if (letter ? a->letter == letter : strlen(a->name) == len && !strncmp(a->name, name, len))
            return a;
    return NULL;
}

static bool is_bool(const char *text)
{
    bool ignored;
    return parse_bool(text, &ignored, NULL);
}

/* "--key value" or "--key=value" of numaload's own. */
static bool own_key(struct elbencho *e, const char *name, size_t len, const char *value, int argc,
                    char **argv, int *i, struct err *err)
{
    char text[80];
    snprintf(text, sizeof(text), "%.*s", (int)len, name);
    const struct key *k = profile_key(text);
    if (!k)
        return err_set(
            err, STATUS_USAGE,
            "unknown option '--%s': neither elbencho's nor a key of numaload's ('numaload "
            "elbencho --help' and 'numaload run --help' list them)",
            text);
    if (!value && k->type == KEY_BOOL && (*i >= argc || !is_bool(argv[*i])))
        value = "yes";
    else if (!value && *i < argc)
        value = argv[(*i)++];
    if (!value)
        return err_set(err, STATUS_USAGE, "--%s needs a value", text);
    return give(e, text, value, err);
}

static bool long_option(struct elbencho *e, const char *arg, int argc, char **argv, int *i,
                        struct err *err)
{
    const char *equals = strchr(arg, '='), *value = equals ? equals + 1 : NULL;
    size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
    const struct alias *a = find(arg, len, 0);
    if (!a)
        return own_key(e, arg, len, value, argc, argv, i, err);
    if (a->value && !value && *i < argc)
        value = argv[(*i)++];
    if (a->value && !value)
        return err_set(err, STATUS_USAGE, "--%s needs a value", a->name);
    return apply(e, a, value, err);
}

/* "-t4", "-t 4", "-rw". */
static bool short_options(struct elbencho *e, const char *arg, int argc, char **argv, int *i,
                          struct err *err)
{
    for (; *arg; arg++) {
        const struct alias *a = find(NULL, 0, *arg);
        if (!a)
            return err_set(err, STATUS_USAGE,
                           "unknown option '-%c'; 'numaload elbencho --help' lists them", *arg);
        if (!a->value) {
            if (!apply(e, a, NULL, err))
                return false;
            continue;
        }
        const char *value = arg[1] ? arg + 1 : *i < argc ? argv[(*i)++] : NULL;
        if (!value)
            return err_set(err, STATUS_USAGE, "-%c needs a value", *arg);
        return apply(e, a, value, err);
    }
    return true;
}

bool elbencho_read(struct elbencho *e, int argc, char **argv, struct err *err)
{
    *e = (struct elbencho){.fd_sharing = true, .dirs = 1, .files = 1, .iterations = 1};
    e->paths = calloc((size_t)argc + 1, sizeof(*e->paths));
    if (!e->paths)
        return err_set(err, STATUS_FAILED, "out of memory");
    for (int i = 1; i < argc;) {
        const char *arg = argv[i++];
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            e->help = true;
            return true;
        }
        if (arg[0] != '-' || !arg[1])
            e->paths[e->paths_n++] = (char *)arg;
        else if (arg[1] == '-' ? !long_option(e, arg + 2, argc, argv, &i, err)
                               : !short_options(e, arg + 1, argc, argv, &i, err))
            return false;
    }
    if (!e->paths_n)
        return err_set(err, STATUS_USAGE, "no path given");
    if (!e->phase[ELBENCHO_READ] && !e->phase[ELBENCHO_WRITE] && !e->mkdirs)
        return err_set(err, STATUS_USAGE, "nothing to do: -w writes, -r reads");
    return true;
}

void elbencho_free(struct elbencho *e)
{
    for (unsigned i = 0; i < e->words_n; i++)
        free(e->words[i]);
    free(e->paths);
    free(e->given);
    *e = (struct elbencho){0};
}

/* ---- one phase ---- */

static bool set(struct profile *p, const char *key, const char *value, struct err *err)
{
    return profile_set(p, profile_key(key), value, (struct origin){.cli = true}, err);
}

static bool set_count(struct profile *p, const char *key, uint64_t value, const char *unit,
                      struct err *err)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRIu64 "%s", value, unit);
    return set(p, key, text, err);
}

bool elbencho_is_dir(const struct elbencho *e)
{
    struct stat st;
    return stat(e->paths[0], &st) == 0 && S_ISDIR(st.st_mode);
}

bool elbencho_each_dir(const struct elbencho *e, uint64_t threads,
                       bool (*each)(const char *dir, uint64_t thread, void *arg), void *arg)
{
    char dir[PATH_MAX];
    for (uint64_t t = 0; t < threads; t++) {
        const char *top = e->paths[t % e->paths_n];
        for (uint64_t d = 0; d < (e->dirs ? e->dirs : 1); d++) {
            int n = e->dirs ? snprintf(dir, sizeof(dir), "%s/r%" PRIu64 "/d%" PRIu64, top, t, d)
                            : snprintf(dir, sizeof(dir), "%s", top);
            if (n >= (int)sizeof(dir) || !each(dir, t, arg))
                return false;
        }
    }
    return true;
}

struct adding {
    const struct elbencho *e;
    struct profile *p;
    struct err *err;
};

static bool add_files(const char *dir, uint64_t thread, void *arg)
{
    const struct adding *a = arg;
    char file[PATH_MAX + 64];
    for (uint64_t f = 0; f < a->e->files; f++) {
        snprintf(file, sizeof(file), "%s/r%" PRIu64 "-f%" PRIu64, dir, thread, f);
        if (!set(a->p, "path", file, a->err))
            return false;
    }
    return true;
}

static bool add_paths(const struct elbencho *e, struct profile *p, struct err *err)
{
    struct adding adding = {e, p, err};
    uint64_t dirs, files;
    if (__builtin_mul_overflow(p->threads, e->dirs ? e->dirs : 1, &dirs) ||
        __builtin_mul_overflow(dirs, e->files, &files))
        files = UINT64_MAX;
    if (!elbencho_is_dir(e)) {
        for (unsigned i = 0; i < e->paths_n; i++)
            if (!set(p, "path", e->paths[i], err))
                return false;
        return set(p, "fd-sharing", e->fd_sharing ? "yes" : "no", err);
    }
    if (files > EXPAND_MAX)
        return err_set(err, STATUS_USAGE,
                       "%" PRIu64 " files (threads x dirs x files); numaload holds all open and "
                       "takes %d at most",
                       files, EXPAND_MAX);
    return set(p, "own-files", "yes", err) && elbencho_each_dir(e, p->threads, add_files, &adding);
}

/* A load without end is measured in as few equal windows as are allowed. */
static bool set_time(const struct elbencho *e, struct profile *p, struct err *err)
{
    const uint64_t max = (uint64_t)PROFILE_WINDOW_MAX_S * PROFILE_WINDOWS_MAX;
    uint64_t seconds = e->time_limit_s ? e->time_limit_s : e->infloop ? PROFILE_WINDOW_MAX_S : 0;
    if (!seconds)
        return true;
    if (seconds > max)
        return err_set(err, STATUS_USAGE, "--timelimit: %" PRIu64 " s; %" PRIu64 " are the most",
                       seconds, max);
    if (!e->infloop)
        return set_count(p, "window", seconds, "s", err);
    uint64_t windows = (seconds + PROFILE_WINDOW_MAX_S - 1) / PROFILE_WINDOW_MAX_S;
    return set_count(p, "windows", windows, "", err) &&
           set_count(p, "window", seconds * 1000000000 / windows, "ns", err);
}

static bool set_limits(const struct elbencho *e, int kind, struct profile *p, struct err *err)
{
    return set(p, e->infloop ? "ramp" : "once", e->infloop ? "0s" : "yes", err) &&
           set_time(e, p, err) &&
           (!e->limit[kind] || set_count(p, "limit-thread", e->limit[kind], "", err));
}

static bool gave(const struct elbencho *e, const char *key)
{
    for (unsigned i = 0; i < e->given_n; i++)
        if (e->given[i].key == profile_key(key))
            return true;
    return false;
}

bool elbencho_profile(const struct elbencho *e, int kind, struct profile *p, struct err *err)
{
    bool write = kind == ELBENCHO_WRITE;
    if (!set(p, "threads", "1", err) || !set(p, "iodepth", "1", err) ||
        !set(p, "direct", "no", err))
        return false;
    for (unsigned i = 0; i < e->given_n; i++)
        if (!profile_set(p, e->given[i].key, e->given[i].value, (struct origin){.cli = true}, err))
            return false;
    const char *rw = write ? (e->rand ? "randwrite" : "write") : (e->rand ? "randread" : "read");
    if (!set(p, "rw", rw, err) || !set_limits(e, kind, p, err) || !add_paths(e, p, err))
        return false;
    if (!gave(e, "engine") && !set(p, "engine", p->iodepth > 1 ? "aio" : "sync", err))
        return false;
    if (e->verify_salt && (!set_count(p, "salt", e->verify_salt, "", err) ||
                           (!write && !set(p, "verify", "yes", err))))
        return false;
    return !write || !e->mix_read_percent ||
           set_count(p, "mix-read-percent", e->mix_read_percent, "", err);
}

void elbencho_help(FILE *out)
{
    fputs("usage: numaload elbencho [OPTIONS] PATH [MORE_PATHS]\n"
          "       numaload OPTIONS PATH ...      the same, when an option comes first\n\n"
          "elbencho's command line: one thread, one I/O at a time, through the page cache\n"
          "and everything once, unless options say otherwise. Beside these every key of\n"
          "'numaload run --help' works, for example --cq node:1.\n\n",
          out);
    for (const struct alias *a = aliases; a->name; a++) {
        char head[40];
        snprintf(head, sizeof(head), "  %c%c --%s%s", a->letter ? '-' : ' ',
                 a->letter ? a->letter : ' ', a->name, a->value ? " ARG" : "");
        fprintf(out, "%-22s %s%s\n", head, a->kind == REFUSED ? "not here: " : "",
                a->help ? a->help : a->key);
    }
    fputs("\nExit status: 0 done; 1 failed; 2 usage; 3 measured but invalid; 77 this machine or\n"
          "build lacks something.\n",
          out);
}
