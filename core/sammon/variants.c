/* Selects the variants of tile.c and terms_tile.c for this processor. */
#include "core/sammon/terms_tile.h"
#include "core/sammon/tile.h"

extern const struct sl__sammon_kernels sl__sammon_base;
extern const struct sl__terms_kernels sl__sammon_base_terms;
#if defined(__x86_64__)
extern const struct sl__sammon_kernels sl__sammon_avx2, sl__sammon_avx512;
extern const struct sl__terms_kernels sl__sammon_avx2_terms, sl__sammon_avx512_terms;
#endif

enum variant { BASE, AVX2, AVX512 };

static enum variant best(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
		return AVX512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return AVX2;
#endif
	return BASE;
}

const struct sl__sammon_kernels *sl__sammon_kernels(void)
{
#if defined(__x86_64__)
	static const struct sl__sammon_kernels *const kernels[] = {&sl__sammon_base, &sl__sammon_avx2, &sl__sammon_avx512};
	return kernels[best()];
#else
	return &sl__sammon_base;
#endif
}

const struct sl__terms_kernels *sl__terms_kernels(void)
{
#if defined(__x86_64__)
	static const struct sl__terms_kernels *const kernels[] = {&sl__sammon_base_terms, &sl__sammon_avx2_terms,
								  &sl__sammon_avx512_terms};
	return kernels[best()];
#else
	return &sl__sammon_base_terms;
#endif
}
