#include "settings.h"

#include <stdlib.h>
#include <string.h>

#define FIELD(f) offsetof(struct matrix_settings, f)
#define MINUTE UINT64_C(60000000000)

static const char *const order_words[] = {"blocks", "sequential", "reversed-pairs", NULL};
static const char *const remount_words[] = {"none", "cell", "block", NULL};

const struct key matrix_keys[] = {
    {.name = "folder",
     .type = KEY_TEXT,
     .offset = FIELD(folder),
     .meta = "DIR",
     .help = "Where plan, records and log are kept [PROFILE without .ini, with .matrix]."},
    {.name = "repeats",
     .type = KEY_COUNT,
     .offset = FIELD(repeats),
     .def = "5",
     .min = 1,
     .max = 10000,
     .meta = "N",
     .help = "How often each cell is run."},
    {.name = "precision",
     .type = KEY_TEXT,
     .offset = FIELD(precision),
     .meta = "SHARE",
     .help = "Go on after the repeats until the 95 % interval of every comparison with the "
             "baseline is within this share of it to either side: 1% or 0.01."},
    {.name = "repeats-max",
     .type = KEY_COUNT,
     .offset = FIELD(repeats_max),
     .def = "0",
     .max = 10000,
     .meta = "N",
     .help = "Repeats at which a matrix with a precision ends in any case; 0: 20, or the repeats "
             "when they are more."},
    {.name = "order",
     .type = KEY_TEXT,
     .offset = FIELD(order),
     .def = "blocks",
     .words = order_words,
     .meta = "WORD",
     .help = "Each repeat is a block that runs every cell once. blocks: in random order; "
             "sequential: as written; reversed-pairs: as written, every second block backwards."},
    {.name = "order-seed",
     .type = KEY_COUNT,
     .offset = FIELD(order_seed),
     .def = "0",
     .max = UINT64_C(1) << 53,
     .meta = "N",
     .help = "Seed of the random order; 0: drawn and recorded."},
    {.name = "baseline",
     .type = KEY_TEXT,
     .offset = FIELD(baseline),
     .meta = "CELL",
     .help = "The cell others are compared with, as \"cpus=node:0 cq=balanced\"; axes not named "
             "take their first value."},
    {.name = "warmup",
     .type = KEY_COUNT,
     .offset = FIELD(warmup),
     .def = "1",
     .max = 100,
     .meta = "N",
     .help = "Runs of the baseline after each boot that are kept and not counted."},
    {.name = "boots",
     .type = KEY_COUNT,
     .offset = FIELD(boots),
     .def = "1",
     .min = 1,
     .max = 1000,
     .meta = "N",
     .help = "Divide the repeats over this many boots: memory layout changes with each. After "
             "each share the program asks for a reboot and the same command."},
    {.name = "tries",
     .type = KEY_COUNT,
     .offset = FIELD(tries),
     .def = "3",
     .min = 1,
     .max = 100,
     .meta = "N",
     .help = "How often a run that comes out invalid is run in one go; each is kept, only a valid "
             "one is counted."},
    {.name = "remount",
     .type = KEY_TEXT,
     .offset = FIELD(remount),
     .def = "none",
     .words = remount_words,
     .meta = "WORD",
     .help = "Unmount and mount the NFS of 'path' anew before each cell or block: the kernel picks "
             "completion vectors at mount. Needs root."},
    {.name = "pause",
     .type = KEY_TIME,
     .offset = FIELD(pause_ns),
     .def = "1s",
     .max = 600 * MINUTE,
     .meta = "TIME",
     .help = "Between runs, before the machine is looked at."},
    {.name = "settle-max",
     .type = KEY_TIME,
     .offset = FIELD(settle_max_ns),
     .def = "30s",
     .max = 600 * MINUTE,
     .meta = "TIME",
     .help = "Wait so long at most until idle share and interrupt rate are back at the level "
             "before the first run; 0: do not look."},
    {.name = "settle-idle",
     .type = KEY_COUNT,
     .offset = FIELD(settle_idle_points),
     .def = "5",
     .max = 100,
     .meta = "N",
     .help = "Back means: idle at most so many percentage points lower."},
    {.name = "settle-interrupts",
     .type = KEY_COUNT,
     .offset = FIELD(settle_interrupts_percent),
     .def = "50",
     .max = 1000000,
     .meta = "N",
     .help = "Back means: interrupts per second at most so many percent higher, and 100 more."},
    {.name = "dry-run",
     .type = KEY_BOOL,
     .offset = FIELD(dry_run),
     .def = "false",
     .help = "Print the plan and the time it takes, and stop."},
    {.name = "new-series",
     .type = KEY_BOOL,
     .offset = FIELD(new_series),
     .def = "false",
     .help = "Set the series in the folder aside, as DIR.old-N, and begin a new one."},
    {.name = NULL},
};

