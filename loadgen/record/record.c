#define _GNU_SOURCE
#include "record.h"

#include "jsontext.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RECORD_MAX_BYTES (1L << 30)
#define FORMAT (JSON_INDENT(2) | JSON_REAL_PRECISION(12))

json_t *record_new(void)
{
    char started[32];
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ", &tm);
    return json_pack("{s:s, s:i, s:{s:s, s:s}, s:s, s:[], s:[]}", "schema", RECORD_SCHEMA,
                     "schema_version", RECORD_SCHEMA_VERSION, "program", "name", "numaload",
                     "version", NUMALOAD_VERSION, "started_at", started, "notes", "windows");
}

/* jansson says only that writing failed; the reason is in errno here. */
struct sink {
    FILE *out;
    int error;
};

static int sink_write(const char *data, size_t len, void *arg)
{
    struct sink *s = arg;
    if (fwrite(data, 1, len, s->out) == len)
        return 0;
    s->error = errno ? errno : EIO;
    return -1;
}

/* Writes the document and a newline as far as the kernel; 0 or an errno. */
static int dump(const json_t *record, FILE *out)
{
    struct sink sink = {.out = out};
    errno = 0;
    if (json_dump_callback(record, sink_write, &sink, FORMAT))
        return sink.error ? sink.error : EINVAL;
    if (fputc('\n', out) == EOF || fflush(out) || ferror(out))
        return errno ? errno : EIO;
    return 0;
}

static int sync_folder(const char *file)
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof(copy), "%s", file);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    /* Some file systems cannot sync a folder; the rename is as safe there as it gets. */
    int error = fsync(fd) && errno != EINVAL && errno != ENOTSUP ? errno : 0;
    close(fd);
    return error;
}

static int write_and_rename(const json_t *record, const char *file, const char *tmp)
{
    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return errno;
    FILE *out = fdopen(fd, "w");
    int error = out ? dump(record, out) : errno;
    if (!error && fsync(fd))
        error = errno;
    /* close can still report a full quota on NFS */
    if ((out ? fclose(out) : close(fd)) && !error)
        error = errno;
    if (!error && rename(tmp, file))
        error = errno;
    if (error)
        unlink(tmp);
    return error;
}

/* What will be replaced, in `real` of PATH_MAX bytes: a link keeps pointing, so its target. */
static bool find_place(const char *file, char *real, struct err *err)
{
    struct stat st;
    if (!realpath(file, real))
        snprintf(real, PATH_MAX, "%s", file);
    if (stat(real, &st) == 0 && !S_ISREG(st.st_mode))
        return err_set(err, STATUS_USAGE, "cannot write the record to \"%s\": not a regular file",
                       real);
    return true;
}

bool record_writable(const char *file, struct err *err)
{
    char real[PATH_MAX], copy[PATH_MAX];
    if (!find_place(file, real, err))
        return false;
    snprintf(copy, sizeof(copy), "%s", real);
    if (access(dirname(copy), W_OK | X_OK) == 0)
        return true;
    return err_set(err, STATUS_FAILED, "cannot write the record to \"%s\": %s", real,
                   strerror(errno));
}

bool record_write(const json_t *record, const char *file, struct err *err)
{
    char real[PATH_MAX], tmp[PATH_MAX + 32];
    if (!find_place(file, real, err))
        return false;
    file = real;
    snprintf(tmp, sizeof(tmp), "%s.tmp.%ld", file, (long)getpid());
    int error = write_and_rename(record, file, tmp);
    if (!error)
        error = sync_folder(file);
    if (error)
        return err_set(err, STATUS_FAILED, "cannot write the record to \"%s\": %s", file,
                       strerror(error));
    return true;
}

bool record_print(const json_t *record, struct err *err)
{
    int error = dump(record, stdout);
    if (error)
        return err_set(err, STATUS_FAILED, "cannot write the record to standard output: %s",
                       strerror(error));
    return true;
}

