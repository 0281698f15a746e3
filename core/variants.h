/* variants.h -- code that is compiled once for each instruction set, as `variants` in core/cpu/meson.build lists them:
 * chooses the variant for this processor when the program runs. */
#ifndef SL_VARIANTS_H
#define SL_VARIANTS_H

/* The index of the best variant in base, avx2, avx512. */
static inline int sl__best_variant(void)
{
#if defined __x86_64__
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
		return 2;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return 1;
#endif
	return 0;
}

/* Defines `function`, which returns the best of the tables stem_base, stem_avx2 and stem_avx512. */
#if defined __x86_64__
#define SL_PICK_VARIANT(type, function, stem) \
	extern const type stem##_base, stem##_avx2, stem##_avx512; \
	const type *function(void) \
	{ \
		static const type *const variants[] = {&stem##_base, &stem##_avx2, &stem##_avx512}; \
		return variants[sl__best_variant()]; \
	} \
	_Static_assert(1, "takes a semicolon")
#else
#define SL_PICK_VARIANT(type, function, stem) \
	extern const type stem##_base; \
	const type *function(void) { return &stem##_base; } \
	_Static_assert(1, "takes a semicolon")
#endif

#endif
