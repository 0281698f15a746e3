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

/* The same with other files: of /proc/self/cgroup, of the folder where control groups are mounted, and of a machine
 * with so many bytes. For tests. */
uint64_t sl__host_memory_of(const char *groups, const char *mount, uint64_t physical);

#ifdef __cplusplus
}
#endif
#endif
