/* vector.h -- VECTOR: a function compiled for several instruction sets, the best one picked when the program loads. */
#ifndef SL_VECTOR_H
#define SL_VECTOR_H

#if defined __x86_64__ && defined __GNUC__ && !defined __clang__ && !defined __SANITIZE_THREAD__ && \
	!defined __SANITIZE_ADDRESS__
#define VECTOR __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"), optimize("O3")))
#else
#define VECTOR
#endif

#endif
