#include "args.h"
#include "asking.h"
#include "cmd.h"
#include "engine/engine.h"
#include "matrix/outcome.h"
#include "matrix/runner.h"
#include "matrix/series.h"
#include "run/live.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* This boot's share is done: the same command goes on after a reboot. */
enum { STATUS_REBOOT = 4 };

static void help(void)
{
    puts("usage: numaload matrix PROFILE [--key value ...]\n\n"
         "Runs every combination of the values that [matrix] of the profile lists, in an\n"
         "order that can be trusted, into a folder: the plan, one record a run, a log. The\n"
         "same command goes on with what is missing, after an interrupt, a crash or a\n"
         "reboot, and ends with the report of the folder.\n\n"
         "    [matrix]\n"
         "    cpus = unpinned, node:0, \"cpus:0,2\"   any key of the profile is an axis\n"
         "    cq = balanced, node:1\n"
         "    exclude = cpus=unpinned cq=node:1     cells that are not run\n"
         "    repeats = 5                           and the keys below\n"
         "    [expect]\n"
         "    cost = median(bytes_per_s, cpus=node:0 cq=node:1) < 40e9\n\n"
         "Keys of [matrix], and options:");
    keys_help(stdout, matrix_keys);
    puts("\nKeys of the profile are options too, see 'numaload run --help'.\n"
         "Exit status: 0 done, and every expectation is reproduced; 1 one is not, or the\n"
         "matrix stopped; 2 usage; 3 interrupted, or runs are missing because they came out\n"
         "invalid; 4 reboot and run the same command; 125 an expectation is undecided.");
}

struct command_line {
    int argc;
    char **argv;
    const struct plan *plan;
};

/* What all cells share. */
static bool shared_profile(const struct command_line *line, struct profile *p, bool *want_help,
                           struct err *err)
{
    if (!profile_init(p, err) || !args_read(p, line->argc, line->argv, NULL, want_help, err))
        return false;
    if (*want_help)
        return true;
    if (!p->file)
        return err_set(err, STATUS_USAGE,
                       "no profile: numaload matrix needs a file with a [matrix] section");
    if (p->record)
        return err_set(err, STATUS_USAGE,
                       "record: a matrix writes its records into its folder; use --folder");
    return true;
}

static bool profile_of_cell(void *arg, unsigned cell, struct profile *p, struct err *err)
{
    const struct command_line *line = arg;
    char name[512];
    bool ignored = false;
    if (!shared_profile(line, p, &ignored, err) || !cell_apply(&line->plan->cells, cell, p, err))
        return false;
    if (strcmp(p->engine, "sync") == 0)
        p->iodepth = 1;
    return profile_check(p, err) ||
           err_prefix(err, "cell %s", cell_text(&line->plan->cells, cell, name, sizeof(name)));
}

static bool check_axes(const struct plan *plan, const struct profile *p, struct err *err)
{
    for (unsigned a = 0; a < plan->cells.axes_n; a++) {
        const struct axis *axis = &plan->cells.axes[a];
        if (p->origin[axis->key - profile_keys].cli)
            return err_set(
                err, STATUS_USAGE,
                "--%s is an axis (%s:%u): take it out of the command line or of [matrix]",
                axis->key->name, p->file, axis->line);
        if (axis->values_n == 1)
            live_say("note: %s:%u: the axis %s has one value: nothing is compared along it",
                     p->file, axis->line, axis->key->name);
    }
    return true;
}

/* A refused placement begins with "cpus = node:7: ...": where that key was set is put before it. */
static void blame_key(const struct profile *p, struct err *err)
{
    for (const struct key *k = profile_keys; k->name; k++) {
        size_t n = strlen(k->name);
        const struct origin *o = &p->origin[k - profile_keys];
        if (strncmp(err->text, k->name, n) == 0 && strncmp(err->text + n, " = ", 3) == 0 && o->file)
            err_prefix(err, "%s:%u", o->file, o->line);
    }
}

/* What a run would find out first: words that this machine cannot give. */
static bool can_be_placed(const struct topo *topo, const struct profile *p, struct err *err)
{
    struct place *place = NULL;
    const struct engine_ops *engine = engine_find(p->engine, err);
    if (!engine)
        return false;
    /* Names of ranges of files, and files that a run makes: their device is the run's to find. */
    if (!engine->locate && access(profile_path(p), F_OK) != 0)
        return true;
    struct place_ask ask = ask_of_profile(p, (unsigned)p->threads, p->iodepth * p->block_bytes);
    ask.own_cqs = engine->own_cqs;
    if (engine->locate)
        ask.path = NULL;
    bool good = place_plan(&place, topo, &ask, err);
    place_free(place);
    return good;
}

