#define _GNU_SOURCE
#include "study_cells.h"
#include "text.h"
#include "view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define AXES_MAX 8
#define RATE_MAX 1e15    /* bytes per second; more is no measurement */
#define RESENT_MAX 0.001 /* share of READs that were sent again */

/* Numbers names in the order in which they come; -1 when memory is out. */
static json_int_t number_of(json_t *names, const char *name)
{
    const json_t *known = json_object_get(names, name);
    if (known)
        return json_integer_value(known);
    json_int_t next = (json_int_t)json_object_size(names);
    return json_object_set_new_nocheck(names, name, json_integer(next)) ? -1 : next;
}

/* A key of a profile as a text; false for what is no axis. */
static bool key_text(const json_t *value, char *buf, size_t cap)
{
    if (json_is_string(value))
        snprintf(buf, cap, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(buf, cap, "%lld", (long long)json_integer_value(value));
    else if (json_is_boolean(value))
        snprintf(buf, cap, "%s", json_is_true(value) ? "yes" : "no");
    else
        return false;
    return true;
}

/* What tells runs apart but is no part of the load: names, files, and how much was measured. */
static bool no_axis(const char *key)
{
    static const char *const names[] = {"label", "record", "json",    "path",   "paths",
                                        "salt",  "file",   "windows", "device", "sysroot"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(key, names[i]) == 0)
            return true;
    return false;
}

static bool differs(const json_t *const *records, size_t n, const char *key)
{
    const json_t *first = json_object_get(json_object_get(records[0], "profile"), key);
    for (size_t i = 1; i < n; i++) {
        const json_t *other = json_object_get(json_object_get(records[i], "profile"), key);
        if (first != other && !(first && other && json_equal(first, other)))
            return true;
    }
    return false;
}

/* The texts of a run on the axes, as one name. */
static void place_name(const struct study *s, const json_t *record, size_t skip, char *buf,
                       size_t cap)
{
    size_t len = 0;
    buf[0] = '\0';
    for (size_t a = 0; a < s->axes_n && len + 1 < cap; a++) {
        char text[160] = "default";
        if (a == skip)
            continue;
        if (s->plan)
            snprintf(text, sizeof(text), "%s",
                     view_text(json_object_get(json_object_get(record, "matrix"), "cell"),
                               s->keys[a], "?"));
        else
            key_text(json_object_get(json_object_get(record, "profile"), s->keys[a]), text,
                     sizeof(text));
        len += (size_t)snprintf(buf + len, cap - len, "%s\x1f", text);
    }
}

static size_t different_places(const struct study *s, const json_t *const *records, size_t skip)
{
    json_t *names = json_object();
    char name[1400];
    for (size_t i = 0; i < s->n; i++) {
        place_name(s, records[i], skip, name, sizeof(name));
        number_of(names, name);
    }
    size_t n = json_object_size(names);
    json_decref(names);
    return n;
}

/* An axis that follows from the others (mem, where it goes with cpus) says nothing new. */
static void drop_followers(struct study *s, const json_t *const *records)
{
    size_t all = different_places(s, records, SIZE_MAX);
    for (size_t a = s->axes_n; a-- > 0 && s->axes_n > 1;) {
        if (different_places(s, records, a) != all)
            continue;
        free(s->keys[a]);
        memmove(&s->keys[a], &s->keys[a + 1], (s->axes_n - a - 1) * sizeof(*s->keys));
        s->axes_n--;
    }
}

static bool add_key(struct study *s, const char *key)
{
    s->keys[s->axes_n] = strdup(key);
    return s->keys[s->axes_n] && ++s->axes_n;
}

/* Placement first: it is what tables are read for. */
static bool axes_of_records(struct study *s, const json_t *const *records)
{
    static const char *const first[] = {"cpus", "cq", "unbound", "instrument"};
    s->keys = calloc(AXES_MAX + 1, sizeof(*s->keys));
    if (!s->keys)
        return false;
    for (size_t i = 0; s->n && i < 4; i++)
        if (differs(records, s->n, first[i]) && !add_key(s, first[i]))
            return false;
    const char *key;
    json_t *value;
    char text[160];
    json_object_foreach(s->n ? json_object_get(records[0], "profile") : NULL, key, value)
    {
        bool before = no_axis(key) || !key_text(value, text, sizeof(text));
        for (size_t a = 0; a < 4 && !before; a++)
            before = strcmp(first[a], key) == 0;
        if (!before && s->axes_n < AXES_MAX && differs(records, s->n, key) && !add_key(s, key))
            return false;
    }
    drop_followers(s, records);
    return true;
}

static bool add_cell(struct study *s, size_t cell, const char *const *texts)
{
    char **bigger = realloc(s->values, ((cell + 1) * s->axes_n + 1) * sizeof(*bigger));
    if (!bigger)
        return false;
    s->values = bigger;
    for (size_t a = 0; a < s->axes_n; a++)
        bigger[cell * s->axes_n + a] = NULL;
    s->cells_n = cell + 1;
    for (size_t a = 0; a < s->axes_n; a++)
        if (!(bigger[cell * s->axes_n + a] = strdup(texts[a])))
            return false;
    return true;
}

static bool cells_of_records(struct study *s, const json_t *const *records)
{
    json_t *names = json_object();
    bool ok = names && axes_of_records(s, records);
    for (size_t i = 0; ok && i < s->n; i++) {
        char name[1400], texts[AXES_MAX][160];
        const char *pointers[AXES_MAX] = {0};
        place_name(s, records[i], SIZE_MAX, name, sizeof(name));
        json_int_t cell = number_of(names, name);
        ok = cell >= 0;
        s->runs[i].cell = (size_t)cell;
        if (!ok || (size_t)cell < s->cells_n)
            continue;
        for (size_t a = 0; a < s->axes_n; a++) {
            snprintf(texts[a], sizeof(texts[a]), "default");
            key_text(json_object_get(json_object_get(records[i], "profile"), s->keys[a]), texts[a],
                     sizeof(texts[a]));
            pointers[a] = texts[a];
        }
        ok = add_cell(s, (size_t)cell, pointers);
    }
    json_decref(names);
    return ok;
}

static bool bad_plan(struct err *err, const char *what)
{
    return err_set(err, STATUS_FAILED, "plan.json is not the plan of a matrix: %s", what);
}

static bool cells_of_plan(struct study *s, struct err *err)
{
    const json_t *axes = json_object_get(s->plan, "axes"),
                 *cells = json_object_get(s->plan, "cells");
    s->keys = calloc(json_array_size(axes) + 1, sizeof(*s->keys));
    const char **texts = calloc(json_array_size(axes) + 1, sizeof(*texts));
    bool ok = s->keys && texts;
    if (!ok)
        err_set(err, STATUS_FAILED, "report: out of memory");
    for (size_t a = 0; ok && a < json_array_size(axes); a++) {
        const char *key = view_text(json_array_get(axes, a), "key", NULL);
        ok = key ? add_key(s, key) : bad_plan(err, "an axis has no key");
    }
    if (ok && json_array_size(cells) == 0)
        ok = bad_plan(err, "it has no cells");
    for (size_t i = 0; ok && i < json_array_size(cells); i++) {
        for (size_t a = 0; ok && a < s->axes_n; a++) {
            texts[a] = json_string_value(json_object_get(json_array_get(cells, i), s->keys[a]));
            ok = texts[a] || bad_plan(err, "a cell has no value for an axis");
        }
        ok = ok && add_cell(s, i, texts);
    }
    free(texts);
    return ok;
}

/* SIZE_MAX when the plan has no such cell. */
static size_t find_cell(const struct study *s, const json_t *cell)
{
    for (size_t i = 0; cell && i < s->cells_n; i++) {
        bool same = true;
        for (size_t a = 0; same && a < s->axes_n; a++) {
            const char *text = json_string_value(json_object_get(cell, s->keys[a]));
            same = text && strcmp(text, s->values[i * s->axes_n + a]) == 0;
        }
        if (same)
            return i;
    }
    return SIZE_MAX;
}

static double started(const json_t *record)
{
    struct tm tm = {0};
    if (!strptime(view_text(record, "started_at", ""), "%Y-%m-%dT%H:%M:%SZ", &tm))
        return NAN;
    return (double)timegm(&tm) / 3600;
}

struct names {
    json_t *boots, *mounts, *blocks;
};

static void place_run(struct study_run *r, struct names *names)
{
    const json_t *m = json_object_get(r->record, "matrix");
    json_int_t boot = 0, mount = 0, block = 0;
    char name[200];
    view_integer(m, "boot", &boot);
    view_integer(m, "mount", &mount);
    view_integer(m, "block", &block);
    const char *series = view_text(m, "series", "");
    const char *boot_id = view_text(r->record, "host.boot_id", NULL);
    if (boot_id)
        snprintf(name, sizeof(name), "%.90s", boot_id);
    else
        snprintf(name, sizeof(name), "%.60s boot %lld", series, (long long)boot);
    r->place.boot = (long)number_of(names->boots, name) + 1;
    snprintf(name, sizeof(name), "%ld %.60s %lld", r->place.boot, series, (long long)mount);
    r->place.mount = (long)number_of(names->mounts, name) + 1;
    snprintf(name, sizeof(name), "%.60s %lld", series, (long long)block);
    r->place.block = block > 0 ? (long)number_of(names->blocks, name) + 1 : 0;
    r->place.cell = r->cell;
    if (!view_number(r->window, "throughput.bytes_per_s", &r->place.value))
        r->place.value = NAN;
}

/* The first cell in which nothing looks on. */
static size_t plain_cell(const struct study *s)
{
    for (size_t i = 0; i < s->cells_n; i++)
        if (strcmp(study_instrument(s, i), "none") == 0)
            return i;
    return 0;
}

bool study_cells_make(struct study *s, const json_t *const *records, struct err *err)
{
    struct names names = {json_object(), json_object(), json_object()};
    double first = INFINITY;
    s->runs = calloc(s->n + 1, sizeof(*s->runs));
    bool ok = s->runs && names.boots && names.mounts && names.blocks;
    if (!ok)
        err_set(err, STATUS_FAILED, "report: out of memory");
    if (ok && s->plan)
        ok = cells_of_plan(s, err);
    else if (ok && !cells_of_records(s, records))
        ok = err_set(err, STATUS_FAILED, "report: out of memory");
    for (size_t i = 0; ok && i < s->n; i++) {
        struct study_run *r = &s->runs[i];
        r->record = records[i];
        r->window = view_median_window(records[i], NULL);
        if (s->plan)
            r->cell = find_cell(s, view_at(records[i], "matrix.cell"));
        r->hours = started(records[i]);
        first = r->hours < first ? r->hours : first;
        place_run(r, &names);
    }
    for (size_t i = 0; ok && i < s->n; i++)
        s->runs[i].hours -= first;
    size_t baseline = ok ? find_cell(s, json_object_get(s->plan, "baseline")) : SIZE_MAX;
    s->baseline = baseline == SIZE_MAX ? plain_cell(s) : baseline;
    json_decref(names.boots);
    json_decref(names.mounts);
    json_decref(names.blocks);
    return ok;
}

/* The first note that says why, or NULL. */
static const json_t *worst_note(const json_t *record)
{
    const json_t *windows = json_object_get(record, "windows");
    for (size_t i = 0; i <= json_array_size(windows); i++) {
        const json_t *notes = i == 0 ? json_object_get(record, "notes")
                                     : json_object_get(json_array_get(windows, i - 1), "notes");
        for (size_t k = 0; k < json_array_size(notes); k++) {
            const char *level = view_text(json_array_get(notes, k), "level", "");
            if (strcmp(level, "invalid") == 0 || strcmp(level, "error") == 0)
                return json_array_get(notes, k);
        }
    }
    return NULL;
}

static bool leave_out(struct study_run *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static bool leave_out(struct study_run *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&r->left_out, fmt, ap) < 0)
        r->left_out = NULL;
    va_end(ap);
    return true;
}

