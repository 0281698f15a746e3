/* The scheduler shares the time of a device. Every test simulates a device that runs the chosen job for SLICE
 * milliseconds at a time, and then compares the device time of each job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "daemon/device/scheduler.h"
#include "daemon/engines/backlog.h"

#define SLICE 10.0
#define OLD 1e6  /* ms of device time that a job has had, so that it is not new */

static struct sl_scheduler *create(void)
{
	struct sl_scheduler *s;
	assert_int_equal(sl_scheduler_create(&s, NULL), 0);
	return s;
}

static void add(struct sl_scheduler *s, struct sl_scheduled *t, const char *client, int priority, double used_ms)
{
	assert_int_equal(sl_scheduler_add(s, t, "lab", 1, client, priority, used_ms, NULL), 0);
}

/* Runs so many slices; returns the number of slices with a runnable job. */
static int play(struct sl_scheduler *s, int slices)
{
	int ran = 0;
	for (int i = 0; i < slices; i++) {
		struct sl_scheduled *t = sl_scheduler_pick(s);
		if (!t)
			break;
		assert_true(t->runnable);
		sl_scheduler_charge(s, t, SLICE, SLICE);
		ran++;
	}
	return ran;
}

static void finish(struct sl_scheduler *s, struct sl_scheduled *t, int count)
{
	for (int i = 0; i < count; i++)
		sl_scheduler_remove(s, &t[i]);
	sl_scheduler_destroy(s);
}

static void near(double a, double b, double within)
{
	if (!(a - b <= within && b - a <= within))
		fail_msg("%g is not within %g of %g", a, within, b);
}

static void nothing_to_run(void **state)
{
	struct sl_scheduler *s = create();
	struct sl_scheduled t[1];
	assert_null(sl_scheduler_pick(s));
	add(s, &t[0], "a", 0, OLD);
	sl_scheduler_set_runnable(s, &t[0], false);
	assert_null(sl_scheduler_pick(s));
	finish(s, t, 1);
	sl_scheduler_destroy(NULL);
}

static void equals_get_the_same(void **state)
{
	struct sl_scheduler *s = create();
	struct sl_scheduled t[3];
	for (int i = 0; i < 3; i++)
		add(s, &t[i], "a", 0, OLD);
	assert_int_equal(play(s, 300), 300);
	for (int i = 0; i < 3; i++)
		near(t[i].used_ms - OLD, 1000, SLICE);
	finish(s, t, 3);
}

/* Small jobs of `left` ms each run together beside a large one. Gives the time until the last small job ends, and the
 * large job's time until then. */
static void beside(double used_ms, double left, double *through_ms, double *large_ms)
{
	struct sl_scheduler *s = create();
	struct sl_scheduled t[21];
	bool gone[21] = {false};
	int small = 20;
	add(s, &t[20], "a", 0, OLD);
	play(s, 10);
	for (int i = 0; i < 20; i++)
		add(s, &t[i], "a", 0, used_ms);
	for (*through_ms = *large_ms = 0; small; *through_ms += SLICE) {
		struct sl_scheduled *next = sl_scheduler_pick(s);
		int together = small;
		assert_non_null(next);
		if (next == &t[20]) {
			sl_scheduler_charge(s, next, SLICE, SLICE);
			*large_ms += SLICE;
			continue;
		}
		for (int i = 0; i < 20; i++) {
			if (gone[i])
				continue;
			sl_scheduler_charge(s, &t[i], SLICE, SLICE / together);
			if (t[i].used_ms - used_ms >= left) {
				sl_scheduler_remove(s, &t[i]);
				gone[i] = true;
				small--;
			}
		}
	}
	finish(s, &t[20], 1);
}

/* Together they are charged once, not twenty times: a job that fills the device and a group that fills it alternate. */
static void many_together_leave_half_to_a_large_one(void **state)
{
	double through, large;
	beside(OLD, 1000, &through, &large);
	near(through, 2000, 2 * SLICE);
	near(large, 1000, 2 * SLICE);
	beside(0, 50, &through, &large);  /* new jobs come first, except for a fifth of the time */
	near(through, 62.5, 2 * SLICE);
	beside(0, 1000, &through, &large);
	assert_true(through < 2000 && large > 800);
}

