/* Selects the variant of tile.c for this processor. */
#include "core/gmm/tile.h"

extern const struct sl__gmm_kernels sl__gmm_base;
#if defined(__x86_64__)
extern const struct sl__gmm_kernels sl__gmm_avx2, sl__gmm_avx512;
#endif

const struct sl__gmm_kernels *sl__gmm_kernels(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
		return &sl__gmm_avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return &sl__gmm_avx2;
#endif
	return &sl__gmm_base;
}
