#include "irqbalance.h"

#include "sysroot.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        if (sysroot_read_into(path, comm, sizeof(comm)) > 0 && strcmp(comm, "irqbalance\n") == 0)
            pid = atoi(*p);
    }
    sysroot_list_free(names);
    return pid;
}