static void a_step_of_priority_doubles(void **state)
{
	for (int step = -3; step <= 3; step++) {
		struct sl_scheduler *s = create();
		struct sl_scheduled t[2];
		add(s, &t[0], "a", 0, OLD);
		add(s, &t[1], "a", step, OLD);
		play(s, 4000);
		double ratio = (t[1].used_ms - OLD) / (t[0].used_ms - OLD), due = step < 0 ? 1.0 / (1 << -step) : 1 << step;
		near(ratio / due, 1, 0.02);
		finish(s, t, 2);
	}
}

/* Extreme priorities neither starve a job nor overflow. */
static void extremes(void **state)
{
	struct sl_scheduler *s = create();
	struct sl_scheduled t[2];
	add(s, &t[0], "a", SL_PRIORITY_MIN, OLD);
	add(s, &t[1], "a", SL_PRIORITY_MAX, OLD);
	sl_scheduler_charge(s, &t[0], -1, -1);  /* negative time, after a clock went back, is ignored */
	near(t[0].used_ms, OLD, 0);
	play(s, 1000);
	assert_true(t[1].used_ms > t[0].used_ms);
	sl_scheduler_set_priority(s, &t[0], SL_PRIORITY_MAX);
	double before[2] = {t[0].used_ms, t[1].used_ms};
	play(s, 100000);
	assert_true(t[0].used_ms > before[0] && t[1].used_ms > before[1]);
	finish(s, t, 2);
}

static void clients_share_whatever_they_submit(void **state)
{
	struct sl_scheduler *s = create();
	struct sl_scheduled t[5];
	add(s, &t[0], "one", 0, OLD);
	for (int i = 1; i < 5; i++)
		add(s, &t[i], "four", 0, OLD);
	play(s, 800);
	near(t[0].used_ms - OLD, 4000, 2 * SLICE);
	for (int i = 1; i < 5; i++)
		near(t[i].used_ms - OLD, 1000, 2 * SLICE);
	finish(s, t, 5);
}

static void a_share_is_a_factor(void **state)
{
	struct sl_scheduler *s = create();
	struct sl_scheduled t[2];
	add(s, &t[0], "plain", 0, OLD);
	assert_int_equal(sl_scheduler_add(s, &t[1], "triple", 3, "plain", 0, OLD, NULL), 0);
	play(s, 4000);
	near((t[1].used_ms - OLD) / (t[0].used_ms - OLD), 3, 0.05);
	finish(s, t, 2);
}

/* Time is divided first among groups, regardless of their clients and jobs; then among the clients of a group, then
 * among the jobs of a client. */
static void groups_come_before_clients(void **state)
{
	static const char *const client[] = {"ann", "ann", "ann", "bob", "cat"};
	static const double part[] = {1.0 / 12, 1.0 / 12, 1.0 / 12, 1.0 / 4, 1.0 / 2};
	struct sl_scheduler *s = create();
	struct sl_scheduled t[5];
	for (int i = 0; i < 5; i++)
		assert_int_equal(sl_scheduler_add(s, &t[i], i < 4 ? "many" : "few", 1, client[i], 0, OLD, NULL), 0);
	play(s, 2400);
	for (int i = 0; i < 5; i++)
		near((t[i].used_ms - OLD) / (2400 * SLICE), part[i], 0.01);
	finish(s, t, 5);
}

/* The same user in two groups is two clients; a group that was ahead does not come back as a new one. */
static void a_group_is_remembered_while_it_is_ahead(void **state)
{
	struct sl_scheduler *s = create();
	struct sl_scheduled t[3];
	assert_int_equal(sl_scheduler_add(s, &t[0], "a", 1, "ann", 0, OLD, NULL), 0);
	assert_int_equal(sl_scheduler_add(s, &t[1], "b", 1, "ann", 0, OLD, NULL), 0);
	sl_scheduler_set_runnable(s, &t[1], false);
	sl_scheduler_charge(s, &t[0], 1000, 1000);
	sl_scheduler_remove(s, &t[0]);
	sl_scheduler_set_runnable(s, &t[1], true);
	assert_int_equal(sl_scheduler_add(s, &t[2], "a", 1, "bob", 0, OLD, NULL), 0);
	play(s, 90);
	near(t[1].used_ms - OLD, 900, 0);
	near(t[2].used_ms - OLD, 0, 0);
	sl_scheduler_remove(s, &t[1]);
	sl_scheduler_remove(s, &t[2]);
	sl_scheduler_destroy(s);
}

