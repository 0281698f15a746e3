/* Start-time fair queueing: the bound of its theorem for any lengths, shares and levels, and what is added to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "daemon/util/fair.h"
#include "tests/unit/seeds.h"

#define FLOWS 12
#define CLASSES 4
#define LONGEST 10.0

static uint64_t seed;

static double between(double low, double high)
{
	return low + (high - low) * test_uniform(&seed);
}

/* A tree of random shares. */
struct world {
	struct sl_fair top, class[CLASSES], flow[FLOWS];
	double received[FLOWS], of_class[CLASSES];
};

static void build(struct world *w)
{
	*w = (struct world){0};
	for (int i = 0; i < CLASSES; i++)
		sl_fair_join(&w->top, &w->class[i], between(0.1, 5));
	for (int i = 0; i < FLOWS; i++)
		sl_fair_join(&w->class[i % CLASSES], &w->flow[i], between(0.1, 5));
}

static void serve(struct world *w)
{
	int i = (int)(sl_fair_next(&w->top) - w->flow);
	double length = between(0.01, LONGEST);
	assert_in_range(i, 0, FLOWS - 1);
	assert_true(w->flow[i].ready);
	sl_fair_charge_all(&w->flow[i], length);
	w->received[i] += length;
	w->of_class[i % CLASSES] += length;
}

static void expect_near(const struct sl_fair *a, double received_a, const struct sl_fair *b, double received_b)
{
	double apart = fabs(received_a / a->share - received_b / b->share);
	if (apart > LONGEST / a->share + LONGEST / b->share + 1e-9)
		fail_msg("shares %g and %g received %g and %g", a->share, b->share, received_a, received_b);
}

/* Theorem 1: at any time, for any two flows of a class that are ready all the time, whatever others do. */
static void what_is_received_follows_the_shares(void **state)
{
	struct world w;
	seed = test_seed(0);
	for (int round = 0; round < 40; round++) {
		build(&w);
		for (int i = 0; i < FLOWS; i++)
			sl_fair_set_ready(&w.flow[i], true, false);
		int steady = FLOWS / 2;  /* those from it on come and go, at least one of each class stays */
		for (int n = 0; n < 500; n++) {
			serve(&w);
			int i = steady + (int)between(0, FLOWS - steady - 1e-9);
			sl_fair_set_ready(&w.flow[i], between(0, 1) < 0.5, false);
			expect_near(&w.flow[0], w.received[0], &w.flow[4], w.received[4]);
			expect_near(&w.flow[1], w.received[1], &w.flow[5], w.received[5]);
			for (int c = 1; c < CLASSES; c++)
				expect_near(&w.class[0], w.of_class[0], &w.class[c], w.of_class[c]);
		}
	}
}

/* A flow that was idle gets its share from now on, and no more: it has not saved up what it did not use. */
static void idle_flows_save_up_nothing(void **state)
{
	struct sl_fair top = {0}, a = {0}, b = {0};
	double received[2] = {0};
	sl_fair_join(&top, &a, 1);
	sl_fair_join(&top, &b, 1);
	sl_fair_set_ready(&a, true, false);
	for (int i = 0; i < 1000; i++)
		sl_fair_charge(sl_fair_next(&top), 1);
	sl_fair_set_ready(&b, true, false);
	for (int i = 0; i < 100; i++) {
		struct sl_fair *f = sl_fair_next(&top);
		sl_fair_charge(f, 1);
		received[f == &b]++;
	}
	assert_true(fabs(received[0] - received[1]) <= 2);
}

static int first_services(struct sl_fair *top, const struct sl_fair *of)
{
	int count = 0;
	while (sl_fair_next(top) == of && count < 1000) {
		sl_fair_charge((struct sl_fair *)of, 1);
		count++;
	}
	return count;
}

