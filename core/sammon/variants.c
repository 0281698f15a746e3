/* Which of the compiled variants of tile.c this processor runs. */
#include "core/sammon/tile.h"

extern const struct sl__sammon_kernels sl__sammon_base;
#if defined(__x86_64__)
extern const struct sl__sammon_kernels sl__sammon_avx2, sl__sammon_avx512;
#endif

const struct sl__sammon_kernels *sl__sammon_kernels(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
		return &sl__sammon_avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return &sl__sammon_avx2;
#endif
	return &sl__sammon_base;
}
