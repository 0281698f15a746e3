/* The update of one coordinate: gains, momentum, the limited rate, Adam; compared with the published rules, step by
 * step. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/random.h"
#include "core/engine/update.h"
#include "tests/unit/seeds.h"

/* One node with one gain for each coordinate, as the engines put the parts together. */
static float one_step(float rate, float momentum, float gradient, float y, float *velocity, float *gain)
{
	*gain = sl_update_gain(*gain, sl_update_downhill(gradient, *velocity), SL_GAIN_LEAST, 0);
	*velocity = sl_update_velocity(rate, momentum, *gain, gradient, *velocity);
	return y + *velocity;
}

static void gains_grow_by_steps_and_fall_by_factors(void **state)
{
	float velocity = 0, gain = 1, y = 0;
	double v = 0, g = 1, place = 0;
	for (uint64_t i = 0; i < 400; i++) {
		float gradient = (float)((i < 200 ? 1 : 1e-3) * sl_random_normal(test_seed(1), i) + (i > 300 ? 1 : 0));
		g = (gradient > 0) != (v > 0) || v == 0 ? g + 0.2 : g * 0.8;
		g = g < 0.01 ? 0.01 : g;
		v = 0.8 * v - 0.3 * g * (double)gradient;
		place += v;
		y = one_step(0.3f, 0.8f, gradient, y, &velocity, &gain);
		assert_true(fabs((double)gain - g) < 1e-4 * g && fabs((double)velocity - v) < 1e-4 * (1 + fabs(v)));
		assert_true(fabs((double)y - place) < 1e-3 * (1 + fabs(place)));
	}
	gain = 0.0101f;  /* the last step went uphill: the gain decreases, but not below its floor */
	for (int i = 0; i < 3; i++) {
		velocity = 1;
		one_step(0.1f, 0.5f, 1, 0, &velocity, &gain);
	}
	assert_true(gain == 0.01f);
	assert_true(sl_update_gain(0.06f, false, 0.05f, 0) == 0.05f);
	assert_true(fabsf(sl_update_gain(0.1f, false, 0.01f, 0.02f) - 0.1f) < 1e-7f);
	assert_true(fabsf(sl_update_gain(0.1f, true, 0.01f, 0.02f) - 0.3f) < 1e-7f);
}

static void a_node_goes_downhill_where_it_moves_against_its_gradient(void **state)
{
	assert_true(sl_update_node_downhill(-1e-20f));
	assert_true(sl_update_node_downhill(0));  /* from rest */
	assert_false(sl_update_node_downhill(1e-20f));
}

static void heavy_nodes_get_lower_rates(void **state)
{
	assert_true(sl_update_rate(100, 1, 0.01f, 2) == 100);
	assert_true(fabsf(sl_update_rate(100, 1, 0.1f, 2) - 20) < 1e-3f);   /* 2 / mass */
	assert_true(fabsf(sl_update_rate(100, 4, 0.1f, 2) - 5) < 1e-3f);    /* 2 / (exaggeration mass) */
	assert_true(fabsf(sl_update_rate(100, 1, 0.1f, 1) - 10) < 1e-3f);
	assert_true(isfinite(sl_update_rate(100, 0, 1, 2)) && sl_update_rate(100, 1, 0, 2) == 100);
	assert_true(sl_update_rate(1e9f, 1000, 1, INFINITY) == 1e9f);       /* no limit */
}

static void steps_are_no_longer_than_asked_for(void **state)
{
	assert_true(sl_update_clip(24.9f, 5) == 1);
	assert_true(fabsf(sl_update_clip(100, 5) - 0.5f) < 1e-6f);
	assert_true(sl_update_clip(1e30f, INFINITY) == 1);
}

static void adam_is_that_of_its_paper(void **state)
{
	float mean = 0, square = 0, y = 3;
	double m = 0, s = 0, place = 3;
	for (uint64_t i = 1; i <= 300; i++) {
		float gradient = (float)sl_random_normal(test_seed(2), i);
		m = 0.9 * m + 0.1 * (double)gradient;
		s = 0.999 * s + 0.001 * (double)gradient * (double)gradient;
		place -= 0.5 * (m / (1 - pow(0.9, (double)i))) / (sqrt(s / (1 - pow(0.999, (double)i))) + 1e-8);
		y = sl_update_adam(0.5f, sl_update_adam_correction(i, 0), sl_update_adam_correction(i, 1), gradient, y, &mean,
				   &square);
		assert_true(fabs((double)y - place) < 1e-3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gains_grow_by_steps_and_fall_by_factors),
		cmocka_unit_test(a_node_goes_downhill_where_it_moves_against_its_gradient),
		cmocka_unit_test(heavy_nodes_get_lower_rates),
		cmocka_unit_test(steps_are_no_longer_than_asked_for),
		cmocka_unit_test(adam_is_that_of_its_paper),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
