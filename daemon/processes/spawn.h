/* spawn.h -- starts this program again as a process of another kind, with one end of a connection. */
#ifndef SL_SPAWN_H
#define SL_SPAWN_H

#include <sys/types.h>

/* Runs /proc/self/exe with this argument; the process gets `fd` as descriptor `as`, and no signal is blocked in it.
 * Returns 0 or an errno. Does not copy the page tables of the daemon, which may have many gigabytes. */
int sl_spawn_self(const char *argument, int fd, int as, pid_t *pid);

#endif
