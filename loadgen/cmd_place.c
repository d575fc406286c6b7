#include "args.h"
#include "asking.h"
#include "cmd.h"
#include "place_exec.h"
#include "record/record.h"
#include "run/live.h"

#include "../placement/sysroot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "numaload-placement"
#define SCHEMA_VERSION 1

struct order {
    struct profile profile;
    const char *word; /* show, apply, exec */
    char **command;   /* of exec */
    bool dry_run, help;
    const char *run_dir;
};

static void help(void)
{
    puts("usage: numaload place show    [PLACEMENT] [--json] [--sysroot DIR]\n"
         "       numaload place apply   [PLACEMENT] [--dry-run] [--json] [--sysroot DIR]\n"
         "       numaload place exec    [PLACEMENT] [--record FILE] -- COMMAND [ARG ...]\n"
         "       numaload place restore [--force]\n\n"
         "show says where things are now; apply moves what belongs to the machine and leaves\n"
         "it so, for use beside any other tool, until restore; exec runs a command in a\n"
         "placement, says where it and its interrupts really ran, and puts everything back.\n\n"
         "PLACEMENT: --cpus WORD --mem WORD --cq WORD --device NAME --unbound WORD --rps WORD\n"
         "--wq-scope WORD --path FILE (finds the device behind it)\n"
         "--numa-balancing off --irqbalance WORD --strict --min-share-percent N\n"
         "--allow-partial, as in 'numaload run --help'; a profile can be given as well.\n"
         "--dry-run prints each write that would be made. --run-dir DIR is for the journal\n"
         "(/run/numaload).\n\n"
         "Exit status: 0 done; 1 failed; 2 usage. That of exec: the command's, 128+N when\n"
         "signal N ended it; 3 when it succeeded but the placement was not reached.");
}

static json_t *document(const char *word)
{
    return json_pack("{s:s, s:i, s:s}", "schema", SCHEMA, "schema_version", SCHEMA_VERSION, "word",
                     word);
}

static const char *text_in(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s && *s ? s : "-";
}

/* ---- output for people ---- */

static void print_vectors(FILE *out, const json_t *lever)
{
    size_t i;
    json_t *v;
    json_array_foreach(json_object_get(json_object_get(lever, "detail"), "vectors"), i, v)
    {
        const char *refused = json_string_value(json_object_get(v, "refused"));
        fprintf(out, "  %5lld  CPUs %-8s fires on %-6s %10lld  %s%s%s\n",
                (long long)json_integer_value(json_object_get(v, "irq")), text_in(v, "cpus_at_to"),
                text_in(v, "effective_at_to"),
                (long long)json_integer_value(json_object_get(v, "interrupts")), text_in(v, "name"),
                refused ? ": " : "", refused ? refused : "");
    }
}

static void print_levers(FILE *out, const json_t *levers)
{
    size_t i;
    json_t *l;
    fprintf(out, "%-15s %-12s %-7s %s\n", "lever", "asked", "reached", "observed");
    json_array_foreach(levers, i, l)
    {
        const json_t *reached = json_object_get(l, "reached");
        if (strncmp(text_in(l, "reason"), "not needed", 10) == 0)
            continue;
        fprintf(out, "%-15s %-12s %-7s %s\n", text_in(l, "lever"), text_in(l, "asked"),
                json_is_true(reached)    ? "yes"
                : json_is_false(reached) ? "NO"
                                         : "-",
                text_in(l, "observed"));
        if (!json_is_true(reached) && strcmp(text_in(l, "reason"), "not asked for") != 0)
            fprintf(out, "%15s %s\n", "", text_in(l, "reason"));
        print_vectors(out, l);
    }
}

static void add_write(void *ctx, const char *path, const char *now, const char *want)
{
    json_array_append_new(ctx, json_pack("{s:s, s:s#, s:s#}", "path", path, "now", now,
                                         (int)strcspn(now, "\n"), "write", want,
                                         (int)strcspn(want, "\n")));
}

