#include "check.h"

#include "../asking.h"
#include "../record/hostfacts.h"
#include "../record/jsontext.h"
#include "../run/expand.h"
#include "procself.h"

#include "../../placement/sysroot.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCHEMA "numaload-check"
#define SCHEMA_VERSION 1
#define COLUMNS 72

static const struct {
    const char *name;
    void (*look)(struct look *l);
} checks[] = {
    {"file", check_file},
    {"mount", check_mount},
    {"placement", check_placement},
    {"engine", check_engine},
    {"memory", check_memory},
    {"memlock", check_memlock},
    {"open-files", check_open_files},
    {"processes", check_processes},
    {"journal", check_journal},
    {"user", check_user},
    {"samplers", check_samplers},
    {"kernel-debugging", check_debugging},
    {"irqbalance", check_irqbalance},
    {"numa-balancing", check_balancing},
    {"governor", check_governor},
    {"pages", check_pages},
};

static const char *const severities[SEVERITIES] = {
    [SEVERITY_NOTE] = "note",
    [SEVERITY_UNAVAILABLE] = "unavailable",
    [SEVERITY_SPOILS] = "spoils",
    [SEVERITY_FAILS] = "fails",
};

const char *severity_name(enum severity s)
{
    return severities[s];
}

void found(struct look *l, enum severity s, const char *what_to_do, const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    json_array_append_new(l->findings, json_pack("{s:s, s:s, s:o, s:o}", "check", l->name,
                                                 "severity", severities[s], "found",
                                                 json_text(text), "do", json_text(what_to_do)));
}

static bool is(const json_t *finding, const char *key, const char *value)
{
    const char *text = json_string_value(json_object_get(finding, key));
    return text && strcmp(text, value) == 0;
}

/* The findings by severity, gravest first, otherwise in the order of the table. */
static void conclude(json_t *doc, const json_t *findings, json_t *in_order)
{
    json_t *sorted = json_array(), *counts = json_object(), *f;
    size_t i;
    for (int s = SEVERITY_FAILS; s >= 0; s--) {
        size_t before = json_array_size(sorted);
        json_array_foreach(findings, i, f) if (is(f, "severity", severities[s]))
            json_array_append(sorted, f);
        json_object_set_new(counts, severities[s],
                            json_integer((json_int_t)(json_array_size(sorted) - before)));
    }
    json_object_set_new(doc, "counts", counts);
    json_object_set_new(doc, "findings", sorted);
    json_object_set_new(doc, "in_order", in_order);
    json_object_set_new(doc, "exit_status", json_integer(check_status(doc)));
}

static void run_checks(struct look *l, json_t *in_order)
{
    for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
        size_t before = json_array_size(l->findings);
        l->name = checks[i].name;
        checks[i].look(l);
        if (json_array_size(l->findings) == before)
            json_array_append_new(in_order, json_string(l->name));
    }
}

char *check_place_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!sysroot_live() || access(path, F_OK) == 0)
        return strdup(path);
    return slash == path ? strdup("/")
           : slash       ? strndup(path, (size_t)(slash - path))
                         : strdup(".");
}

static bool take_first(const char *path, void *arg)
{
    *(char **)arg = check_place_of(path);
    return false; /* the others are not asked for */
}