/* Load beside ours: the matrix waited for idle time and interrupts, and they did not come back. */
static bool restless(struct study_run *r)
{
    const json_t *settle = view_at(r->record, "matrix.settle");
    double idle, level;
    if (!json_is_false(json_object_get(settle, "settled")))
        return false;
    if (view_number(settle, "idle_percent", &idle) &&
        view_number(settle, "level_idle_percent", &level))
        return leave_out(r, "other load: before it %.1f %% idle, %.1f %% when the series began",
                         idle, level);
    return leave_out(r, "other load: the machine did not settle before it");
}

/* One that ran with another instrument than the plan has for all its cells. */
static bool looked_at(const struct study *s, struct study_run *r)
{
    const char *asked = view_instrument(s->plan), *was = view_instrument(r->record);
    return s->plan && !study_has_axis(s, "instrument") && strcmp(asked, was) != 0 &&
           leave_out(r, "instrument %.40s; the plan has %.40s", was, asked);
}

static bool judge(const struct study *s, struct study_run *r)
{
    const char *verdict = text_verdict(r->record);
    const json_t *note = verdict ? worst_note(r->record) : NULL;
    double reads, sent;
    if (json_is_true(view_at(r->record, "matrix.warmup")))
        return leave_out(r, "warm-up");
    if (r->cell == SIZE_MAX)
        return leave_out(r, "of no cell of the plan");
    if (verdict)
        return leave_out(r, "%s%s%.20s%s%.300s", verdict, note ? ": " : "",
                         view_text(note, "source", ""), note ? ": " : "",
                         view_text(note, "text", ""));
    if (!r->window ||
        (isnan(r->place.value) && !json_object_size(view_at(r->window, "slab.counters"))))
        return leave_out(r, "nothing was measured");
    if (r->place.value < 0 || r->place.value > RATE_MAX)
        return leave_out(r, "its throughput of %.3g bytes per second is none", r->place.value);
    if (looked_at(s, r))
        return true;
    if (view_number(r->window, "nfs.read.operations", &reads) &&
        view_number(r->window, "nfs.read.transmissions", &sent) &&
        sent - reads > RESENT_MAX * reads)
        return leave_out(r, "retransmissions: %.0f of %.0f READs were sent again", sent - reads,
                         reads);
    return restless(r);
}

void study_runs_judge(struct study *s)
{
    json_t *seen = json_object();
    for (size_t i = 0; i < s->n; i++) {
        struct study_run *r = &s->runs[i];
        json_int_t run = 0, attempt = 0;
        char name[120];
        if (judge(s, r))
            continue;
        view_integer(r->record, "matrix.attempt", &attempt);
        if (!view_integer(r->record, "matrix.run", &run) || run == 0)
            continue;
        snprintf(name, sizeof(name), "%.60s %lld", view_text(r->record, "matrix.series", ""),
                 (long long)run);
        const json_t *before = json_object_get(seen, name);
        if (before) /* a run counts once: its last attempt */
            leave_out(&s->runs[json_integer_value(before)], "run again as attempt %lld",
                      (long long)attempt);
        json_object_set_new_nocheck(seen, name, json_integer((json_int_t)i));
    }
    json_decref(seen);
}
