/* Nothing expires if the clock jumps ahead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/util/seen.h"

#define HOUR 3600000ull
#define YEAR (8766 * HOUR)
#define START (56 * YEAR)

static void a_jump_is_no_age(void **state)
{
	struct sl_seen s = {START, 5 * HOUR, false};
	assert_int_equal(sl_seen_ms(&s, START + 2 * HOUR, 7 * HOUR), START + 2 * HOUR);
	assert_false(s.ahead);
	assert_int_equal(sl_seen_ms(&s, START + 10 * YEAR, 8 * HOUR), START + 3 * HOUR);
	assert_true(s.ahead);
	assert_int_equal(sl_seen_ms(&s, START + 4 * HOUR, 9 * HOUR), START + 4 * HOUR);
	assert_false(s.ahead);
}

static void corrections_are_followed(void **state)
{
	struct sl_seen s = {START, 0, false};
	assert_int_equal(sl_seen_ms(&s, START + HOUR / 2, 1000), START + HOUR / 2);
	assert_int_equal(sl_seen_ms(&s, START - YEAR, 1000), START - YEAR);
	assert_false(s.ahead);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_jump_is_no_age),
		cmocka_unit_test(corrections_are_followed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