/* ... except for the credit; and an urgent flow gets some of its service early, not more of it. */
static void credit_and_borrowed_time_are_bounded(void **state)
{
	for (int urgent = 0; urgent < 2; urgent++) {
		struct sl_fair top = {.credit = urgent ? 0 : 20, .borrow = urgent ? 20 : 0}, a = {0}, b = {0};
		sl_fair_join(&top, &a, 1);
		sl_fair_join(&top, &b, 2);
		sl_fair_set_ready(&a, true, false);
		for (int i = 0; i < 100; i++)
			sl_fair_charge(&a, 1);
		sl_fair_set_ready(&b, true, urgent);
		int count = first_services(&top, &b);
		assert_in_range(count, urgent ? 40 : 20, urgent ? 43 : 23);  /* 20 of virtual time, at a share of 2 */
		double received = 0;
		for (int i = 0; i < 300; i++) {
			struct sl_fair *f = sl_fair_next(&top);
			sl_fair_charge(f, 1);
			received += f == &b;
		}
		assert_true(fabs(received - 200) <= 3);
	}
}

/* A new share does not turn into a wait what the flow has received before. */
static void a_new_share_applies_at_once(void **state)
{
	struct sl_fair top = {0}, a = {0}, b = {0};
	sl_fair_join(&top, &a, 1);
	sl_fair_join(&top, &b, 1e-6);
	sl_fair_set_ready(&a, true, false);
	sl_fair_set_ready(&b, true, false);
	sl_fair_charge(&b, 1);  /* a million of virtual time */
	sl_fair_set_share(&b, 1);
	int of_b = 0;
	for (int i = 0; i < 10; i++) {
		struct sl_fair *f = sl_fair_next(&top);
		sl_fair_charge(f, 1);
		of_b += f == &b;
	}
	assert_in_range(of_b, 4, 6);
}

static void age_halves_the_distances(void **state)
{
	struct sl_fair top = {0}, class = {0}, a = {0}, b = {0};
	sl_fair_join(&top, &class, 1);
	sl_fair_join(&class, &a, 1);
	sl_fair_join(&class, &b, 1);
	sl_fair_set_ready(&a, true, false);
	sl_fair_set_ready(&b, true, false);
	sl_fair_charge_all(&a, 64);
	sl_fair_charge(&b, 0);
	assert_true(sl_fair_before(&b, &a) && !sl_fair_before(&a, &b) && !sl_fair_before(&a, &a));
	sl_fair_age(&top, 0.125);
	assert_true(fabs(a.start - b.start - 8) < 1e-9);
}

/* The parts of ready flows add up to one, level by level. */
static void parts_add_up(void **state)
{
	struct world w;
	seed = test_seed(1);
	build(&w);
	for (int i = 0; i < FLOWS; i += 1 + (i == 3))
		sl_fair_set_ready(&w.flow[i], true, false);
	double all = 0, first = 0, of_first = w.class[0].share / (w.class[0].share + w.class[1].share + w.class[2].share +
								  w.class[3].share);
	for (int i = 0; i < FLOWS; i++) {
		all += sl_fair_part(&w.flow[i]);
		first += i % CLASSES ? 0 : sl_fair_part(&w.flow[i]);
	}
	assert_true(fabs(all - 1) < 1e-12 && fabs(first - of_first) < 1e-12);
	assert_true(sl_fair_part(&w.flow[4]) == 0);  /* it is not ready */
}

/* A user who goes and comes back is the same flow while ahead of others, and forgotten then. */
static void names_are_kept_as_long_as_they_matter(void **state)
{
	struct sl_fair top = {0}, *ann = sl_fair_named(&top, "ann", sizeof *ann);
	struct sl_fair *bob = sl_fair_named(&top, "bob", sizeof *bob);
	sl_fair_set_ready(ann, true, false);
	sl_fair_set_ready(bob, true, false);
	sl_fair_charge(ann, 10);
	sl_fair_set_ready(ann, false, false);
	sl_fair_release(ann);
	sl_fair_forget(&top);
	assert_ptr_equal(sl_fair_named(&top, "ann", sizeof *ann), ann);
	sl_fair_release(ann);
	for (int i = 0; i < 12; i++)
		sl_fair_charge(bob, 1);
	sl_fair_forget(&top);
	assert_int_equal(top.flows.count, 1);
	sl_fair_finish(&top);
	assert_int_equal(top.flows.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_received_follows_the_shares),
		cmocka_unit_test(idle_flows_save_up_nothing),
		cmocka_unit_test(credit_and_borrowed_time_are_bounded),
		cmocka_unit_test(a_new_share_applies_at_once),
		cmocka_unit_test(age_halves_the_distances),
		cmocka_unit_test(parts_add_up),
		cmocka_unit_test(names_are_kept_as_long_as_they_matter),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
