/* The column that colours pictures if nobody chooses one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/picture/picture_choice.h"

static void test_the_column_that_says_most(void **state)
{
	(void)state;
	struct sl_picture_column c[] = {
		{"id", false, 1000, false, false}, {"row", true, 0, true, false}, {"age", true, 0, false, false},
		{"donor", false, 7, false, false},
		{"subtypes", false, 300, false, false}, {"cell type", false, 12, false, false},
		{"leiden_cluster", false, 9, false, false},
	};
	static const int expected[] = {-1, -1, -1, 2, 3, 3, 5, 6};
	for (int count = 0; count <= 7; count++)
		assert_int_equal(sl_picture_choose(c, count, 1000), expected[count]);
	c[4].name = "TYPES";   /* named so, it may have many words */
	assert_int_equal(sl_picture_choose(c, 5, 1000), 4);
	assert_int_equal(sl_picture_choose(c, 5, 599), 3);
	c[3].main = true;   /* of the upload: before all others, if it can colour anything */
	assert_int_equal(sl_picture_choose(c, 7, 1000), 3);
	c[3].categories = 1;
	assert_int_equal(sl_picture_choose(c, 4, 1000), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_column_that_says_most)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
