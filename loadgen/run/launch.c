#include "launch.h"

#include "worker.h"

static uint64_t launched_ns;

void launch_now(void)
{
    launched_ns = now_ns();
}

uint64_t launch_ns(void)
{
    return launched_ns ? launched_ns : now_ns();
}