static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if ((*a == '_' ? '-' : *a) != (*b == '_' ? '-' : *b))
            return false;
    return *a == *b;
}

const struct key *matrix_key(const char *name)
{
    for (const struct key *k = matrix_keys; k->name; k++)
        if (same_name(k->name, name))
            return k;
    return NULL;
}

bool settings_init(struct matrix_settings *s, struct err *err)
{
    *s = (struct matrix_settings){0};
    for (const struct key *k = matrix_keys; k->name; k++)
        if (k->def && !key_set(s, k, k->def, err))
            return false;
    return true;
}

void settings_free(struct matrix_settings *s)
{
    for (const struct key *k = matrix_keys; k->name; k++)
        if (k->type == KEY_TEXT)
            free(*(char **)((char *)s + k->offset));
    *s = (struct matrix_settings){0};
}

bool settings_from_profile(struct matrix_settings *s, const struct profile *p, struct err *err)
{
    const struct key *seen[sizeof(matrix_keys) / sizeof(*matrix_keys)] = {0};
    for (size_t i = 0; i < p->lines_n; i++) {
        const struct profile_line *l = &p->lines[i];
        const struct key *k = matrix_key(l->name);
        if (strcmp(l->section, "matrix") != 0 || !k)
            continue;
        if (k->type == KEY_BOOL)
            return err_set(err, STATUS_USAGE, "%s:%u: %s is an option of the command line only",
                           p->file, l->line, k->name);
        if (seen[k - matrix_keys])
            return err_set(err, STATUS_USAGE, "%s:%u: %s is given twice", p->file, l->line,
                           k->name);
        seen[k - matrix_keys] = k;
        if (!key_set(s, k, l->value, err))
            return err_prefix(err, "%s:%u: %s", p->file, l->line, k->name);
    }
    return true;
}

/* "--name" or "--name=value": the name, without dashes; false when arg is no such thing. */
static bool option_name(const char *arg, char *name, size_t cap, const char **value)
{
    if (strncmp(arg, "--", 2) != 0)
        return false;
    const char *equals = strchr(arg, '=');
    size_t len = equals ? (size_t)(equals - arg - 2) : strlen(arg + 2);
    if (len >= cap)
        return false;
    memcpy(name, arg + 2, len);
    name[len] = '\0';
    *value = equals ? equals + 1 : NULL;
    return true;
}

bool settings_from_options(struct matrix_settings *s, int argc, char **argv, char **rest,
                           int *rest_n, struct err *err)
{
    int n = 0;
    for (int i = 0; i < argc; i++) {
        char name[80];
        const char *value;
        bool ignored;
        bool option = i > 0 && option_name(argv[i], name, sizeof(name), &value);
        const struct key *mine = option ? matrix_key(name) : NULL;
        const struct key *other = option && !mine ? profile_key(name) : NULL;
        if (!mine) {
            rest[n++] = argv[i];
            /* The value of an option is no option of ours, whatever it looks like. */
            if (other && !value && other->type != KEY_BOOL && i + 1 < argc)
                rest[n++] = argv[++i];
            continue;
        }
        if (!value && mine->type == KEY_BOOL &&
            (i + 1 >= argc || !parse_bool(argv[i + 1], &ignored, NULL)))
            value = "yes";
        else if (!value && i + 1 < argc)
            value = argv[++i];
        if (!value)
            return err_set(err, STATUS_USAGE, "--%s needs a value (%s)", mine->name, mine->meta);
        if (!key_set(s, mine, value, err))
            return err_prefix(err, "--%s", mine->name);
    }
    rest[n] = NULL;
    *rest_n = n;
    return true;
}
