#define _GNU_SOURCE
#include "irqbalance.h"

#include "sysroot.h"
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 5000
#define STEP_MS 20
#define SYSTEMD_RUNS "/run/systemd/system"

/* One that has ended and was not waited for. A recorded tree without "stat" counts as running. */
static bool is_zombie(const char *pid)
{
    char path[64], stat[256];
    snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
    ssize_t n = sysroot_read_into(path, stat, sizeof(stat));
    const char *name_end = n > 0 || n == -EOVERFLOW ? strrchr(stat, ')') : NULL;
    return name_end && name_end[1] == ' ' && name_end[2] == 'Z';
}

int irqbalance_pid(void)
{
    char **names, path[64], comm[32];
    int pid = 0;
    if (sysroot_list("/proc", &names) < 0)
        return 0;
    for (char **p = names; *p && !pid; p++) {
        if (!isdigit((unsigned char)**p))
            continue;
        snprintf(path, sizeof(path), "/proc/%.16s/comm", *p);
        if (sysroot_read_into(path, comm, sizeof(comm)) > 0 && strcmp(comm, "irqbalance\n") == 0 &&
            !is_zombie(*p))
            pid = atoi(*p);
    }
    sysroot_list_free(names);
    return pid;
}

/* ---- how it runs ---- */

static ssize_t read_of(int pid, const char *name, char **text)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    return sysroot_read(path, text);
}

/* The strings of cmdline or environ, each ended by a NUL, that begin with `prefix`. */
static json_t *strings_of(int pid, const char *name, const char *prefix)
{
    char *text;
    ssize_t n = read_of(pid, name, &text);
    if (n < 0)
        return NULL;
    json_t *array = json_array();
    for (const char *p = text; p < text + n; p += strlen(p) + 1)
        if (strncmp(p, prefix, strlen(prefix)) == 0)
            json_array_append_new(array, json_string(p));
    free(text);
    return array;
}

/* The service that a process belongs to, by its control group; NULL: none. */
static char *unit_of(int pid)
{
    char *text, *unit = NULL, **names;
    if (sysroot_list(SYSTEMD_RUNS, &names) < 0)
        return NULL;
    sysroot_list_free(names);
    if (read_of(pid, "cgroup", &text) < 0)
        return NULL;
    for (char *save, *line = strtok_r(text, "\n", &save); line && !unit;
         line = strtok_r(NULL, "\n", &save)) {
        const char *last = strrchr(line, '/');
        size_t n = last ? strlen(last) : 0;
        if (n > 8 && strcmp(last + n - 8, ".service") == 0)
            unit = strdup(last + 1);
    }
    free(text);
    return unit;
}

static ssize_t read_process(char **text)
{
    int pid = irqbalance_pid();
    *text = NULL;
    if (!pid) {
        *text = strdup(IRQBALANCE_STOPPED);
        return *text ? (ssize_t)strlen(*text) : -ENOMEM;
    }
    char path[64], exe[PATH_MAX];
    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    ssize_t n = sysroot_readlink(path, exe, sizeof(exe));
    json_t *argv = strings_of(pid, "cmdline", "");
    json_t *env = strings_of(pid, "environ", "IRQBALANCE_");
    if (n < 0 || !json_array_size(argv)) {
        json_decref(argv);
        json_decref(env);
        return n < 0 ? n : -ENOENT;
    }
    /* Of a program that was replaced meanwhile: the new one stands under the old name. */
    char *deleted = strstr(exe, " (deleted)");
    if (deleted)
        *deleted = '\0';
    char *unit = unit_of(pid);
    json_t *how = json_pack("{s:s, s:o, s:o, s:s*}", "exe", exe, "argv", argv, "env",
                            env ? env : json_array(), "unit", unit);
    char *line = how ? json_dumps(how, JSON_COMPACT) : NULL;
    *text = line ? text_printf("%s\n", line) : NULL;
    free(line);
    free(unit);
    json_decref(how);
    return *text ? (ssize_t)strlen(*text) : -EINVAL;
}

/* ---- ending and starting it ---- */

static void sleep_step(void)
{
    const struct timespec t = {.tv_nsec = STEP_MS * 1000000L};
    nanosleep(&t, NULL);
}