/* Priorities count within a group, not between groups ... */
static void priorities_stay_in_their_group(void **state)
{
	struct sl_scheduler *s = create();
	struct sl_scheduled t[2];
	assert_int_equal(sl_scheduler_add(s, &t[0], "a", 1, "ann", 5, OLD, NULL), 0);
	assert_int_equal(sl_scheduler_add(s, &t[1], "b", 1, "bob", 0, OLD, NULL), 0);
	play(s, 1000);
	near(t[0].used_ms - t[1].used_ms, 0, 2 * SLICE);
	finish(s, t, 2);
}

/* ... nor between clients: the users of a project get equal shares. */
static void priorities_stay_with_their_client(void **state)
{
	struct sl_scheduler *s = create();
	struct sl_scheduled t[3];
	add(s, &t[0], "ann", 5, OLD);
	add(s, &t[1], "bob", -3, OLD);
	add(s, &t[2], "bob", -4, OLD);
	play(s, 3000);
	near((t[0].used_ms - OLD) / (3000 * SLICE), 0.5, 0.01);
	near((t[1].used_ms - OLD) / (t[2].used_ms - OLD), 2, 0.05);
	finish(s, t, 3);
}

static void a_new_job_is_next(void **state)
{
	struct sl_scheduler *s = create();
	struct sl_scheduled t[4];
	for (int i = 0; i < 3; i++)
		add(s, &t[i], "a", i, OLD);
	play(s, 100);
	add(s, &t[3], "a", 0, 0);
	assert_ptr_equal(sl_scheduler_pick(s), &t[3]);
	/* A job of 40 ms, the time of 1,000 nodes and 250 iterations, ends soon. */
	int slices = 0;
	while (t[3].used_ms < 40 && slices < 100)
		slices += play(s, 1);
	assert_in_range(slices, 4, 6);
	finish(s, t, 4);
}

/* With new jobs all the time, the old one still gets its fifth. */
static void a_flood_of_new_jobs_leaves_a_fifth(void **state)
{
	struct sl_scheduler *s = create();
	struct sl_scheduled old[1], small[2];
	add(s, &old[0], "a", 0, OLD);
	add(s, &small[0], "a", 0, 0);
	add(s, &small[1], "a", 0, 0);
	for (int slice = 0; slice < 2000; slice++) {
		play(s, 1);
		for (int i = 0; i < 2; i++)
			if (small[i].used_ms >= 30) {
				sl_scheduler_remove(s, &small[i]);
				add(s, &small[i], "a", 0, 0);
			}
	}
	double share = (old[0].used_ms - OLD) / (2000 * SLICE);
	assert_true(share > 0.15 && share < 0.5);
	sl_scheduler_remove(s, &small[0]);
	sl_scheduler_remove(s, &small[1]);
	finish(s, old, 1);
}

/* ... and a client cannot take another's time by submitting new jobs. */
static void a_flood_does_not_beat_another_client(void **state)
{
	struct sl_scheduler *s = create();
	struct sl_scheduled steady[1], small[1];
	add(s, &steady[0], "steady", 0, OLD);
	add(s, &small[0], "flood", 0, 0);
	for (int slice = 0; slice < 4000; slice++) {
		play(s, 1);
		if (small[0].used_ms >= 50) {
			sl_scheduler_remove(s, &small[0]);
			add(s, &small[0], "flood", 0, 0);
		}
	}
	near((steady[0].used_ms - OLD) / (4000 * SLICE), 0.5, 0.03);
	sl_scheduler_remove(s, &small[0]);
	finish(s, steady, 1);
}

/* A short gap between the end of a user's jobs and the start of the next ones does not reduce the user's share. */
static void moments_between_jobs_cost_nothing(void **state)
{
	struct sl_scheduler *s = create();
	struct sl_scheduled steady[1], brief[1];
	double used = 0;
	int until = -1;  /* the slice at which the next job starts */
	assert_int_equal(sl_scheduler_add(s, &steady[0], "steady", 1, "ann", 0, OLD, NULL), 0);
	assert_int_equal(sl_scheduler_add(s, &brief[0], "brief", 4, "bob", 0, OLD, NULL), 0);
	for (int slice = 0; slice < 10000; slice++) {
		play(s, 1);
		if (until < 0 && brief[0].used_ms >= OLD + 500) {
			used += brief[0].used_ms - OLD;
			sl_scheduler_remove(s, &brief[0]);
			until = slice + 5;
		} else if (slice == until) {
			assert_int_equal(sl_scheduler_add(s, &brief[0], "brief", 4, "bob", 0, OLD, NULL), 0);
			until = -1;
		}
	}
	used += until < 0 ? brief[0].used_ms - OLD : 0;
	near(used / (10000 * SLICE), 0.8, 0.01);
	if (until < 0)
		sl_scheduler_remove(s, &brief[0]);
	finish(s, steady, 1);
}

