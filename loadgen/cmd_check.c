#include "args.h"
#include "check/check.h"
#include "cmd.h"
#include "run/live.h"

static void help(void)
{
    puts("usage: numaload check [PROFILE] [--key value ...]\n\n"
         "Says before anybody waits what 'numaload run' with the same profile and options\n"
         "would fail at, which figures it could not have, and what would spoil them, each\n"
         "with what to do. Nothing is changed and nothing is loaded. Options are those of\n"
         "'numaload run --help'; of them\n\n"
         "  --json         one JSON document\n"
         "  --sysroot DIR  look at a tree of /proc and /sys recorded elsewhere\n\n"
         "Severities: fails (the run would refuse or stop), spoils (its figures would be\n"
         "coloured), unavailable (figures that it could not have), note.\n\n"
         "Exit status: 0 nothing is in the way; 1 the run would fail; 2 usage; 3 something\n"
         "would spoil the figures.");
}

static void print_failure(const struct err *err)
{
    json_t *doc = json_pack("{s:s, s:i, s:s, s:i}", "schema", "numaload-check", "schema_version", 1,
                            "error", err->text, "exit_status", (int)err->status);
    json_dumpf(doc, stdout, JSON_INDENT(2));
    puts("");
    json_decref(doc);
}

int cmd_check(int argc, char **argv)
{
    struct profile p;
    struct err err = {0};
    bool want_help = false;
    json_t *doc = NULL;
    int status;
    bool ok = profile_init(&p, &err) && args_read(&p, argc, argv, NULL, &want_help, &err);
    if (ok && want_help) {
        help();
        profile_free(&p);
        return STATUS_OK;
    }
    ok = ok && profile_check(&p, &err) && check_all(&p, &doc, &err);
    if (ok) {
        status = (int)check_status(doc);
        if (p.json) {
            json_dumpf(doc, stdout, JSON_INDENT(2));
            puts("");
        } else {
            check_print(doc);
        }
    } else {
        status = (int)err.status;
        live_say("error: %s", err.text);
        if (p.json || args_want_json(argc, argv))
            print_failure(&err);
    }
    json_decref(doc);
    profile_free(&p);
    return status;
}