/* A plan may be drawn up on another machine: then what this one cannot give is a warning. */
static bool check_cell(struct command_line *line, const struct topo *topo, unsigned cell,
                       bool dry_run, struct err *err)
{
    struct profile p;
    char name[512];
    bool made = profile_of_cell(line, cell, &p, err);
    bool good = made && can_be_placed(topo, &p, err);
    if (made && !good) {
        blame_key(&p, err);
        err_prefix(err, "cell %s", cell_text(&line->plan->cells, cell, name, sizeof(name)));
        if (dry_run)
            live_say("warning: %s", err->text);
        good = dry_run;
    }
    profile_free(&p);
    return good;
}

/* All cells are looked at before the first is run. */
static bool check_cells(struct command_line *line, bool dry_run, struct err *err)
{
    struct topo *topo = NULL;
    bool good = topo_load(&topo, err);
    for (unsigned c = 0; good && c < line->plan->cells.n; c++)
        good = check_cell(line, topo, c, dry_run, err);
    topo_free(topo);
    return good;
}

static bool folder_name(const struct matrix_settings *s, const struct profile *p, char *buf,
                        size_t cap, struct err *err)
{
    size_t n = strlen(p->file);
    if (n > 4 && strcmp(p->file + n - 4, ".ini") == 0)
        n -= 4;
    int len = s->folder ? snprintf(buf, cap, "%s", s->folder)
                        : snprintf(buf, cap, "%.*s.matrix", (int)n, p->file);
    return (len > 0 && (size_t)len < cap) ||
           err_set(err, STATUS_USAGE, "the folder's path is too long");
}

static void print_order(FILE *out, const struct plan *plan)
{
    fprintf(out, "\norder (seed %llu)\n", (unsigned long long)plan->seed);
    for (unsigned i = 0; i < plan->runs_n && !plan->runs[i].optional; i++) {
        const struct planned_run *r = &plan->runs[i];
        char cell[512];
        fprintf(out, "%5u  boot %u  block %-3u %s\n", r->run, r->boot, r->block,
                cell_text(&plan->cells, r->cell, cell, sizeof(cell)));
    }
}

static void print_plan(FILE *out, const struct plan *plan, const char *folder, uint64_t ns)
{
    const struct matrix_settings *s = plan->settings;
    char cell[512], about[32];
    fprintf(out, "%u cells x %llu repeats = %llu runs, %llu warm-up%s a boot, %llu boot%s\n",
            plan->cells.n, (unsigned long long)s->repeats,
            (unsigned long long)s->repeats * plan->cells.n, (unsigned long long)s->warmup,
            s->warmup == 1 ? "" : "s", (unsigned long long)s->boots, s->boots == 1 ? "" : "s");
    for (unsigned c = 0; c < plan->cells.n; c++)
        fprintf(out, "  %s%s\n", cell_text(&plan->cells, c, cell, sizeof(cell)),
                c == plan->baseline ? "   (baseline)" : "");
    fprintf(out, "order    %s\n", s->order);
    if (plan->precision > 0)
        fprintf(out, "goes on  until every interval is within %g %%, at most %u repeats\n",
                plan->precision * 100, plan->repeats_max);
    fprintf(out, "folder   %s\n", folder);
    fprintf(out, "time     %s at least: ramps, windows and pauses\n",
            format_about(ns, about, sizeof(about)));
}

/* The order is shown when it is known: a seed that is given, or the one of the folder's series. */
static bool dry_run(struct command_line *line, struct plan *plan, const char *folder,
                    struct err *err)
{
    json_t *was = NULL;
    uint64_t ns, seed = plan->settings->order_seed;
    if (!seed && series_peek(folder, &was))
        seed = (uint64_t)json_integer_value(json_object_get(was, "seed"));
    json_decref(was);
    bool known = seed || strcmp(plan->settings->order, "blocks") != 0;
    if (!plan_order(plan, seed, err) ||
        !matrix_planned_ns(plan, NULL, profile_of_cell, line, &ns, err))
        return false;
    print_plan(stdout, plan, folder, ns);
    if (known)
        print_order(stdout, plan);
    else
        puts("\nThe order is drawn when the matrix begins; --order-seed fixes it.");
    return true;
}