/* Slices until a small job of a client who has rested is done, beside four others with large jobs. */
static int slices_of_a_small_job(double slowness, int slices)
{
	static const char *const others[] = {"a", "b", "c", "d"};
	struct sl_scheduler *s = create();
	struct sl_scheduled large[4], small;
	int waited = 0;
	for (int i = 0; i < 4; i++)
		assert_int_equal(sl_scheduler_add(s, &large[i], others[i], 1, "client", 0, OLD, NULL), 0);
	assert_int_equal(sl_scheduler_add(s, &small, "rested", 1, "ann", 0, OLD, NULL), 0);
	sl_scheduler_set_slowness(s, slowness);
	sl_scheduler_set_runnable(s, &small, false);
	play(s, 1000);
	sl_scheduler_remove(s, &small);
	assert_int_equal(sl_scheduler_add(s, &small, "rested", 1, "ann", 0, 0, NULL), 0);
	for (; small.used_ms < slices * SLICE; waited++)
		play(s, 1);
	sl_scheduler_remove(s, &small);
	finish(s, large, 4);
	return waited;
}

/* The job takes four times as long where other programs have three quarters of the processor, and is still small. */
static void other_programs_do_not_make_a_job_large(void **state)
{
	assert_int_equal(slices_of_a_small_job(1, 20), 20);
	assert_true(slices_of_a_small_job(1, 80) > 200);
	assert_true(slices_of_a_small_job(4, 80) <= 81);
	assert_true(slices_of_a_small_job(1000, 1000) > 2000);  /* the factor has a limit */
}

static void long_sleep_saves_little(void **state)
{
	struct sl_scheduler *s = create();
	struct sl_scheduled t[3];
	add(s, &t[0], "a", 0, OLD);
	add(s, &t[1], "a", 0, OLD);
	add(s, &t[2], "b", 0, OLD);
	play(s, 10);
	sl_scheduler_set_runnable(s, &t[1], false);
	sl_scheduler_set_runnable(s, &t[2], false);
	double asleep = t[1].used_ms;
	play(s, 1000);
	near(t[1].used_ms, asleep, 0);
	sl_scheduler_set_runnable(s, &t[1], true);
	sl_scheduler_set_runnable(s, &t[2], true);
	sl_scheduler_set_runnable(s, &t[2], true);  /* repeating it has no effect */
	double before[3] = {t[0].used_ms, t[1].used_ms, t[2].used_ms};
	play(s, 400);
	near(t[0].used_ms - before[0], 1000 - SL_CREDIT_MS / 4, 3 * SLICE);
	near(t[1].used_ms - before[1], 1000 - SL_CREDIT_MS / 4, 3 * SLICE);
	near(t[2].used_ms - before[2], 2000 + SL_CREDIT_MS / 2, 3 * SLICE);
	finish(s, t, 3);
}

/* ---- the line at the door --------------------------------------------------- */

/* The number of jobs before w. */
static int position(const struct sl_backlog *b, const struct sl_waiting *w)
{
	int before = 0;
	for (const struct sl_waiting *v = sl_backlog_head(b); v && v != w; v = SL_LIST_NEXT(struct sl_waiting, v, link))
		before++;
	return before;
}

static void first_come_within_a_priority(void **state)
{
	struct sl_backlog b = {0};
	struct sl_waiting w[4];
	static const int priority[] = {0, 3, 0, 3}, due[] = {1, 3, 0, 2};
	for (int i = 0; i < 4; i++)
		sl_backlog_add(&b, &w[i], priority[i], 1);
	for (int i = 0; i < 4; i++)
		assert_int_equal(position(&b, &w[due[i]]), i);
	for (int i = 0; i < 4; i++)
		assert_ptr_equal(sl_backlog_take(&b, 1, false), &w[due[i]]);
	assert_null(sl_backlog_take(&b, 1, true));
	assert_int_equal(b.waiting.count, 0);
}

