/* filter.c -- SPACELAND_TEST_FILTER selects the tests to run: a name, in which * and ? are wildcards. Part of every
 * cmocka test program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

__attribute__((constructor)) static void filter_tests(void)
{
	const char *filter = getenv("SPACELAND_TEST_FILTER");
	if (filter && *filter)
		cmocka_set_test_filter(filter);
}
