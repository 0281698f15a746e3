/* seeds.h -- random numbers for tests, and their seeds.
 *
 * SPACELAND_TEST_SEED=S repeats what a test printed. If it is set, all random input depends on it; if it is not,
 * some tests take a fresh seed in each run and the others a fixed one. ./dev test seeds sets it. */
#ifndef SL_TEST_SEEDS_H
#define SL_TEST_SEEDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* xorshift64*; state != 0 */
static inline uint64_t test_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

static inline double test_uniform(uint64_t *state)
{
	return (double)(test_random(state) >> 11) * 0x1p-53;
}

/* Returns a new seed for each run and prints it: tests must hold for any seed. */
static inline uint64_t fresh_seed(void)
{
	const char *given = getenv("SPACELAND_TEST_SEED");
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)t.tv_nsec | 1;
	fprintf(stderr, "SPACELAND_TEST_SEED=%llu\n", (unsigned long long)seed);
	return seed;
}

/* Returns `usual` or, if SPACELAND_TEST_SEED is set, a seed that depends on both. */
static inline uint64_t test_seed(uint64_t usual)
{
	static bool told;
	const char *given = getenv("SPACELAND_TEST_SEED");
	if (!given)
		return usual;
	if (!told)
		fprintf(stderr, "SPACELAND_TEST_SEED=%s\n", given);
	told = true;
	uint64_t state = strtoull(given, NULL, 10) * 0x9e3779b97f4a7c15ull + usual + 1;
	test_random(&state);
	return (test_random(&state) >> 32) | 1;
}

/* SPACELAND_TEST_LIGHT=1: smaller tests, for short runs and for tools that make kernels hundreds of times slower. =2:
 * the smallest, for runs with a thousand seeds, each of which takes other cases. */
static inline bool test_light(void)
{
	const char *given = getenv("SPACELAND_TEST_LIGHT");
	return given && *given;
}

static inline bool test_lightest(void) { return test_light() && atoi(getenv("SPACELAND_TEST_LIGHT")) == 2; }

/* Whether a light test leaves out a case: it takes one in `light` of consecutive cases, the lightest one in `lightest`;
 * others with other seeds. */
static inline bool test_leaves_out(uint64_t at, uint32_t light, uint32_t lightest)
{
	return test_light() && (at + test_seed(1013) / 2) % (test_lightest() ? lightest : light);  /* seeds are odd */
}

#endif
