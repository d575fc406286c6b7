/* Writes the manual pages and the completion from what the program itself knows: the table of
 * commands, their --help, and the table of keys.
 *
 *   generate TEMPLATE > OUT
 *
 * Copies the template; a line that holds only a name in @..@ is replaced by what is generated. */
#include "../../loadgen/commands.h"
#include "../../loadgen/matrix/settings.h"
#include "../../loadgen/profile.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what the program says ---- */

/* The --help of a command. Caller frees; ends the program when it cannot be had. */
static char *help_of(const struct command *c)
{
    FILE *f = tmpfile();
    char name[64];
    snprintf(name, sizeof(name), "%s", c->name);
    fflush(stdout);
    pid_t child = f ? fork() : -1;
    if (child == 0) {
        dup2(fileno(f), STDOUT_FILENO);
        int rc = c->run(2, (char *[]){name, (char[]){"--help"}, NULL});
        fflush(stdout);
        _exit(rc);
    }
    int status = -1;
    char *text = NULL;
    size_t cap = 0;
    if (child > 0 && waitpid(child, &status, 0) == child && status == 0) {
        rewind(f);
        if (getdelim(&text, &cap, '\0', f) < 0)
            status = -1;
    }
    if (status) {
        fprintf(stderr, "generate: no help of %s\n", c->name);
        exit(1);
    }
    fclose(f);
    return text;
}

/* ---- roff (groff_man(7)) ---- */

/* Text within a line of roff: backslashes and minus signs stand for themselves. */
static void roff(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\\')
            fputs("\\e", stdout);
        else if (text[i] == '-')
            fputs("\\-", stdout);
        else
            putchar(text[i]);
    }
}

static void roff_line(const char *line, size_t len)
{
    if (len && (*line == '.' || *line == '\''))
        fputs("\\&", stdout);
    roff(line, len);
    putchar('\n');
}

/* One sentence a line, as roff wants it. */
static void roff_text(const char *text)
{
    while (*text) {
        const char *end = strstr(text, ". ");
        size_t len = end ? (size_t)(end - text) + 1 : strlen(text);
        roff_line(text, len);
        text += len;
        text += strspn(text, " ");
    }
}

static void command_list(void)
{
    for (const struct command *c = commands; c->name; c++) {
        printf(".TP\n.B numaload %s\n", c->name);
        roff_line(c->help, strlen(c->help));
    }
}

/* The options of run are listed from the table; of its help that part is left out. */
static bool is_option_line(const char *line)
{
    return strncmp(line, "  --", 4) == 0 || strncmp(line, "                     ", 21) == 0;
}

static void command_help(void)
{
    for (const struct command *c = commands; c->name; c++) {
        char *text = help_of(c), *save;
        bool run = strcmp(c->name, "run") == 0, blank = false, said = false;
        printf(".SS numaload %s\n.EX\n", c->name);
        /* strtok would swallow the empty lines. */
        for (char *line = text; *line;) {
            size_t len = strcspn(line, "\n");
            save = line + len + (line[len] == '\n');
            if (run && is_option_line(line)) {
                if (!said)
                    puts("(the options are listed under OPTIONS OF RUN below)");
                said = true;
            } else if (len || !blank) {
                roff_line(line, len);
            }
            blank = len == 0;
            line = save;
        }
        puts(".EE");
        free(text);
    }
}

static void key_limits(const struct key *k)
{
    char lo[32], hi[32];
    bool open = k->max == 0 || k->max == UINT64_MAX;
    if (k->type == KEY_COUNT)
        snprintf(lo, sizeof(lo), "%" PRIu64, k->min);
    else if (k->type == KEY_SIZE)
        format_size(k->min, lo, sizeof(lo));
    else
        format_time(k->min, lo, sizeof(lo));
    if (k->type == KEY_COUNT)
        snprintf(hi, sizeof(hi), "%" PRIu64, k->max);
    else if (k->type == KEY_SIZE)
        format_size(k->max, hi, sizeof(hi));
    else
        format_time(k->max, hi, sizeof(hi));
    if (open)
        printf(", %s or more", lo);
    else
        printf(", %s to %s", lo, hi);
}

static void key_facts(const struct key *k)
{
    static const char *const types[] = {[KEY_TEXT] = "text",
                                        [KEY_COUNT] = "whole number",
                                        [KEY_SIZE] = "size",
                                        [KEY_TIME] = "time",
                                        [KEY_BOOL] = "yes or no"};
    puts(".br");
    if (k->words) {
        fputs("One of ", stdout);
        for (const char *const *w = k->words; *w; w++) {
            roff(*w, strlen(*w));
            fputs(w[1] ? ", " : "", stdout);
        }
    } else {
        printf("Type: %s",
               (size_t)k->type < sizeof(types) / sizeof(*types) ? types[k->type] : "text");
        if (k->type == KEY_COUNT || k->type == KEY_SIZE || k->type == KEY_TIME)
            key_limits(k);
    }
    fputs(". Default: ", stdout);
    if (k->type == KEY_BOOL)
        fputs(k->def && strcmp(k->def, "true") == 0 ? "yes" : "no", stdout);
    else
        roff(k->def ? k->def : "none", strlen(k->def ? k->def : "none"));
    puts(".");
}