static void print_writes(const json_t *writes)
{
    size_t i;
    json_t *w;
    json_array_foreach(writes, i, w)
        printf("%s: %s -> %s\n", text_in(w, "path"), text_in(w, "now"), text_in(w, "write"));
    if (!json_array_size(writes))
        puts("nothing would be written");
}

/* What apply cannot do for a process that does not exist yet. */
static void print_thread_advice(const struct place *p)
{
    hwloc_const_bitmap_t cpus = place_thread_cpus(p, 0);
    int node = place_thread_mem_node(p, 0);
    char *list = cpus ? set_format(cpus) : NULL;
    if (list)
        printf("the CPUs asked for are %s: start your command with 'taskset -c %s', or use 'place "
               "exec'\n",
               list, list);
    if (node >= 0)
        printf("the memory asked for is node %d: 'numactl --membind=%d', or use 'place exec'\n",
               node, node);
    free(list);
}

/* ---- the words ---- */

static bool show(struct place *p, const struct order *o, json_t *doc)
{
    json_t *levers = json_array();
    json_object_set_new(doc, "levers", levers);
    place_edge(p, 0);
    place_observe(p, NULL, 0, 0, 0, levers);
    if (!o->profile.json)
        print_levers(stdout, levers);
    return true;
}

static bool apply(struct place *p, const struct order *o, json_t *doc, struct err *err)
{
    json_t *writes = json_array(), *l;
    json_object_set_new(doc, "writes", writes);
    place_each_write(p, add_write, writes);
    json_object_set_new(doc, "dry_run", json_boolean(o->dry_run));
    if (o->dry_run) {
        if (!o->profile.json)
            print_writes(writes);
        return true;
    }
    if (!place_apply(p, err))
        return false;
    json_t *levers = json_array();
    json_object_set_new(doc, "levers", levers);
    place_edge(p, 0);
    place_observe(p, NULL, 0, 0, 0, levers);
    if (!place_keep(p, err))
        return false;
    size_t i;
    json_array_foreach(levers, i, l)
    {
        if (o->profile.json || !json_is_string(json_object_get(l, "applied")))
            continue;
        printf("%s: %s\n", text_in(l, "lever"), text_in(l, "applied"));
        print_vectors(stdout, l);
    }
    if (!o->profile.json) {
        print_thread_advice(p);
        puts("'numaload restore' puts it back");
    }
    return true;
}

static bool exec(struct place *p, const struct topo *t, const struct order *o, json_t *doc,
                 int *status, struct err *err)
{
    json_t *levers = json_array(), *command = json_array();
    json_object_set_new(doc, "levers", levers);
    json_object_set_new(doc, "command", command);
    for (char **a = o->command; *a; a++) {
        json_t *s = json_string(*a);
        json_array_append_new(command, s ? s : json_string("(not UTF-8)"));
    }
    uint64_t *hits = calloc(t->cpus_n, sizeof(*hits));
    if (!hits)
        return err_set(err, STATUS_FAILED, "out of memory");
    bool ok = place_apply(p, err) && place_exec(p, o->command, hits, t->cpus_n, status, err);
    if (ok) {
        const struct place_thread_seen seen = {.cpu_hits = hits};
        bool reached = place_observe(p, &seen, 1, 0, 1, levers);
        json_object_set_new(doc, "command_exit_status", json_integer(*status));
        print_levers(stderr, levers);
        if (!reached && *status == 0)
            *status = STATUS_INVALID;
    }
    free(hits);
    struct err left;
    if (!place_restore(p, &left))
        live_say("warning: %s", left.text);
    if (ok && o->profile.record) {
        json_object_set_new(doc, "exit_status", json_integer(*status));
        ok = record_write(doc, o->profile.record, err);
    }
    return ok;
}

/* ---- the command line ---- */

static bool is_flag(struct order *o, int argc, char **argv, int *i)
{
    if (strcmp(argv[*i], "--dry-run") == 0) {
        o->dry_run = true;
        return true;
    }
    if (strcmp(argv[*i], "--run-dir") == 0 && *i + 1 < argc) {
        o->run_dir = argv[++*i];
        return true;
    }
    return false;
}

