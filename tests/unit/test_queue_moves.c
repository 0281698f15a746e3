/* Which job moves to another device: the queue's decision, without jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "daemon/queue/queue.h"
#include "tests/unit/seeds.h"

#define JOBS 40
#define DEVICES 3

static struct sl_daemon server;
static struct sl_engines engines;
static struct sl_queue queue;
static struct sl_place job[JOBS];
static bool brief[JOBS], tied[JOBS];
static int jobs, moves;

static bool lasts(const struct sl_place *p)
{
	return !brief[p - job];
}

static bool may_move(const struct sl_place *p, const struct sl_server_device *to)
{
	assert_true(lasts(p) && p->device != to && p->engine == &engines.engine[0]);
	return !tied[p - job];
}

static void move(struct sl_place *p, struct sl_server_device *to)
{
	p->device = to;
	moves++;
}

static void open_devices(int devices)
{
	memset(&engines, 0, sizeof engines);
	memset(brief, 0, sizeof brief);
	memset(tied, 0, sizeof tied);
	memset(job, 0, sizeof job);
	jobs = 0;
	queue = (struct sl_queue){.d = &server, .engines = &engines, .lasts = lasts, .may_move = may_move, .move = move};
	engines.engine[0] = (struct sl_server_engine){.device = engines.device, .devices = devices};
	for (int i = 0; i < devices; i++) {
		engines.device[i].index = i;
		engines.device[i].stage = SL_DEVICE_OPEN;
	}
}

static void add(int device, const char *user, int priority)
{
	struct sl_place *p = &job[jobs++];
	*p = (struct sl_place){.user = user, .project = "", .engine = &engines.engine[0], .priority = priority,
			       .device = &engines.device[device]};
	sl_list_prepend(&queue.places, &p->placed);
}

/* Moves jobs until none moves; returns the number of moves. */
static int settle(void)
{
	int before = moves, last;
	do {
		last = moves;
		sl_queue_balance(&queue);
		assert_in_range(moves, last, last + 1);
		assert_in_range(moves - before, 0, 2 * JOBS);
	} while (moves > last);
	return moves - before;
}

static int on(int device, const char *user)
{
	int count = 0;
	for (int i = 0; i < jobs; i++)
		count += job[i].device == &engines.device[device] && !strcmp(job[i].user, user);
	return count;
}

static void jobs_of_one_user_spread(void **state)
{
	open_devices(2);
	for (int i = 0; i < 5; i++)
		add(0, "", 0);
	assert_int_equal(settle(), 2);
	assert_int_equal(on(0, ""), 3);  /* 3 and 2: a further move would gain nothing */
}

/* One has as much of the engine as nine of another user: so it gets a device for itself. */
static void by_what_is_due_and_not_by_number(void **state)
{
	open_devices(2);
	add(0, "ann", 0);
	for (int i = 0; i < 9; i++)
		add(i % 2, "bob", 0);
	settle();
	assert_int_equal(on(0, "bob") * on(0, "ann") + on(1, "bob") * on(1, "ann"), 0);
	open_devices(2);
	add(0, "ann", 3);
	for (int i = 0; i < 8; i++)
		add(0, "ann", 0);
	settle();
	assert_int_equal(on(0, "ann") == 1 || on(1, "ann") == 1, 1);  /* 2^3 = 8 */
}

static void what_ends_soon_or_may_not_move_stays(void **state)
{
	open_devices(2);
	for (int i = 0; i < 4; i++)
		add(0, "", 0);
	brief[0] = brief[1] = brief[2] = true;
	assert_int_equal(settle(), 0);
	memset(brief, 0, sizeof brief);
	tied[1] = tied[2] = tied[3] = true;
	assert_int_equal(settle(), 1);
	assert_ptr_equal(job[0].device, &engines.device[1]);
}

static void nothing_moves_to_a_device_that_is_down(void **state)
{
	open_devices(3);
	for (int i = 0; i < 4; i++)
		add(0, "", 0);
	engines.device[1].stage = SL_DEVICE_IDLE;
	engines.device[2].state.down = true;
	assert_int_equal(settle(), 0);
	engines.device[2].state.down = false;
	assert_int_equal(settle(), 2);
	assert_int_equal(on(2, ""), 2);
}

/* The weights of jobs as the definition says: users equally, each one's jobs by 2^priority. */
static void loads_of(double load[DEVICES], double weight[JOBS])
{
	memset(load, 0, DEVICES * sizeof *load);
	for (int i = 0; i < jobs; i++) {
		double all = 0;
		for (int k = 0; k < jobs; k++)
			all += strcmp(job[k].user, job[i].user) ? 0 : ldexp(1, job[k].priority);
		weight[i] = ldexp(1, job[i].priority) / all;
		load[job[i].device->index] += weight[i];
	}
}

/* Whatever jobs there are: moves come to an end, and then no job between the fullest and the emptiest device would
 * lower the higher of their loads by more than a hundredth. */
static void moves_end_in_balance(void **state)
{
	static const char *const users[] = {"ann", "bob", "cat", "dan"};
	uint64_t seed = test_seed(0);
	for (int round = 0; round < 200; round++) {
		double load[DEVICES], weight[JOBS];
		open_devices(DEVICES);
		int count = 1 + (int)(test_uniform(&seed) * (JOBS - 1));
		for (int i = 0; i < count; i++)
			add((int)(test_uniform(&seed) * DEVICES), users[(int)(test_uniform(&seed) * 4)],
			    (int)(test_uniform(&seed) * 5) - 2);
		settle();
		loads_of(load, weight);
		int high = 0, low = 0;
		bool tie = false;  /* which of two equal devices is taken may depend on rounding */
		for (int i = 1; i < DEVICES; i++) {
			high = load[i] > load[high] ? i : high;
			low = load[i] < load[low] ? i : low;
		}
		for (int i = 0; i < DEVICES; i++)
			tie = tie || (i != high && load[high] - load[i] < 1e-9) || (i != low && load[i] - load[low] < 1e-9);
		for (int i = 0; i < jobs; i++)
			if (job[i].device->index == high && !tie)
				assert_true(fmax(load[high] - weight[i], load[low] + weight[i]) > 0.99 * load[high] - 1e-9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_of_one_user_spread),
		cmocka_unit_test(by_what_is_due_and_not_by_number),
		cmocka_unit_test(what_ends_soon_or_may_not_move_stays),
		cmocka_unit_test(nothing_moves_to_a_device_that_is_down),
		cmocka_unit_test(moves_end_in_balance),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
