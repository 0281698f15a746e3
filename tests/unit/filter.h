/* filter.h -- SPACELAND_TEST_FILTER: the one test to run, or several, with * and ?. After cmocka.h. */
#ifndef SL_TEST_FILTER_H
#define SL_TEST_FILTER_H

#include <stdlib.h>

__attribute__((constructor)) static void filter_tests(void)
{
	const char *filter = getenv("SPACELAND_TEST_FILTER");
	if (filter && *filter)
		cmocka_set_test_filter(filter);
}

#endif
