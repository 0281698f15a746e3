/* Other programs: their output, their ends, and their limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/processes/child.h"

struct seen {
	int calls;
	struct sl_child_result result;
	char out[100], errors[100], problem[200];
};

static void on_end(void *arg, const struct sl_child_result *r)
{
	struct seen *seen = arg;
	seen->calls++;
	seen->result = *r;
	snprintf(seen->out, sizeof seen->out, "%s", r->out);
	snprintf(seen->errors, sizeof seen->errors, "%s", r->errors);
	sl_child_problem(r, "it", seen->problem, sizeof seen->problem);
}

static struct seen run_with(const char *program, const char *script, const char *input, size_t most, int limit_ms)
{
	uv_loop_t loop;
	struct seen seen = {0};
	const char *const argv[] = {program, "-c", script, NULL};
	const char *const environment[] = {"SPACELAND_SAID=yes", "HOME=/nowhere", NULL};
	const struct sl_child_spec spec = {.argv = argv, .environment = environment, .input = input, .most_bytes = most,
					   .limit_ms = limit_ms};
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_non_null(sl_child_run(&loop, &spec, on_end, &seen));
	assert_int_equal(seen.calls, 0);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	assert_int_equal(seen.calls, 1);
	return seen;
}

static struct seen run(const char *script)
{
	return run_with("sh", script, "a text", 1000, 10000);
}

static void it_reads_and_writes(void **state)
{
	struct seen s = run("cat; echo \" $SPACELAND_SAID $HOME\"; echo careful >&2");
	assert_true(sl_child_succeeded(&s.result));
	assert_string_equal(s.out, "a text yes /nowhere\n");
	assert_string_equal(s.errors, "careful\n");
}

static void its_problem_is_told(void **state)
{
	struct seen s = run("echo; echo 'sbatch: error: no' >&2; echo more >&2; exit 3");
	assert_false(sl_child_succeeded(&s.result));
	assert_int_equal(s.result.status, 3);
	assert_string_equal(s.problem, "sbatch: error: no");
	s = run("exit 4");
	assert_string_equal(s.problem, "it ended with status 4");
	s = run("kill -9 $$");
	assert_string_equal(s.problem, "it was ended by signal 9");
}

static void one_that_is_not_there(void **state)
{
	struct seen s = run_with("/nowhere/sbatch", "", "", 1000, 1000);
	assert_int_equal(s.result.started, ENOENT);
	assert_string_equal(s.problem, "it cannot be started: No such file or directory");
}

static void time_and_output_are_limited(void **state)
{
	struct seen s = run_with("sh", "sleep 60 & sleep 60", "", 1000, 200);
	assert_true(s.result.timed_out);
	s = run_with("sh", "yes", "", 100000, 10000);
	assert_true(s.result.too_long);
	assert_int_equal(s.result.out_bytes, 100000);
}

/* One that a program leaves behind keeps its output open. */
static void what_it_leaves_behind_is_not_waited_for(void **state)
{
	struct seen s = run("sleep 30 & echo done");
	assert_true(sl_child_succeeded(&s.result));
	assert_string_equal(s.out, "done\n");
}

static void a_dropped_one_says_nothing(void **state)
{
	uv_loop_t loop;
	struct seen seen = {0};
	const char *const argv[] = {"sleep", "60", NULL};
	const struct sl_child_spec spec = {.argv = argv, .most_bytes = 10, .limit_ms = 60000};
	assert_int_equal(uv_loop_init(&loop), 0);
	sl_child_drop(sl_child_run(&loop, &spec, on_end, &seen));
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	assert_int_equal(seen.calls, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_reads_and_writes),
		cmocka_unit_test(its_problem_is_told),
		cmocka_unit_test(one_that_is_not_there),
		cmocka_unit_test(time_and_output_are_limited),
		cmocka_unit_test(what_it_leaves_behind_is_not_waited_for),
		cmocka_unit_test(a_dropped_one_says_nothing),
	};
	signal(SIGPIPE, SIG_IGN);  /* as in the server: a program may end without reading its input */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