/* Waits until one runs, or none but `other`. */
static bool wait_until(bool runs, int other)
{
    for (int waited = 0; waited < PATIENCE_MS; waited += STEP_MS) {
        int pid = irqbalance_pid();
        if (runs ? pid != 0 : pid == 0 || pid != other)
            return true;
        sleep_step();
    }
    return false;
}

/* What a new program must not inherit: signals that are ignored or blocked, our files, the
 * protection from the kernel's choice when memory is out. */
static void forget_ourselves(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, "0", 1) < 0)
        errno = 0;
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; null >= 0 && i < 3; i++)
        dup2(null, i);
    close_range(3, ~0u, 0);
    if (chdir("/"))
        _exit(126);
}

/* Runs a program; with `leave` it is nobody's child and is not waited for. 0, or -errno. */
static int run(const char *exe, char *const *argv, const json_t *env, bool leave)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0) {
        setsid();
        pid_t second = leave ? fork() : 0;
        if (second)
            _exit(second < 0 ? 126 : 0);
        forget_ourselves();
        for (size_t i = 0; i < json_array_size(env); i++)
            putenv((char *)json_string_value(json_array_get(env, i)));
        execvp(exe, argv);
        _exit(127);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status ? -ECHILD : 0;
}

static int systemctl(const char *verb, const char *unit)
{
    char *argv[] = {(char *)"systemctl", (char *)verb, (char *)unit, NULL};
    return run("systemctl", argv, NULL, false);
}

static int stop(void)
{
    char *text;
    int pid = irqbalance_pid();
    if (!pid)
        return 0;
    ssize_t n = read_process(&text);
    if (n < 0)
        return (int)n;
    json_t *how = json_loads(text, 0, NULL);
    const char *unit = json_string_value(json_object_get(how, "unit"));
    int error = unit ? systemctl("stop", unit) : kill(pid, SIGTERM) ? -errno : 0;
    json_decref(how);
    free(text);
    return error ? error : wait_until(false, pid) ? 0 : -ETIMEDOUT;
}

/* The strings of an array, with a NULL behind; owned by the array but for the list itself. */
static char **list_of(const json_t *array)
{
    size_t n = json_array_size(array);
    char **list = calloc(n + 1, sizeof(*list));
    for (size_t i = 0; list && i < n; i++)
        list[i] = (char *)json_string_value(json_array_get(array, i));
    return list;
}

static int start(const char *line)
{
    json_t *how = json_loads(line, 0, NULL), *argv = json_object_get(how, "argv");
    const char *exe = json_string_value(json_object_get(how, "exe"));
    const char *unit = json_string_value(json_object_get(how, "unit"));
    char **list = list_of(argv);
    int error = 0;
    if (!exe || *exe != '/' || !list || !*list)
        error = -EINVAL;
    else if (irqbalance_pid() == 0)
        error = unit ? systemctl("start", unit) : run(exe, list, json_object_get(how, "env"), true);
    if (!error && !wait_until(true, 0))
        error = -ETIMEDOUT;
    free(list);
    json_decref(how);
    return error;
}

/* ---- as values ---- */

bool irqbalance_owns(const char *path)
{
    return strncmp(path, "irqbalance:", 11) == 0;
}

ssize_t irqbalance_read(const char *path, char **text)
{
    int pid, end = 0;
    *text = NULL;
    if (strcmp(path, IRQBALANCE_PROCESS) == 0)
        return read_process(text);
    if (sscanf(path, IRQBALANCE_BANNED "%n", &pid, &end) != 1 || !end)
        return -EINVAL;
    return sysroot_live() ? irqbalance_read_banned(pid, text) : -EROFS;
}

int irqbalance_write(const char *path, const char *text)
{
    int pid, end = 0;
    if (!sysroot_live())
        return -EROFS;
    if (strcmp(path, IRQBALANCE_PROCESS) == 0)
        return strcmp(text, IRQBALANCE_STOPPED) == 0 ? stop() : start(text);
    if (sscanf(path, IRQBALANCE_BANNED "%n", &pid, &end) != 1 || !end)
        return -EINVAL;
    return irqbalance_write_banned(pid, text);
}