static bool check_schema(const json_t *record, const char *file, struct err *err)
{
    const char *schema = json_string_value(json_object_get(record, "schema"));
    if (!schema || strcmp(schema, RECORD_SCHEMA) != 0)
        return err_set(err, STATUS_FAILED,
                       "\"%s\" is not a record of numaload: no \"schema\": \"%s\"", file,
                       RECORD_SCHEMA);
    const json_t *version = json_object_get(record, "schema_version");
    if (!json_is_integer(version))
        return err_set(err, STATUS_FAILED, "\"%s\" is a record without \"schema_version\"", file);
    if (json_integer_value(version) != RECORD_SCHEMA_VERSION)
        return err_set(err, STATUS_FAILED,
                       "\"%s\" is a record of schema version %lld; this program reads version %d",
                       file, (long long)json_integer_value(version), RECORD_SCHEMA_VERSION);
    return true;
}

/* A count below 0 was written by a broken tool or hand: no figure of such a record is worth a
 * table. */
static bool check_counts(const json_t *record, const char *file, struct err *err)
{
    const json_t *windows = json_object_get(record, "windows");
    for (size_t i = 0; i < json_array_size(windows); i++) {
        const json_t *w = json_array_get(windows, i);
        json_t *counters = json_object_get(json_object_get(w, "slab"), "counters"), *c;
        const char *name;
        if (json_integer_value(json_object_get(json_object_get(w, "throughput"), "bytes")) < 0)
            return err_set(err, STATUS_FAILED, "\"%s\": window %zu read a negative number of bytes",
                           file, i + 1);
        json_object_foreach(counters, name, c)
        {
            if (json_integer_value(json_object_get(c, "total")) < 0)
                return err_set(err, STATUS_FAILED, "\"%s\": counter %s of window %zu is negative",
                               file, name, i + 1);
        }
    }
    return true;
}

/* Parsing from memory takes half the time of json_loadf; a matrix has thousands of records. What
 * cannot be skimmed, or was no JSON then, is parsed whole for a message with the right line. */
static json_t *load(FILE *in, size_t len, const struct skim *keep, json_error_t *e)
{
    char *text = malloc(len + 1), *part = keep ? malloc(len + 1) : NULL;
    json_t *record = NULL;
    if (text) {
        len = fread(text, 1, len, in);
        size_t kept = part ? skim_text(text, len, keep, part) : 0;
        record = kept ? json_loadb(part, kept, JSON_REJECT_DUPLICATES, e) : NULL;
        if (!record)
            record = json_loadb(text, len, JSON_REJECT_DUPLICATES, e);
    }
    free(text);
    free(part);
    return record;
}

bool record_read(const char *file, json_t **out, struct err *err)
{
    return record_read_part(file, NULL, out, err);
}

bool record_read_part(const char *file, const struct skim *keep, json_t **out, struct err *err)
{
    *out = NULL;
    FILE *in = fopen(file, "re");
    struct stat st;
    if (!in || fstat(fileno(in), &st) || S_ISDIR(st.st_mode)) {
        int error = in ? (S_ISDIR(st.st_mode) ? EISDIR : errno) : errno;
        if (in)
            fclose(in);
        return err_set(err, STATUS_FAILED, "cannot read the record \"%s\": %s", file,
                       strerror(error));
    }
    if (st.st_size > RECORD_MAX_BYTES) {
        fclose(in);
        return err_set(err, STATUS_FAILED, "\"%s\" is not a record: %lld bytes", file,
                       (long long)st.st_size);
    }
    json_error_t e = {.text = "out of memory"};
    json_t *record = S_ISREG(st.st_mode) ? load(in, (size_t)st.st_size, keep, &e)
                                         : json_loadf(in, JSON_REJECT_DUPLICATES, &e);
    fclose(in);
    if (!record)
        return err_set(err, STATUS_FAILED, "\"%s\" is not JSON: line %d: %s", file, e.line, e.text);
    if (!check_schema(record, file, err) || !check_counts(record, file, err)) {
        json_decref(record);
        return false;
    }
    *out = record;
    return true;
}
