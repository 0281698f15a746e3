/* sl_turns(): short work is done within the call; long work in several turns of the loop, between which other work
 * runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/util/turns.h"

struct work {
	int steps, needed, done;
	int others;          /* turns of the loop that came in between */
	uint64_t step_ms;
};

static bool step(void *arg)
{
	struct work *w = arg;
	assert_int_equal(w->done, 0);
	for (uint64_t end = uv_hrtime() + w->step_ms * 1000000; uv_hrtime() < end;)
		;
	return ++w->steps == w->needed;
}

static void done(void *arg)
{
	struct work *w = arg;
	assert_int_equal(w->steps, w->needed);
	w->done++;
}

static void short_work_is_done_at_once(void **state)
{
	uv_loop_t loop;
	struct work w = {.needed = 100};
	uv_loop_init(&loop);
	assert_true(sl_turns(&loop, step, done, &w));
	assert_int_equal(w.done, 1);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(w.done, 1);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void on_check(uv_check_t *check)
{
	struct work *w = check->data;
	w->others++;
	if (w->done)
		uv_close((uv_handle_t *)check, NULL);
}

static void others_have_turns_during_long_work(void **state)
{
	uv_loop_t loop;
	uv_check_t check;
	struct work w = {.needed = 30, .step_ms = 2}, beside = {.needed = 10, .step_ms = 2};
	uv_loop_init(&loop);
	uv_check_init(&loop, &check);
	check.data = &w;
	uv_check_start(&check, on_check);
	assert_false(sl_turns(&loop, step, done, &w));
	assert_in_range(w.steps, 1, 3);  /* 5 ms */
	assert_false(sl_turns(&loop, step, done, &beside));
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(w.done, 1);
	assert_int_equal(beside.done, 1);
	assert_in_range(w.others, 9, 31);
	assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_work_is_done_at_once),
		cmocka_unit_test(others_have_turns_during_long_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
