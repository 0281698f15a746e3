/* Sorting, against qsort(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>

#include "core/clock.h"
#include "core/random.h"
#include "core/sort.h"
#include "tests/unit/seeds.h"

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Kinds of lists: random, of few values, of one, ascending, descending, up and down, in pieces that ascend. */
enum { KINDS = 7 };

static void fill(uint64_t *x, uint32_t n, int kind, uint64_t seed)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t of[KINDS] = {sl_random_bits(seed, i), sl_random_bits(seed, i) % 3, 7, i, n - i, i < n / 2 ? i : n - i,
				      i % 50};
		x[i] = of[kind];
	}
}

static void lists_are_sorted(void **state)
{
	enum { MOST = 5000 };
	static uint64_t x[MOST], y[MOST];
	uint64_t seed = fresh_seed();
	for (int kind = 0; kind < KINDS; kind++)
		for (uint32_t n = 0; n <= MOST; n = n < 70 ? n + 1 : n * 2) {
			fill(x, n, kind, seed++);
			memcpy(y, x, sizeof *x * n);
			sl_sort(x, n);
			qsort(y, n, sizeof *y, by_value);
			assert_memory_equal(x, y, sizeof *x * n);
		}
}

static double seconds(void (*sort)(uint64_t *, uint32_t), int kind)
{
	enum { N = 20000 };
	static uint64_t x[N];
	double least = INFINITY;
	for (int i = 0; i < 10; i++) {
		fill(x, N, kind, test_seed(1));
		double before = sl_clock_s();
		sort(x, N);
		least = fmin(least, sl_clock_s() - before);
	}
	return least;
}

static void library(uint64_t *x, uint32_t n)
{
	qsort(x, n, sizeof *x, by_value);
}

/* A third of the time of qsort() for random numbers, and no kind of list takes much longer than these. */
static void no_list_takes_long(void **state)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip();
#endif
	double most = 0.8 * seconds(library, 0);
	for (int kind = 0; kind < KINDS; kind++)
		if (seconds(sl_sort, kind) > most * (kind ? 2 : 1))
			fail_msg("kind %d takes %.0f us; random numbers with qsort() %.0f", kind, 1e6 * seconds(sl_sort, kind),
				 1e6 * most / 0.8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_sorted),
		cmocka_unit_test(no_list_takes_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
