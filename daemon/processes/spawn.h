/* spawn.h -- starts this program again as a process of another kind, with one end of a connection. */
#ifndef SL_SPAWN_H
#define SL_SPAWN_H

#include <sys/types.h>

/* Runs /proc/self/exe with this argument, and no signal is blocked in it. It gets one end of a new socket pair of this
 * type as descriptor `as`; *end: the other one. Returns 0 or an errno. Does not copy the page tables of the daemon,
 * which may have many gigabytes. */
int sl_spawn_self(const char *argument, int type, int as, int *end, pid_t *pid);

#endif
