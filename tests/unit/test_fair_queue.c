/* The fair queue: users take turns, within the memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/queue/fair_queue.h"

#define MOST 64

/* A request of several turns, whose memory may change after the first turn. */
struct piece {
	struct sl_fair_entry place;
	char letter;
	int turns;
	uint64_t found;   /* bytes from the first turn on; 0: as estimated */
	int done;
};

static uv_loop_t loop;
static struct sl_fair_queue fair_queue;
static char order[MOST + 1];   /* the owners of the turns, in order; turns run one at a time */
static struct piece *newcomer; /* joins after the third turn */

static bool turn(void *arg)
{
	struct piece *p = arg;
	order[strlen(order)] = p->letter;
	if (p->found)
		p->place.bytes = p->found;
	return --p->turns > 0;
}

static void done(void *arg)
{
	struct piece *p = arg;
	assert_null(p->place.link.in);
	p->done++;
	if (newcomer && strlen(order) >= 3) {
		struct piece *next = newcomer;
		newcomer = NULL;
		sl_fair_queue_join(&fair_queue, &next->place, "");
	}
}

static int empty(void **state)
{
	uv_loop_init(&loop);
	fair_queue = (struct sl_fair_queue){.budget = 100};
	memset(order, 0, sizeof order);
	newcomer = NULL;
	return 0;
}

static int closed(void **state)
{
	assert_int_equal(fair_queue.entries.count, 0);
	sl_fair_finish(&fair_queue.users);
	return uv_loop_close(&loop);
}

static struct piece piece(char letter, int turns, uint64_t bytes)
{
	return (struct piece){.letter = letter, .turns = turns,
			      .place = {.turn = turn, .done = done, .loop = &loop, .bytes = bytes}};
}

static void join(struct piece *p, const char *user)
{
	p->place.arg = p;
	sl_fair_queue_join(&fair_queue, &p->place, user);
}

static void a_long_one_holds_up_nobody(void **state)
{
	struct piece a = piece('a', 6, 1), b = piece('b', 1, 1), c = piece('c', 2, 1);
	join(&a, "ann");
	join(&b, "bob");
	join(&c, "cid");
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_string_equal(order, "abcacaaaa");
	assert_true(a.done == 1 && b.done == 1 && c.done == 1);
}

static void many_of_one_user_count_as_one(void **state)
{
	struct piece a[4], b = piece('b', 3, 1);
	for (int i = 0; i < 4; i++) {
		a[i] = piece((char)('0' + i), 2, 1);
		join(&a[i], "ann");
	}
	join(&b, "bob");
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_string_equal(order, "0b0b1b12233");  /* and in their order */
}

static void unknown_ones_count_for_themselves(void **state)
{
	struct piece a = piece('a', 3, 1), b = piece('b', 2, 1);
	join(&a, "");
	join(&b, "");
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_string_equal(order, "ababa");
}

/* It has had the fewest turns, but has not waited longest. */
static void a_newcomer_waits_as_long_as_others(void **state)
{
	struct piece a = piece('a', 4, 1), b = piece('b', 4, 1), c = piece('c', 1, 1), d = piece('d', 2, 1);
	newcomer = &d;
	d.place.arg = &d;
	join(&a, "");
	join(&b, "");
	join(&c, "");
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_string_equal(order, "abcabdabdab");
}

static void memory_limits_who_begins(void **state)
{
	struct piece a = piece('a', 3, 60), b = piece('b', 2, 60), c = piece('c', 1, 10), huge = piece('h', 2, 1000);
	join(&a, "");
	join(&b, "");
	join(&c, "");  /* would fit beside a, but b has waited longer */
	join(&huge, "");
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_string_equal(order, "aaabcbhh");  /* if nothing else runs, any request may start */
}

static void what_turns_out_larger_waits(void **state)
{
	struct piece a = piece('a', 3, 10), b = piece('b', 3, 10);
	b.found = 200;
	join(&a, "");
	join(&b, "");
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_string_equal(order, "abaabb");
}

static char rests[8];

static void rest(void *arg)
{
	const struct piece *p = arg;
	assert_int_equal(p->turns, 0);
	assert_false(p->done);
	rests[strlen(rests)] = p->letter;
}

/* It occupies memory, but gets no turns. */
static void the_rest_comes_after_the_turns(void **state)
{
	struct piece a = piece('a', 1, 60), b = piece('b', 3, 10), c = piece('c', 1, 60);
	memset(rests, 0, sizeof rests);
	a.place.rest = rest;
	join(&a, "");
	join(&b, "");
	join(&c, "");
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_string_equal(rests, "a");
	assert_true(a.done == 1 && b.done == 1 && c.done == 1 && strlen(order) == 5);
}

static int begun;

static void begin(void *arg)
{
	begun++;
}

static void begins_before_its_first_turn(void **state)
{
	struct piece a = piece('a', 1, 1), b = piece('b', 2, 1), gone = piece('g', 1, 1);
	begun = 0;
	a.place.begin = gone.place.begin = begin;
	join(&a, "");
	join(&gone, "");
	join(&b, "");
	assert_int_equal(begun, 2);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_string_equal(order, "bb");  /* others continue meanwhile */
	sl_fair_queue_ready(&a.place);
	sl_fair_queue_leave(&gone.place);
	sl_fair_queue_leave(&gone.place);  /* leaving twice is allowed */
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_string_equal(order, "bba");
	assert_true(a.done == 1 && !gone.done);
}

/* For turns of fixed + each * amount seconds, the amount converges to one second of work, or to as much work as the
 * fixed part costs. */
static void amounts_settle(void **state)
{
	static const struct {
		double fixed, each;
		uint32_t first, least, most;
	} cases[] = {
		{0, 1e-3, 256, 900, 1100}, {0, 1e-6, 256, 900000, 1100000}, {0, 0.5, 256, 1, 3},
		{4, 1e-3, 256, 3500, 4500}, {0.1, 1e-2, 1024, 80, 120}, {0, 0, 1024, 4000000, UINT32_MAX},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sl_fair_pace pace = {0};
		uint32_t amount = cases[i].first;
		for (int k = 0; k < 12; k++)
			amount = sl_fair_pace_amount(&pace, amount, cases[i].fixed + cases[i].each * amount);
		assert_in_range(amount, cases[i].least, cases[i].most);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_long_one_holds_up_nobody, empty, closed),
		cmocka_unit_test_setup_teardown(many_of_one_user_count_as_one, empty, closed),
		cmocka_unit_test_setup_teardown(unknown_ones_count_for_themselves, empty, closed),
		cmocka_unit_test_setup_teardown(a_newcomer_waits_as_long_as_others, empty, closed),
		cmocka_unit_test_setup_teardown(memory_limits_who_begins, empty, closed),
		cmocka_unit_test_setup_teardown(what_turns_out_larger_waits, empty, closed),
		cmocka_unit_test_setup_teardown(the_rest_comes_after_the_turns, empty, closed),
		cmocka_unit_test_setup_teardown(begins_before_its_first_turn, empty, closed),
		cmocka_unit_test(amounts_settle),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
