/* The numbers of the grid: window, choice of side and spacing. The spectrum is tested where it is
 * used, through the forces of the engines. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/grid.h"
#include "core/params.h"

static double poly(const float (*c)[SL_WINDOW_LANES], int degree, int tap, double v)
{
	double sum = 0;
	for (int k = degree; k >= 0; k--)
		sum = sum * v + (double)c[k][tap];
	return sum;
}

static void window_is_even_and_its_slope_its_derivative(void **state)
{
	for (int width = 5; width <= 6; width++) {
		struct sl_window w;
		sl_window_init(&w, width);
		for (int t = 0; t < width; t++)
			for (double v = -0.95; v < 1; v += 0.1) {
				double here = poly(w.value, w.degree, t, v), there = poly(w.value, w.degree, width - 1 - t, -v);
				assert_true(fabs(here - there) < 1e-5);
				double step = 1e-4;  /* of v; 2 dv = d(node - u) */
				double slope = (poly(w.value, w.degree, t, v + step) - poly(w.value, w.degree, t, v - step)) / step;
				assert_true(fabs(slope - poly(w.slope, w.degree - 1, t, v)) < 1e-4);
				assert_true(here > -1e-4 && here < 1.001);
			}
		for (int k = 0; k <= w.degree; k++)  /* spare lanes add nothing */
			for (int t = width; t < SL_WINDOW_LANES; t++)
				assert_true(w.value[k][t] == 0);
	}
}

/* The weights of a point add up to the same wherever it lies: the window's transform at the grid's own
 * frequency is next to nothing. */
static void window_sums_to_a_constant(void **state)
{
	struct sl_window w;
	sl_window_init(&w, 6);
	double whole = sl_window_transform(&w, 0);
	for (double v = -1; v < 1; v += 0.05) {
		double sum = 0;
		for (int t = 0; t < 6; t++)
			sum += poly(w.value, w.degree, t, v);
		assert_true(fabs(sum / whole - 1) < 2e-4);
	}
	assert_true(fabs(sl_window_transform(&w, 2 * acos(-1)) / whole) < 1e-4);
}

static void every_extent_fits_its_grid(void **state)
{
	for (int dims = 1; dims <= 3; dims++)
		for (int accuracy = SL_DRAFT; accuracy <= SL_FINE; accuracy++) {
			int before = 0;
			for (double extent = 1e-12; extent < 1e4; extent *= 1.07) {
				struct sl_grid g;
				sl_grid_choose(&g, dims, accuracy, 0, extent);
				assert_true(sl_grid_reach(&g) >= extent);
				assert_true(sl_grid_reach(&g) <= extent * 2 || g.side == before || g.h == sl_grid_spacing(dims, accuracy));
				assert_true(g.side >= before);
				if (g.side < (dims == 1 ? 1 << 20 : dims == 2 ? 4096 : 320))
					assert_true(g.h <= sl_grid_spacing(dims, accuracy) * 1.0001);
				before = g.side;
			}
		}
}

static void a_fixed_side_is_kept(void **state)
{
	struct sl_grid g;
	sl_grid_choose(&g, 2, SL_NORMAL, 100, 500.0);
	assert_int_equal(g.side, 100);
	assert_true(sl_grid_reach(&g) >= 500);
	assert_true(g.h > sl_grid_spacing(2, SL_NORMAL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(window_is_even_and_its_slope_its_derivative),
		cmocka_unit_test(window_sums_to_a_constant),
		cmocka_unit_test(every_extent_fits_its_grid),
		cmocka_unit_test(a_fixed_side_is_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