static void changes_in_the_line(void **state)
{
	struct sl_backlog b = {0};
	struct sl_waiting w[3];
	for (int i = 0; i < 3; i++)
		sl_backlog_add(&b, &w[i], 0, 1);
	sl_backlog_set_priority(&b, &w[2], 1);
	assert_int_equal(position(&b, &w[2]), 0);
	sl_backlog_set_priority(&b, &w[2], 0);  /* keeps its position: it came last */
	assert_int_equal(position(&b, &w[2]), 2);
	sl_backlog_remove(&b, &w[0]);
	sl_backlog_remove(&b, &w[0]);
	assert_int_equal(b.waiting.count, 2);
	assert_ptr_equal(sl_backlog_take(&b, 1, false), &w[1]);
	assert_ptr_equal(sl_backlog_take(&b, 1, false), &w[2]);
}

static void too_big_waits_until_idle(void **state)
{
	struct sl_backlog b = {0};
	struct sl_waiting big;
	sl_backlog_add(&b, &big, 0, 1000);
	assert_null(sl_backlog_take(&b, 999, false));
	assert_ptr_equal(sl_backlog_take(&b, 999, true), &big);
}

/* Small jobs pass a large one, but not indefinitely. */
static void passing_has_an_end(void **state)
{
	struct sl_backlog b = {0};
	struct sl_waiting big, small;
	sl_backlog_add(&b, &big, 0, 1000);
	int passed = 0;
	for (;; passed++) {
		sl_backlog_add(&b, &small, 0, 1);
		if (!sl_backlog_take(&b, 10, false))
			break;
		assert_in_range(passed, 0, SL_BYPASS_MAX);
	}
	assert_int_equal(passed, SL_BYPASS_MAX);
	assert_ptr_equal(sl_backlog_take(&b, 1000, false), &big);
	assert_ptr_equal(sl_backlog_take(&b, 10, false), &small);
}

/* Passing a held job does not count, even if nothing else runs. */
static void held_ones_are_passed(void **state)
{
	struct sl_backlog b = {0};
	struct sl_waiting w[3];
	for (int i = 0; i < 3; i++)
		sl_backlog_add(&b, &w[i], 0, 10);
	w[0].held = true;
	assert_ptr_equal(sl_backlog_next(&b), &w[1]);
	assert_ptr_equal(sl_backlog_take(&b, 10, false), &w[1]);
	assert_ptr_equal(sl_backlog_take(&b, 0, true), &w[2]);
	assert_int_equal(w[0].bypassed, 0);
	assert_null(sl_backlog_next(&b));
	assert_null(sl_backlog_take(&b, 10, false));
	assert_null(sl_backlog_take(&b, 10, true));
	w[0].held = false;
	assert_ptr_equal(sl_backlog_take(&b, 10, false), &w[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_to_run), cmocka_unit_test(held_ones_are_passed),
		cmocka_unit_test(equals_get_the_same), cmocka_unit_test(many_together_leave_half_to_a_large_one),
		cmocka_unit_test(a_step_of_priority_doubles),
		cmocka_unit_test(extremes),
		cmocka_unit_test(clients_share_whatever_they_submit),
		cmocka_unit_test(a_share_is_a_factor),
		cmocka_unit_test(groups_come_before_clients),
		cmocka_unit_test(a_group_is_remembered_while_it_is_ahead),
		cmocka_unit_test(priorities_stay_in_their_group),
		cmocka_unit_test(priorities_stay_with_their_client),
		cmocka_unit_test(a_new_job_is_next),
		cmocka_unit_test(a_flood_of_new_jobs_leaves_a_fifth),
		cmocka_unit_test(a_flood_does_not_beat_another_client),
		cmocka_unit_test(moments_between_jobs_cost_nothing),
		cmocka_unit_test(other_programs_do_not_make_a_job_large),
		cmocka_unit_test(long_sleep_saves_little),
		cmocka_unit_test(first_come_within_a_priority),
		cmocka_unit_test(changes_in_the_line),
		cmocka_unit_test(too_big_waits_until_idle),
		cmocka_unit_test(passing_has_an_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
