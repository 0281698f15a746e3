/* Shares of clients and groups over several devices: the schedulers of two devices, each of which gets the clients' use
 * of the other device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "daemon/device/scheduler.h"

#define SLICE 10.0
#define OLD 1e6  /* ms of device time that a job has had, so that it is not new */

static struct sl_scheduler *create(void)
{
	struct sl_scheduler *s;
	assert_int_equal(sl_scheduler_create(&s, NULL), 0);
	return s;
}

static void add(struct sl_scheduler *s, struct sl_scheduled *t, const char *client)
{
	assert_int_equal(sl_scheduler_add(s, t, "lab", 1, client, 0, OLD, NULL), 0);
}

static void play(struct sl_scheduler *s, int slices)
{
	for (int i = 0; i < slices; i++)
		sl_scheduler_charge(s, sl_scheduler_pick(s), SLICE, SLICE);
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

/* Two devices run slices alternately; each gets the time that clients have used on the other. */
struct two {
	struct sl_scheduler *s[2];
	struct sl_scheduled t[2][8];
	const char *group[2][8], *client[2][8];
	int count[2];
};

static void join(struct two *w, int device, const char *group, double share, const char *client)
{
	int i = w->count[device]++;
	w->group[device][i] = group;
	w->client[device][i] = client;
	assert_int_equal(sl_scheduler_add(w->s[device], &w->t[device][i], group, share, client, 0, OLD, NULL), 0);
}

static void play_two(struct two *w, int slices)
{
	for (int i = 0; i < slices; i++)
		for (int d = 0; d < 2; d++) {
			struct sl_scheduled *t = sl_scheduler_pick(w->s[d]);
			size_t k = (size_t)(t - w->t[d]);
			sl_scheduler_charge(w->s[d], t, SLICE, SLICE);
			sl_scheduler_charge_elsewhere(w->s[1 - d], w->group[d][k], w->client[d][k], SLICE);
		}
}

/* A client's fraction of the time of both devices. */
static double part_of(const struct two *w, const char *client)
{
	double all = 0, own = 0;
	for (int d = 0; d < 2; d++)
		for (int i = 0; i < w->count[d]; i++) {
			double used = w->t[d][i].used_ms - OLD;
			all += used;
			own += strcmp(w->client[d][i], client) ? 0 : used;
		}
	return own / all;
}

static void finish_two(struct two *w)
{
	for (int d = 0; d < 2; d++)
		finish(w->s[d], w->t[d], w->count[d]);
}

/* One job beside nine: it gets nearly all time of its device, since the others have the second device; none starves. */
static void shares_hold_over_two_devices(void **state)
{
	struct two w = {.s = {create(), create()}};
	join(&w, 0, "lab", 1, "ann");
	for (int i = 0; i < 4; i++)
		join(&w, 0, "lab", 1, "bob");
	for (int i = 0; i < 5; i++)
		join(&w, 1, "lab", 1, "bob");
	play_two(&w, 5000);
	near(part_of(&w, "ann"), 0.5, 0.02);
	for (int i = 1; i < 5; i++)
		assert_true(w.t[0][i].used_ms - OLD >= SLICE);
	finish_two(&w);
}

static void shares_of_groups_hold_over_two_devices(void **state)
{
	struct two w = {.s = {create(), create()}};
	join(&w, 0, "large", 3, "ann");
	join(&w, 0, "large", 3, "ann");
	join(&w, 0, "small", 1, "bob");
	join(&w, 1, "large", 3, "ann");
	for (int i = 0; i < 4; i++)
		join(&w, 1, "small", 1, "bob");
	play_two(&w, 8000);
	near(part_of(&w, "ann"), 0.75, 0.02);
	finish_two(&w);
}

/* A client that has used another device for long does not wait on this one. */
static void use_elsewhere_is_no_debt_of_newcomers(void **state)
{
	struct sl_scheduler *s = create();
	struct sl_scheduled t[2];
	add(s, &t[0], "ann");
	for (int i = 0; i < 1000; i++)
		sl_scheduler_charge_elsewhere(s, "lab", "bob", 1000);
	play(s, 100);
	add(s, &t[1], "bob");
	sl_scheduler_charge_elsewhere(s, "lab", "bob", 1e6);
	sl_scheduler_charge_elsewhere(s, "lab", "nobody", 1e6);
	play(s, 100);
	near(t[1].used_ms - OLD, 500, 2 * SLICE);
	finish(s, t, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_hold_over_two_devices),
		cmocka_unit_test(shares_of_groups_hold_over_two_devices),
		cmocka_unit_test(use_elsewhere_is_no_debt_of_newcomers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
