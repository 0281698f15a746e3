/* Selects the variant of kernels.c for this processor. */
#include "core/cpu/kernels.h"

extern const struct sl_cpu_kernels sl__kernels_base;
#if defined(__x86_64__)
extern const struct sl_cpu_kernels sl__kernels_avx2, sl__kernels_avx512;
#endif

const struct sl_cpu_kernels *sl_cpu_kernels(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
		return &sl__kernels_avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return &sl__kernels_avx2;
#endif
	return &sl__kernels_base;
}
