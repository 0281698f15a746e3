/* lanes.h -- vectors as wide as the registers of the instruction set for which a file is compiled (variants.h). For the
 * inner loops of searches and methods, whose files include it once, from the .c alone: its names are short.
 *
 * Of float32 or, if DOUBLES is defined before, of float64: WIDTH numbers a vector. */
#ifndef SL_METHOD_LANES_H
#define SL_METHOD_LANES_H

#include <stdint.h>
#include <string.h>

/* One of three numbers, by the instruction set. */
#ifdef __AVX512F__
#define BY_SET(avx512, avx2, base) avx512
#elif defined __AVX2__
#define BY_SET(avx512, avx2, base) avx2
#else
#define BY_SET(avx512, avx2, base) base
#endif
#ifdef __AVX2__
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

#ifdef DOUBLES
#define WIDTH BY_SET(8, 4, 2)
typedef double vec __attribute__((vector_size(8 * WIDTH)));
typedef int64_t bits __attribute__((vector_size(8 * WIDTH)));            /* of comparisons, too */
typedef uint64_t unsigned_bits __attribute__((vector_size(8 * WIDTH)));  /* may overflow */
typedef double scalar;
#else
#define WIDTH BY_SET(16, 8, 4)
typedef float vec __attribute__((vector_size(4 * WIDTH)));
typedef int32_t bits __attribute__((vector_size(4 * WIDTH)));
typedef uint32_t unsigned_bits __attribute__((vector_size(4 * WIDTH)));
typedef float scalar;
#endif

INLINE vec load(const scalar *from)
{
	vec v;
	memcpy(&v, from, sizeof v);
	return v;
}

INLINE void store(scalar *to, vec v)
{
	memcpy(to, &v, sizeof v);
}

/* x where the condition holds, else 0 */
INLINE vec where(bits condition, vec x)
{
	return (vec)(condition & (bits)x);
}

/* a where the condition holds, else b */
INLINE vec choose(bits condition, vec a, vec b)
{
	return (vec)((condition & (bits)a) | (~condition & (bits)b));
}

#endif
