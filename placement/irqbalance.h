/* Is somebody else moving interrupts? */
#ifndef NUMALOAD_IRQBALANCE_H
#define NUMALOAD_IRQBALANCE_H

/* Pid of a running irqbalance, found by the name in /proc/PID/comm (proc(5)) through the sysroot
 * seam; 0 when none is seen. */
int irqbalance_pid(void);

#endif
