#include "datanote.h"

#include "../record/record.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static bool name_of(const char *path, char *note, size_t cap)
{
    return snprintf(note, cap, "%s.numaload", path) < (int)cap;
}

bool datanote_read(const char *path, struct datanote *note)
{
    char file[PATH_MAX];
    json_t *o = name_of(path, file, sizeof(file)) ? json_load_file(file, 0, NULL) : NULL;
    bool ok = json_is_integer(json_object_get(o, "bytes"));
    *note = (struct datanote){
        .bytes = (uint64_t)json_integer_value(json_object_get(o, "bytes")),
        .salt = (uint64_t)json_integer_value(json_object_get(o, "salt")),
    };
    json_decref(o);
    return ok;
}

bool datanote_write(const char *path, uint64_t bytes, uint64_t salt, uint64_t block_bytes,
                    struct err *err)
{
    char file[PATH_MAX];
    if (!name_of(path, file, sizeof(file)))
        return err_set(err, STATUS_USAGE, "%s: name too long", path);
    json_t *o = json_pack("{s:I, s:I, s:I}", "bytes", (json_int_t)bytes, "salt", (json_int_t)salt,
                          "block_bytes", (json_int_t)block_bytes);
    bool ok = o ? record_write(o, file, err) : err_set(err, STATUS_FAILED, "out of memory");
    json_decref(o);
    return ok || err_prefix(err, "the note beside %s", path);
}

void datanote_remove(const char *path)
{
    char file[PATH_MAX];
    if (name_of(path, file, sizeof(file)))
        unlink(file);
}