static void key_options(void)
{
    for (const struct key *k = profile_keys; k->name; k++) {
        fputs(".TP\n.BI \\-\\-", stdout);
        roff(k->name, strlen(k->name));
        if (k->type != KEY_BOOL)
            printf(" \" %s\"", k->meta);
        puts("");
        roff_text(k->help);
        key_facts(k);
    }
}

/* Entries of one section of a profile; of a matrix, yes or no is an option of the command only. */
static void section(const struct key *table)
{
    for (const struct key *k = table; k->name; k++) {
        if (table == matrix_keys && k->type == KEY_BOOL)
            continue;
        fputs(".TP\n.BI ", stdout);
        roff(k->name, strlen(k->name));
        printf(" \" = %s\"\n", k->type == KEY_BOOL ? "yes|no" : k->meta);
        roff_text(k->help);
        key_facts(k);
    }
}

static void run_section(void)
{
    section(profile_keys);
}

static void matrix_section(void)
{
    section(matrix_keys);
}

/* ---- bash ---- */

/* Tables of keys that are options of some command. */
static const struct key *const tables[] = {profile_keys, matrix_keys};
enum { TABLES = sizeof(tables) / sizeof(*tables) };

/* Whether an option name begins at p: "--name", not within a word. */
static size_t option_at(const char *text, const char *p)
{
    if (strncmp(p, "--", 2) != 0 || !islower((unsigned char)p[2]) ||
        (p > text && !strchr(" \n[|('", p[-1])))
        return 0;
    size_t len = 2;
    while (islower((unsigned char)p[len]) || isdigit((unsigned char)p[len]) || p[len] == '-')
        len++;
    return len;
}

/* Within "'numaload run --record FILE'" in the help of another command. */
static bool of_another(const struct command *c, const char *text, const char *p)
{
    const char *quote = p;
    while (quote > text && *quote != '\'' && *quote != '\n')
        quote--;
    size_t len = strlen(c->name);
    return strncmp(quote, "'numaload ", 10) == 0 &&
           (strncmp(quote + 10, c->name, len) != 0 || quote[10 + len] != ' ');
}

/* The options of a command are those that its help names; "--key value" stands for all keys. */
static void bash_options(const struct command *c)
{
    char *text = help_of(c), seen[8192] = " ";
    printf("_numaload_options[%s]='--help", c->name);
    bool all = strstr(text, "--key value") != NULL;
    for (const struct key *k = profile_keys; all && k->name; k++) {
        printf(" --%s", k->name);
        snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "--%s ", k->name);
    }
    for (const char *p = text; *p; p++) {
        size_t len = option_at(text, p);
        char name[80], padded[96];
        if (!len || len >= sizeof(name) || of_another(c, text, p))
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)len, p);
        snprintf(padded, sizeof(padded), " %s ", name);
        if (strcmp(name, "--help") == 0 || strcmp(name, "--key") == 0 ||
            strncmp(name, "--no-", 5) == 0 || strstr(seen, padded))
            continue;
        printf(" %s", name);
        snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%s ", name);
    }
    puts("'");
    free(text);
}

/* The words of an option, or in angle brackets what it takes. */
static void bash_values(const struct key *k)
{
    const char *const *words = k->words ? k->words : k->shapes;
    if (k->type == KEY_BOOL) {
        printf("_numaload_flags+=' --%s '\n", k->name);
        return;
    }
    printf("_numaload_values[--%s]='", k->name);
    if (!words)
        printf("<%s>", k->meta);
    for (const char *const *w = words; w && *w; w++)
        printf("%s%s", *w, w[1] ? " " : "");
    puts("'");
}

static void bash_tables(void)
{
    fputs("_numaload_commands='help", stdout);
    for (const struct command *c = commands; c->name; c++)
        printf(" %s", c->name);
    puts("'");
    for (const struct command *c = commands; c->name; c++)
        bash_options(c);
    for (int i = 0; i < TABLES; i++)
        for (const struct key *k = tables[i]; k->name; k++)
            bash_values(k);
}

static const struct {
    const char *name;
    void (*write)(void);
} parts[] = {
    {"@COMMANDS@\n", command_list}, {"@HELP@\n", command_help},     {"@OPTIONS@\n", key_options},
    {"@KEYS@\n", run_section},      {"@MATRIX@\n", matrix_section}, {"@TABLES@\n", bash_tables},
};

int main(int argc, char **argv)
{
    FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
    char line[1024];
    if (!f) {
        fprintf(stderr, "usage: generate TEMPLATE > OUT\n");
        return 2;
    }
    while (fgets(line, sizeof(line), f)) {
        size_t i = 0, n = sizeof(parts) / sizeof(*parts);
        while (i < n && strcmp(parts[i].name, line) != 0)
            i++;
        char *version = strstr(line, "@VERSION@");
        if (i < n)
            parts[i].write();
        else if (version)
            printf("%.*s%s%s", (int)(version - line), line, NUMALOAD_VERSION, version + 9);
        else
            fputs(line, stdout);
    }
    fclose(f);
    return fflush(stdout) || ferror(stdout);
}
