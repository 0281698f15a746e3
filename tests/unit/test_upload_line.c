/* The line of uploads: which are read at once, and which wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/graphs/upload_line.h"

#define GIB (1ull << 30)

static struct sl_upload_line line;

static int empty(void **state)
{
	sl_upload_line_finish(&line);
	line = (struct sl_upload_line){0};
	return 0;
}

static void small_ones_in_their_order(void **state)
{
	struct sl_upload_place p[5];
	for (int i = 0; i < 5; i++)
		sl_upload_line_add(&line, &p[i], 1000, "");
	for (int i = 0; i < SL_UPLOADS_MAX; i++)
		assert_ptr_equal(sl_upload_line_next(&line, GIB), &p[i]);
	assert_null(sl_upload_line_next(&line, GIB));
	assert_int_equal(sl_upload_line_waiting(&line), 2);
	sl_upload_line_leave(&line, &p[1]);
	assert_ptr_equal(sl_upload_line_next(&line, GIB), &p[3]);
	sl_upload_line_leave(&line, &p[4]);  /* it no longer waits */
	sl_upload_line_leave(&line, &p[4]);  /* leaving twice is allowed */
	sl_upload_line_leave(&line, &p[0]);
	assert_null(sl_upload_line_next(&line, GIB));
	sl_upload_line_leave(&line, &p[2]);
	sl_upload_line_leave(&line, &p[3]);
	assert_int_equal(line.reading.count, 0);
	assert_int_equal(sl_upload_line_waiting(&line), 0);
}

static void large_ones_leave_a_place(void **state)
{
	struct sl_upload_place large[8], small;
	for (int i = 0; i < 8; i++)
		sl_upload_line_add(&line, &large[i], GIB, "");
	for (int i = 0; i < SL_UPLOADS_LARGE; i++)
		assert_ptr_equal(sl_upload_line_next(&line, 100 * GIB), &large[i]);
	assert_null(sl_upload_line_next(&line, 100 * GIB));
	sl_upload_line_add(&line, &small, 1000, "");
	assert_ptr_equal(sl_upload_line_next(&line, 100 * GIB), &small);
	assert_null(sl_upload_line_next(&line, 100 * GIB));
	sl_upload_line_leave(&line, &large[0]);
	assert_ptr_equal(sl_upload_line_next(&line, 100 * GIB), &large[2]);
}

static void large_ones_share_a_budget(void **state)
{
	struct sl_upload_place large[3];
	sl_upload_line_add(&line, &large[0], 50 * GIB, "");  /* needs more than the total: runs alone */
	sl_upload_line_add(&line, &large[1], 3 * GIB, "");
	sl_upload_line_add(&line, &large[2], 2 * GIB, "");
	assert_ptr_equal(sl_upload_line_next(&line, 4 * GIB), &large[0]);
	assert_null(sl_upload_line_next(&line, 4 * GIB));
	sl_upload_line_leave(&line, &large[0]);
	assert_ptr_equal(sl_upload_line_next(&line, 4 * GIB), &large[1]);
	assert_null(sl_upload_line_next(&line, 4 * GIB));
	assert_ptr_equal(sl_upload_line_next(&line, 5 * GIB), &large[2]);
	sl_upload_line_leave(&line, &large[1]);
	sl_upload_line_leave(&line, &large[2]);
	assert_int_equal(line.bytes, 0);
}

/* A large upload is eventually read, even if small ones keep arriving. */
static void small_ones_leave_a_place(void **state)
{
	struct sl_upload_place large, small[4];
	for (int i = 0; i < 3; i++)
		sl_upload_line_add(&line, &small[i], 1000, "");
	for (int i = 0; i < 3; i++)
		sl_upload_line_next(&line, GIB);
	sl_upload_line_add(&line, &small[3], 1000, "");
	sl_upload_line_add(&line, &large, GIB, "");
	assert_null(sl_upload_line_next(&line, GIB));
	sl_upload_line_leave(&line, &small[0]);
	assert_ptr_equal(sl_upload_line_next(&line, GIB), &large);
	assert_null(sl_upload_line_next(&line, GIB));
	sl_upload_line_leave(&line, &small[1]);
	assert_ptr_equal(sl_upload_line_next(&line, GIB), &small[3]);
}

/* Whoever sends many uploads does not keep others waiting for all of them. */
static void users_take_turns(void **state)
{
	struct sl_upload_place many[6], one, two[2], large[3], other;
	for (int i = 0; i < 6; i++)
		sl_upload_line_add(&line, &many[i], 1000, "ann");
	for (int i = 0; i < SL_UPLOADS_MAX - 1; i++)
		assert_ptr_equal(sl_upload_line_next(&line, GIB), &many[i]);
	assert_null(sl_upload_line_next(&line, GIB));  /* the last place is for others */
	sl_upload_line_add(&line, &one, 1000, "bob");
	for (int i = 0; i < 2; i++)
		sl_upload_line_add(&line, &two[i], 1000, "cat");
	assert_ptr_equal(sl_upload_line_next(&line, GIB), &one);
	sl_upload_line_leave(&line, &many[0]);
	assert_ptr_equal(sl_upload_line_next(&line, GIB), &two[0]);
	sl_upload_line_leave(&line, &one);
	assert_ptr_equal(sl_upload_line_next(&line, GIB), &many[2]);  /* each of ann and cat has one; hers came first */
	empty(NULL);
	for (int i = 0; i < 3; i++)
		sl_upload_line_add(&line, &large[i], GIB, "ann");
	assert_ptr_equal(sl_upload_line_next(&line, 9 * GIB), &large[0]);
	sl_upload_line_add(&line, &other, GIB, "bob");
	assert_ptr_equal(sl_upload_line_next(&line, 9 * GIB), &other);
}

static void memory_by_the_first_bytes(void **state)
{
	uint64_t plain = sl_upload_memory(1000, "1 2 3", 5);
	assert_true(plain >= 4000);
	assert_true(sl_upload_memory(1000, "\x1f\x8b\x08\x00", 4) > 2 * plain);
	assert_true(sl_upload_memory(1000, "\x28\xb5\x2f\xfd", 4) > 2 * plain);
	assert_true(sl_upload_memory(1000, "PK\003\004", 4) > 2 * plain);
	assert_true(sl_upload_memory(1000, "\x28\xb5", 2) == plain);
	assert_true(sl_upload_memory(UINT64_MAX / 2, "", 0) == UINT64_MAX);
	assert_true(sl_upload_memory(0, "", 0) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(small_ones_in_their_order, empty, empty),
		cmocka_unit_test_setup_teardown(large_ones_leave_a_place, empty, empty),
		cmocka_unit_test_setup_teardown(large_ones_share_a_budget, empty, empty),
		cmocka_unit_test_setup_teardown(small_ones_leave_a_place, empty, empty),
		cmocka_unit_test_setup_teardown(users_take_turns, empty, empty),
		cmocka_unit_test(memory_by_the_first_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
