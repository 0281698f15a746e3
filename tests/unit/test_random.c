/* Random numbers (core/random.h): the range, also for the seeds at its ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/random.h"

/* These seeds and counters give the largest bits; the seeds are valid as parameters of jobs. */
static void uniform_numbers_are_less_than_1(void **state)
{
	const struct { uint64_t seed, counter; } draws[] = {
		{5427608516446764, 0}, {5368511270530298, 0}, {0, 0x755449271ef5a6bf}, {sl_random_bits(2084358991935408, 1), 0},
	};
	for (size_t i = 0; i < sizeof draws / sizeof *draws; i++) {
		double u = sl_random_uniform(draws[i].seed, draws[i].counter);
		assert_true(sl_random_bits(draws[i].seed, draws[i].counter) >> 11 == 0x1fffffffffffff);
		assert_true(u < 1 && u > 0.999999);
	}
}

static void moments_are_those_of_the_distributions(void **state)
{
	double sum = 0, normal = 0, square = 0, n = 100000;
	for (uint64_t i = 0; i < (uint64_t)n; i++) {
		double u = sl_random_uniform(7, i), x = sl_random_normal(8, i);
		assert_true(u > 0 && u < 1);
		sum += u / n;
		normal += x / n;
		square += x * x / n;
	}
	assert_true(fabs(sum - 0.5) < 0.005 && fabs(normal) < 0.02 && fabs(square - 1) < 0.03);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uniform_numbers_are_less_than_1),
		cmocka_unit_test(moments_are_those_of_the_distributions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