static bool read_order(struct order *o, int argc, char **argv, struct err *err)
{
    static const char *const keys[] = {"cpus",
                                       "mem",
                                       "cq",
                                       "device",
                                       "path",
                                       "unbound",
                                       "rps",
                                       "numa-balancing",
                                       "wq-scope",
                                       "irqbalance",
                                       "strict",
                                       "record",
                                       "sysroot",
                                       "allow-partial",
                                       "min-share-percent",
                                       "json",
                                       NULL};
    int n = 1;
    char **rest = calloc((size_t)argc + 1, sizeof(*rest));
    if (!rest)
        return err_set(err, STATUS_FAILED, "out of memory");
    rest[0] = argv[0];
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            o->command = argv + i + 1;
            break;
        }
        if (!is_flag(o, argc, argv, &i))
            rest[n++] = argv[i];
    }
    bool ok = args_read(&o->profile, n, rest, keys, &o->help, err);
    free(rest);
    if (!ok || o->help)
        return ok;
    bool wants_command = strcmp(o->word, "exec") == 0;
    if (wants_command && (!o->command || !*o->command))
        return err_set(err, STATUS_USAGE, "place exec needs a command after --");
    if (!wants_command && o->command)
        return err_set(err, STATUS_USAGE, "place %s takes no command; place exec does", o->word);
    if (wants_command && o->profile.json)
        return err_set(err, STATUS_USAGE, "stdout belongs to the command; use --record FILE");
    if (o->dry_run && strcmp(o->word, "apply") != 0)
        return err_set(err, STATUS_USAGE, "--dry-run belongs to place apply");
    return sysroot_set(o->profile.sysroot) ||
           err_set(err, STATUS_USAGE, "--sysroot %s: %s", o->profile.sysroot, strerror(errno));
}

static bool carry_out(struct order *o, json_t *doc, int *status, struct err *err)
{
    struct topo *t = NULL;
    struct place *p = NULL;
    if ((o->profile.record && !record_writable(o->profile.record, err)) || !topo_load(&t, err))
        return false;
    struct place_ask ask = ask_of_profile(&o->profile, 1, 0);
    ask.journal_dir = o->run_dir;
    bool ok = place_plan(&p, t, &ask, err);
    if (ok && strcmp(o->word, "show") == 0)
        ok = show(p, o, doc);
    else if (ok && strcmp(o->word, "apply") == 0)
        ok = apply(p, o, doc, err);
    else if (ok)
        ok = exec(p, t, o, doc, status, err);
    place_free(p);
    topo_free(t);
    return ok;
}

int cmd_place(int argc, char **argv)
{
    struct order o = {.word = argc > 1 ? argv[1] : ""};
    struct err err = {0};
    int status = STATUS_OK;
    if (strcmp(o.word, "restore") == 0)
        return cmd_restore(argc - 1, argv + 1);
    if (strcmp(o.word, "--help") == 0 || strcmp(o.word, "-h") == 0) {
        help();
        return STATUS_OK;
    }
    if (strcmp(o.word, "show") != 0 && strcmp(o.word, "apply") != 0 &&
        strcmp(o.word, "exec") != 0) {
        live_say("error: 'numaload place' needs show, apply, exec or restore; --help says more");
        return STATUS_USAGE;
    }
    json_t *doc = document(o.word);
    bool ok = profile_init(&o.profile, &err) && read_order(&o, argc, argv, &err);
    if (ok && o.help)
        help();
    else if (ok)
        ok = carry_out(&o, doc, &status, &err);
    if (!ok) {
        live_say("error: %s", err.text);
        status = (int)err.status;
        json_object_set_new(doc, "error", json_string(err.text));
    }
    if (o.profile.json && !o.help) {
        json_object_set_new(doc, "exit_status", json_integer(status));
        json_dumpf(doc, stdout, JSON_INDENT(2));
        puts("");
    }
    json_decref(doc);
    profile_free(&o.profile);
    return status;
}
