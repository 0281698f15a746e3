/* Buffers of replies and their common limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/util/buffer.h"

#define MIB (1u << 20)

static void test_booked_until_the_last_reference_goes(void **state)
{
	struct sl_buffer *a, *b;
	struct sl_error err;
	(void)state;
	sl_buffer_limit(10 * MIB);
	assert_int_equal(sl_buffer_book(&a, 11 * MIB, &err), SL_TOOBIG);
	assert_null(a);
	assert_int_equal(sl_buffer_book(&a, 6 * MIB, &err), 0);
	assert_int_equal(sl_buffer_book(&b, 6 * MIB, &err), SL_NOMEM);
	sl_buffer_ref(a);
	sl_buffer_unref(a);
	assert_int_equal(sl_buffer_book(&b, 6 * MIB, &err), SL_NOMEM);
	sl_buffer_unref(a);
	assert_int_equal(sl_buffer_book(&b, 6 * MIB, &err), 0);
	sl_buffer_unref(b);
}

static void test_what_is_not_needed_is_given_back(void **state)
{
	struct sl_buffer *a, *b;
	struct sl_error err;
	(void)state;
	sl_buffer_limit(10 * MIB);
	assert_int_equal(sl_buffer_book(&a, 10 * MIB, &err), 0);
	memcpy(a->data, "text", 4);
	sl_buffer_shrink(&a, 4);
	assert_int_equal(a->bytes, 4);
	assert_memory_equal(a->data, "text", 4);
	assert_int_equal(sl_buffer_book(&b, 9 * MIB, &err), 0);
	sl_buffer_unref(a);
	sl_buffer_unref(b);
	assert_int_equal(sl_buffer_book(&b, 10 * MIB, &err), 0);
	sl_buffer_unref(b);
}

static void test_short_ones_are_not_counted(void **state)
{
	struct sl_buffer *a, *b;
	struct sl_error err;
	(void)state;
	sl_buffer_limit(1);
	assert_int_equal(sl_buffer_book(&a, 1000, &err), 0);
	assert_int_equal(sl_buffer_book(&b, MIB, &err), SL_TOOBIG);
	sl_buffer_unref(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_booked_until_the_last_reference_goes),
		cmocka_unit_test(test_what_is_not_needed_is_given_back),
		cmocka_unit_test(test_short_ones_are_not_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
