/* host_memory.h -- how much of the host's memory this process may use. Any thread. */
#ifndef SL_HOST_MEMORY_H
#define SL_HOST_MEMORY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes: the machine's memory, or the limit of a control group that the process is in (a container, a unit with
 * MemoryMax=), whichever is less. Reads some small files each time, as limits may change. */
uint64_t sl_host_memory(void);

/* For tests: the same with another file than /proc/self/cgroup, another folder than the one where control groups are
 * mounted, and a machine of `physical` bytes. */
uint64_t sl__host_memory_of(const char *groups, const char *mount, uint64_t physical);

#ifdef __cplusplus
}
#endif
#endif
