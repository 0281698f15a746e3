/* vector.h -- VECTOR: a function compiled for several instruction sets, the best one picked when the program loads.
 * VECTOR_MATH: the same for loops that compare floats, which GCC leaves alone while a comparison with NaN may trap.
 * Loops with roots are vectorised since core/ is compiled with -fno-math-errno; the attribute would not do. */
#ifndef SL_VECTOR_H
#define SL_VECTOR_H

#if defined __x86_64__ && defined __GNUC__ && !defined __clang__ && !defined __SANITIZE_THREAD__ && \
	!defined __SANITIZE_ADDRESS__
#define SL_CLONES target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")
#define VECTOR __attribute__((SL_CLONES, optimize("O3")))
#define VECTOR_MATH __attribute__((SL_CLONES, optimize("O3", "no-trapping-math")))
#else
#define VECTOR
#define VECTOR_MATH
#endif

#endif