static int failed(const struct err *err, bool json)
{
    live_say("error: %s", err->text);
    if (json)
        outcome_print_error(err);
    return err->status == STATUS_OK ? STATUS_FAILED : (int)err->status;
}

/* The report of the folder, on stdout; its exit status answers the statements of [expect]. */
static int report(const struct plan *plan, const char *folder, bool json)
{
    static char word[] = "report", check[] = "--check", format[] = "--format=json";
    char *argv[5] = {word, (char *)folder};
    int argc = 2;
    if (json_array_size(plan->expect))
        argv[argc++] = check;
    if (json)
        argv[argc++] = format;
    fflush(stderr);
    return cmd_report(argc, argv);
}

/* What stderr says about the end, and with --json stdout too. */
static int ended(const struct series *s, bool json, int status, const char *next)
{
    live_say("%u of %u runs are in \"%s\"; %s", s->counted - s->counted_optional, s->runs_wanted,
             s->folder, next);
    if (json)
        outcome_print(s, status, next);
    return status;
}

static int finish(enum matrix_end end, const struct plan *plan, const struct series *s, bool json,
                  const struct err *err)
{
    switch (end) {
    case MATRIX_DONE:
        return report(plan, s->folder, json);
    case MATRIX_GAPS:
        live_say("error: runs are missing: they came out invalid each time; see the log in \"%s\". "
                 "The same command tries them again",
                 s->folder);
        report(plan, s->folder, json);
        return STATUS_INVALID;
    case MATRIX_INTERRUPTED:
        return ended(s, json, STATUS_INVALID, "interrupted: the same command goes on");
    case MATRIX_REBOOT:
        return ended(s, json, STATUS_REBOOT,
                     "this boot's share is done: reboot and run the same command");
    case MATRIX_STOPPED:
        break;
    }
    return failed(err, json);
}

static int run_series(struct command_line *line, struct plan *plan, const struct profile *shared,
                      const char *folder, struct err *err)
{
    struct series s;
    struct profile first;
    uint64_t ns;
    int status = 0;
    bool good = profile_of_cell(line, 0, &first, err) && series_open(&s, folder, plan, &first, err);
    profile_free(&first);
    if (good && matrix_planned_ns(plan, &s, profile_of_cell, line, &ns, err)) {
        s.runs_wanted = (unsigned)plan->settings->repeats * plan->cells.n;
        print_plan(stderr, plan, folder, ns);
        if (s.counted)
            live_say("%u runs are there already", s.counted);
        enum matrix_end end = matrix_run(plan, &s, profile_of_cell, line, err);
        status = finish(end, plan, &s, shared->json, err);
    } else {
        status = failed(err, shared->json);
    }
    series_close(&s);
    return status;
}

int cmd_matrix(int argc, char **argv)
{
    struct err err = {0};
    struct matrix_settings settings = {0};
    struct profile shared = {0};
    struct plan plan = {0};
    char folder[PATH_MAX];
    bool want_help = false;
    int status = 0;
    char **rest = calloc((size_t)argc + 1, sizeof(*rest));
    struct command_line line = {.argv = rest, .plan = &plan};
    bool good = rest && settings_init(&settings, &err) &&
                settings_from_options(&settings, argc, argv, rest, &line.argc, &err) &&
                shared_profile(&line, &shared, &want_help, &err);
    if (good && want_help) {
        help();
        goto out;
    }
    /* The options again, over what the profile says. */
    good = good && settings_from_profile(&settings, &shared, &err) &&
           settings_from_options(&settings, argc, argv, rest, &line.argc, &err) &&
           plan_make(&plan, &shared, &settings, &err) && check_axes(&plan, &shared, &err) &&
           check_cells(&line, settings.dry_run, &err) &&
           folder_name(&settings, &shared, folder, sizeof(folder), &err);
    if (good && settings.dry_run)
        good = dry_run(&line, &plan, folder, &err);
    else if (good)
        status = run_series(&line, &plan, &shared, folder, &err);
    if (!good)
        status = failed(&err, args_want_json(argc, argv));
out:
    plan_free(&plan);
    profile_free(&shared);
    settings_free(&settings);
    free(rest);
    return status;
}
