/* random.h -- random numbers as a pure function of (seed, counter): no state, so any thread may make any of them, in
 * any order, with the same result. The mixer is SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
#ifndef SL_RANDOM_H
#define SL_RANDOM_H

#include <math.h>
#include <stdint.h>

#include "core/both.h"

SL_BOTH uint64_t sl_random_bits(uint64_t seed, uint64_t counter)
{
	uint64_t x = seed * 0xd1342543de82ef95u + counter * 0x9e3779b97f4a7c15u + 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* In (0, 1). For the largest bits, the sum with 0.5 is rounded up to 1; anybody can choose a seed that gives them. */
SL_BOTH double sl_random_uniform(uint64_t seed, uint64_t counter)
{
	double u = ((double)(sl_random_bits(seed, counter) >> 11) + 0.5) * 0x1p-53;
	return u < 1 ? u : 0x1.fffffffffffffp-1;
}

/* Mean 0, standard deviation 1 (Box and Muller, 1958). */
SL_BOTH double sl_random_normal(uint64_t seed, uint64_t counter)
{
	double u = sl_random_uniform(seed, 2 * counter), v = sl_random_uniform(seed, 2 * counter + 1);
	return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

#endif