bool check_all(const struct profile *p, json_t **document, struct err *err)
{
    struct topo *topo = NULL;
    json_t *notes = json_array(), *in_order = json_array();
    struct look l = {.profile = p, .findings = json_array()};
    bool ok = false;
    if (!sysroot_set(p->sysroot)) {
        err_set(err, STATUS_USAGE, "--sysroot %s: %s", p->sysroot, strerror(errno));
        goto out;
    }
    if (!topo_load(&topo, err))
        goto out;
    l.topo = topo;
    l.engine = engine_find(p->engine, NULL);
    l.iodepth = strcmp(p->engine, "sync") == 0 ? 1 : p->iodepth;
    l.bytes_per_thread = l.iodepth * p->block_bytes;
    if (__builtin_mul_overflow(l.bytes_per_thread, p->threads, &l.bytes))
        l.bytes = UINT64_MAX;
    procself_read(&l.uid, &l.capabilities);
    json_t *host = hostfacts_read(topo, notes);
    l.host = host;
    struct place_ask ask = ask_of_profile(p, (unsigned)p->threads, l.bytes_per_thread);
    struct err ignored; /* check_file will say it */
    if (!l.engine || !l.engine->locate) {
        expand_files(profile_path(p), take_first, &l.first, &ignored);
        ask.path = l.first ? l.first : ask.path;
    }
    ask.own_cqs = l.engine && l.engine->own_cqs;
    if (!place_plan(&l.place, topo, &ask, &l.place_err)) {
        place_free(l.place);
        l.place = NULL;
    }
    run_checks(&l, in_order);

    *document = json_pack("{s:s, s:i, s:s?, s:o, s:o}", "schema", SCHEMA, "schema_version",
                          SCHEMA_VERSION, "sysroot", sysroot_live() ? NULL : sysroot_get(),
                          "profile", profile_json(p), "host", host);
    ok = *document || err_set(err, STATUS_FAILED, "out of memory");
    if (ok)
        conclude(*document, l.findings, json_incref(in_order));
out:
    target_free(&l.target);
    free(l.first);
    place_free(l.place);
    topo_free(topo);
    json_decref(l.findings);
    json_decref(in_order);
    json_decref(notes);
    return ok;
}

enum status check_status(const json_t *document)
{
    const json_t *counts = json_object_get(document, "counts");
    if (json_integer_value(json_object_get(counts, severities[SEVERITY_FAILS])))
        return STATUS_FAILED;
    if (json_integer_value(json_object_get(counts, severities[SEVERITY_SPOILS])))
        return STATUS_INVALID;
    return STATUS_OK;
}

/* ---- for people ---- */

/* `first` begins the text, `indent` blanks each line after it. */
static void print_wrapped(const char *first, int indent, const char *text)
{
    int column = printf("%s", first);
    while (*text) {
        int len = (int)strcspn(text, " ");
        if (column > indent && column + len > COLUMNS) {
            printf("\n%*s", indent, "");
            column = indent;
        }
        column += printf("%.*s", len, text);
        text += len;
        size_t blanks = strspn(text, " ");
        text += blanks;
        if (blanks && *text && column + 1 + (int)strcspn(text, " ") <= COLUMNS)
            column += printf(" ");
        else if (blanks && *text) {
            printf("\n%*s", indent, "");
            column = indent;
        }
    }
    puts("");
}

static void print_findings(const json_t *doc, enum severity s)
{
    static const char *const titles[SEVERITIES] = {
        [SEVERITY_NOTE] = "Worth knowing",
        [SEVERITY_UNAVAILABLE] = "Figures that will be unavailable",
        [SEVERITY_SPOILS] = "Would spoil the figures",
        [SEVERITY_FAILS] = "Would fail",
    };
    size_t i;
    json_t *f;
    bool any = false;
    json_array_foreach(json_object_get(doc, "findings"), i, f)
    {
        if (!is(f, "severity", severities[s]))
            continue;
        if (!any)
            printf("%s\n", titles[s]);
        any = true;
        char first[32];
        snprintf(first, sizeof(first), "  %s: ", json_string_value(json_object_get(f, "check")));
        print_wrapped(first, 4, json_string_value(json_object_get(f, "found")));
        const char *what = json_string_value(json_object_get(f, "do"));
        if (what)
            print_wrapped("    -> ", 7, what);
    }
    if (any)
        puts("");
}

void check_print(const json_t *document)
{
    for (int s = SEVERITY_FAILS; s >= 0; s--)
        print_findings(document, (enum severity)s);
    char names[512] = "";
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(document, "in_order"), i, name)
    {
        size_t used = strlen(names);
        snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
                 json_string_value(name));
    }
    if (*names)
        print_wrapped("In order: ", 10, names);
    switch (check_status(document)) {
    case STATUS_OK:
        puts("Nothing is in the way.");
        break;
    case STATUS_INVALID:
        puts("The run would work, but its figures would be coloured.");
        break;
    default:
        puts("The run would fail.");
    }
}
