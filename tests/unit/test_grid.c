/* The numbers of the grid: window, choice of side and spacing, spectra. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fftw3.h>
#include <string.h>

#include "core/grid/grid_internal.h"
#include "core/params.h"
#include "core/random.h"
#include "tests/unit/seeds.h"

static double poly(const float (*c)[SL_WINDOW_LANES], int degree, int tap, double v)
{
	double sum = 0;
	for (int k = degree; k >= 0; k--)
		sum = sum * v + (double)c[k][tap];
	return sum;
}

static void window_is_even_and_its_slope_its_derivative(void **state)
{
	for (int width = 4; width <= 6; width++) {
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

/* The sum of a point's weights does not depend on its position: the window's transform at the grid's own frequency is
 * nearly zero. */
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
				sl_grid_choose(&g, dims, accuracy, sl_grid_window(dims, accuracy), 0, extent);
				assert_true(sl_grid_reach(&g) >= extent);
				assert_true(sl_grid_reach(&g) <= extent * 2 || g.side == before ||
					    g.h == sl_grid_spacing(dims, accuracy));
				assert_true(g.side >= before);
				if (g.side < (dims == 1 ? 1 << 20 : dims == 2 ? 4096 : 320))
					assert_true(g.h <= sl_grid_spacing(dims, accuracy) * 1.0001);
				before = g.side;
			}
		}
}

static void every_extent_fits_its_two_grids(void **state)
{
	for (int dims = 2; dims <= 3; dims++)
		for (int accuracy = SL_DRAFT; accuracy <= SL_FINE; accuracy++) {
			int before = 0;
			for (double extent = 20; extent < 1e4; extent *= 1.07) {
				struct sl_grid near, far, again, other;
				assert_true(sl_grid_choose_two(&near, &far, dims, accuracy, 0, extent, 1));
				assert_true(sl_grid_reach(&far) >= extent && sl_grid_reach(&near) > sl_grid_reach(&far));
				assert_true(near.side % 2 == 0 && near.side >= before && far.h >= 3 * near.h);
				if (near.side < (dims == 2 ? 4096 : 512))
					assert_true(near.h <= sl_grid_spacing(dims, accuracy) * 1.0001);
				before = near.side;
				/* another layout on the same side: the same coarse side; the same spacing: the same grids */
				assert_true(sl_grid_choose_two(&again, &other, dims, accuracy, near.side, extent, 1));
				assert_true(sl_grid_equal(&near, &again) && sl_grid_equal(&far, &other));
			}
		}
}

static void two_grids_are_refused_where_they_make_no_sense(void **state)
{
	struct sl_grid near, far;
	assert_false(sl_grid_choose_two(&near, &far, 1, SL_NORMAL, 0, 100, 1));
	assert_false(sl_grid_choose_two(&near, &far, 2, SL_NORMAL, 301, 100, 1));
	assert_false(sl_grid_choose_two(&near, &far, 2, SL_NORMAL, 16, 100, 1));
	assert_false(sl_grid_choose_two(&near, &far, 2, SL_NORMAL, 0, 1e-3, 1));
	assert_false(sl_grid_choose_two(&near, &far, 3, SL_FINE, 0, 0, 1));
	assert_true(sl_grid_choose_two(&near, &far, 2, SL_NORMAL, 302, 100, 1));
	assert_int_equal(near.side, 302);
}

static void a_fixed_side_is_kept(void **state)
{
	struct sl_grid g;
	sl_grid_choose(&g, 2, SL_NORMAL, 6, 100, 500.0);
	assert_int_equal(g.side, 100);
	assert_true(sl_grid_reach(&g) >= 500);
	assert_true(g.h > sl_grid_spacing(2, SL_NORMAL));
}

/* ---- forces of a few points through one or two grids, plainly, in double precision ---- */

#define POINTS 200

static void cosines(void *context, float *data)
{
	const struct sl_grid *g = context;
	int size[3] = {g->side + 1, g->side + 1, g->side + 1};
	fftw_r2r_kind kind[3] = {FFTW_REDFT00, FFTW_REDFT00, FFTW_REDFT00};
	size_t count = (size_t)pow(g->side + 1, g->dims);
	double *wide = fftw_malloc(sizeof(double) * count);
	fftw_plan plan = fftw_plan_r2r(g->dims, size, wide, wide, kind, FFTW_ESTIMATE);
	for (size_t i = 0; i < count; i++)
		wide[i] = (double)data[i];
	fftw_execute(plan);
	for (size_t i = 0; i < count; i++)
		data[i] = (float)wide[i];
	fftw_destroy_plan(plan);
	fftw_free(wide);
}

/* Weight (or slope) of the window at tap t[k] in each dimension, and the node; slope_of: the dimension that takes
 * the slope, or -1. */
static double tap_weight(const struct sl_grid *g, const struct sl_window *w, const double *y, const int *t,
			 int slope_of, size_t *node)
{
	double offset = g->fed_side ? 0.5 * g->window * g->through / g->h : 0;
	double weight = 1;
	*node = 0;
	for (int k = g->dims - 1; k >= 0; k--) {
		double u = y[k] / g->h + offset;
		int first = (int)ceil(u);
		double v = 2 * (first - u) - 1;
		weight *= k == slope_of ? poly(w->slope, w->degree - 1, t[k], v) : poly(w->value, w->degree, t[k], v);
		*node = *node * (size_t)sl_grid_length(g) + (size_t)(first + t[k]);
	}
	return weight;
}

/* Charges of the near grid, spread over the far one by its gather. fine: [fed_side]^dims. */
static void feed(const struct sl_grid *far, const struct sl_window *w, const double *fine, fftw_complex *grid)
{
	struct sl_grid_gather a;
	assert_int_equal(sl_grid_gather_init(&a, far, w), 0);
	int side = far->side, length = sl_grid_length(far), taps = 1, nodes = 1;
	for (int k = 0; k < far->dims; k++) {
		taps *= a.taps;
		nodes *= side;
	}
	for (int node = 0; node < nodes; node++) {
		int at[3] = {node % side, node / side % side, node / side / side};
		double sum = 0;
		for (int tap = 0; tap < taps; tap++) {
			int t[3] = {tap % a.taps, tap / a.taps % a.taps, tap / a.taps / a.taps};
			double weight = 1;
			size_t from = 0;
			for (int k = far->dims - 1; k >= 0; k--) {
				assert_true(a.first[at[k]] >= 0 && a.first[at[k]] + a.taps <= far->fed_side);
				weight *= (double)a.weight[t[k] * side + at[k]];
				from = from * (size_t)far->fed_side + (size_t)(a.first[at[k]] + t[k]);
			}
			sum += weight * fine[from];
		}
		size_t plane = far->dims > 2 ? (size_t)length * (size_t)at[2] : 0;
		size_t to = (size_t)at[0] + (size_t)length * ((size_t)at[1] + plane);
		grid[to][0] = sum;
	}
	sl_grid_gather_finish(&a);
}

/* fine: the array in which a near grid stores its charges for the grid that it feeds. */
static void add_forces(const struct sl_grid *g, const double (*y)[3], double (*force)[3], double *z, double *fine)
{
	struct sl_window w;
	int length = sl_grid_length(g), size[3] = {length, length, length}, taps = 1, count = length / 2 + 1;
	size_t numbers = (size_t)pow(length, g->dims);
	float *spectrum = malloc(sizeof(float) * (size_t)pow(count, g->dims));
	fftw_complex *grid = fftw_malloc(sizeof *grid * numbers);
	double zero, self, sum = 0;
	sl_window_init(&w, g->window);
	assert_int_equal(sl_grid_spectrum(g, &w, cosines, (void *)g, spectrum, &zero, &self), 0);
	fftw_plan forward = fftw_plan_dft(g->dims, size, grid, grid, FFTW_FORWARD, FFTW_ESTIMATE);
	fftw_plan backward = fftw_plan_dft(g->dims, size, grid, grid, FFTW_BACKWARD, FFTW_ESTIMATE);
	memset(grid, 0, sizeof *grid * numbers);
	for (int k = 0; k < g->dims; k++)
		taps *= g->window;
	float *tilt = malloc(sizeof(float) * (size_t)count);
	sl_grid_tilt(g, &w, tilt);
	if (g->fed_side)
		feed(g, &w, fine, grid);
	for (int i = 0; i < POINTS && !g->fed_side; i++)
		for (int tap = 0; tap < taps; tap++) {
			int t[3] = {tap % g->window, tap / g->window % g->window, tap / g->window / g->window};
			size_t node;
			double weight = tap_weight(g, &w, y[i], t, -1, &node);
			grid[node][0] += weight;
		}
	for (size_t at = 0; at < numbers && g->part == SL_GRID_NEAR; at++)
		fine[at] = grid[at][0];
	fftw_execute(forward);
	for (size_t at = 0; at < numbers; at++) {
		size_t rest = at, from = 0, step = 1;
		double tilted = 1;
		for (int k = 0; k < g->dims; k++, rest /= (size_t)length, step *= (size_t)count) {
			size_t f = rest % (size_t)length;
			f = f < (size_t)count ? f : (size_t)length - f;
			from += step * f;
			tilted *= (double)tilt[f];
		}
		double s = (double)spectrum[from];
		sum += s * tilted * (grid[at][0] * grid[at][0] + grid[at][1] * grid[at][1]);
		grid[at][0] *= s;
		grid[at][1] *= s;
	}
	*z += zero * POINTS * POINTS - self * POINTS + sum;
	fftw_execute(backward);
	for (int i = 0; i < POINTS; i++)
		for (int k = 0; k < g->dims; k++)
			for (int tap = 0; tap < taps; tap++) {
				int t[3] = {tap % g->window, tap / g->window % g->window, tap / g->window / g->window};
				size_t node;
				double slope = tap_weight(g, &w, y[i], t, k, &node);
				force[i][k] += 0.5 / g->h * slope * grid[node][0];
			}
	fftw_destroy_plan(forward);
	fftw_destroy_plan(backward);
	fftw_free(grid);
	free(spectrum);
	free(tilt);
}

static void exact_forces(int dims, double nu, const double (*y)[3], double (*force)[3], double *z)
{
	for (int i = 0; i < POINTS; i++)
		for (int j = 0; j < POINTS; j++) {
			double r2 = 0, q, steep;
			for (int k = 0; k < dims; k++)
				r2 += (y[i][k] - y[j][k]) * (y[i][k] - y[j][k]);
			q = pow(1 + r2, -nu);
			steep = nu * q / (1 + r2);
			*z += i != j ? q : 0;
			for (int k = 0; k < dims; k++)
				force[i][k] += steep * (y[i][k] - y[j][k]);
		}
}

/* Clumps over the whole reach of the grids, its corners included. */
static void scatter(int dims, double reach, double (*y)[3])
{
	for (int i = 0; i < POINTS; i++)
		for (int k = 0; k < dims; k++) {
			double centre = reach * sl_random_uniform(test_seed(3), (uint64_t)(i / 20 * 3 + k));
			double x = centre + 0.7 * sl_random_normal(test_seed(4), (uint64_t)(i * 3 + k));
			y[i][k] = i == 0 || x < 0 ? 0 : i == 1 || x > reach ? reach : x;
		}
}

/* The part of the kernel that a smooth grid leaves to pairs. */
static void add_pairs(const struct sl_grid *g, const double (*y)[3], double (*force)[3], double *z)
{
	struct sl_grid_cutoff near;
	sl_grid_cutoff(&near, g);
	for (int i = 0; i < POINTS; i++)
		for (int j = 0; j < POINTS; j++) {
			double t = 0, slope = 0, value = 0;
			for (int k = 0; k < g->dims; k++)
				t += (y[i][k] - y[j][k]) * (y[i][k] - y[j][k]);
			if (i == j || t >= g->cutoff * g->cutoff)
				continue;
			for (int k = SL_CUTOFF_DEGREE; k >= 0; k--)
				value = value * t + (double)near.value[k];
			for (int k = SL_CUTOFF_DEGREE - 1; k >= 0; k--)
				slope = slope * t + (double)near.slope[k];
			*z += 1 / (1 + t) - value;
			for (int k = 0; k < g->dims; k++)
				force[i][k] += (1 / ((1 + t) * (1 + t)) + slope) * (y[i][k] - y[j][k]);
		}
}

static double force_error(int dims, int grids, const struct sl_grid *g, double *z_error)
{
	static double y[POINTS][3], force[POINTS][3], right[POINTS][3];
	double z = 0, right_z = 0, wrong = 0, all = 0;
	double *fine = malloc(sizeof *fine * (size_t)pow(sl_grid_length(&g[0]), dims));
	memset(force, 0, sizeof force);
	memset(right, 0, sizeof right);
	scatter(dims, sl_grid_reach(&g[grids - 1]) - (g[grids - 1].fed_side ? 7 * g[0].h : 0), y);
	exact_forces(dims, g->exponent != 0 ? g->exponent : 1, y, right, &right_z);
	for (int k = 0; k < grids; k++)
		add_forces(&g[k], y, force, &z, fine);
	if (g[0].part == SL_GRID_SMOOTH)
		add_pairs(&g[0], y, force, &z);
	for (int i = 0; i < POINTS; i++)
		for (int k = 0; k < dims; k++) {
			wrong += (force[i][k] - right[i][k]) * (force[i][k] - right[i][k]);
			all += right[i][k] * right[i][k];
		}
	free(fine);
	*z_error = fabs(z / right_z - 1);
	return sqrt(wrong / all);
}

/* The permitted relative error of Z if that of the forces is `error`. It is at least 1.5 times the error of Z on one
 * grid, which may happen to be zero. Z sums over points; the errors of points in a clump are equal, so Z has the error
 * of a mean over POINTS / 20 clumps. */
static double z_limit(double z_one, double error)
{
	return fmax(1.5 * z_one, error / sqrt(POINTS / 20)) + 1e-4;
}

/* The permitted error of the forces on two grids if that on one grid is `error_one`. Both are root mean squares over
 * POINTS / 20 clumps whose errors are independent, in each dimension, so their ratio has a standard deviation of about
 * 1 / sqrt(dims POINTS / 20). Four of these are permitted, and rounding. */
static double two_limit(int dims, double error_one)
{
	return (1 + 4 / sqrt(dims * POINTS / 20)) * error_one + 1e-4;
}

static void compare_grids(int dims, int accuracy, int window)
{
	static const int side[4] = {0, 0, 160, 48}, coarse[4] = {0, 0, 40, 20};
	double h = sl_grid_spacing(dims, accuracy), z_one, z_two, z_fed;
	struct sl_grid two[2], one = {.dims = dims, .window = window, .h = h};
	sl_grid_split(&two[0], &two[1], dims, accuracy, window, h, side[dims], coarse[dims]);
	assert_true(sl_grid_reach(&two[1]) < sl_grid_reach(&two[0]));
	assert_true(sl_grid_reach(&two[1]) > h * side[dims] / 2);
	one.side = (int)ceil(sl_grid_reach(&two[1]) / h) + 8;
	double error_one = force_error(dims, 1, &one, &z_one), error_two = force_error(dims, 2, two, &z_two);
	print_message("%d-D accuracy %d window %d: one grid %.2e (Z %.1e), two %.2e (Z %.1e)\n", dims, accuracy, window,
		      error_one, z_one, error_two, z_two);
	assert_true(error_two < two_limit(dims, error_one));
	assert_true(z_two < z_limit(z_one, error_one));
	sl_grid_feed(&two[0], &two[1]);
	double error_fed = force_error(dims, 2, two, &z_fed);
	print_message("    fed: %.2e (Z %.1e)\n", error_fed, z_fed);
	assert_true(error_fed < two_limit(dims, error_one) + 1e-4);
	assert_true(z_fed < z_limit(z_one, error_one));
	assert_true(error_two < (dims == 2 ? 3e-2 : 1e-1));
}

/* Interpolated transforms, and those of other exponents, against the formula for exponent 1. */
static void interpolated_transforms_are_exact(void **state)
{
	static double got[501];
	for (int dims = 1; dims <= 3; dims++)
		for (int heavy = 0; heavy < 2; heavy++)
			for (double from = 0.5; from < 100; from *= 1.9) {
				sl__log_transforms(dims, heavy, from, 3.9 * from, 500, got);
				for (int i = 0; i <= 500; i++) {
					double want = log(sl__kernel_transform(dims, from + 2.9 * from * i / 500));
					if (!(fabs(got[i] - want) < 1e-10))
						fail_msg("%d-D, exponent %d, from %g, entry %d: %.15g for %.15g", dims, heavy, from, i,
							 got[i], want);
				}
			}
}

static void two_grids_do_what_one_does(void **state)
{
	for (int dims = 2; dims <= 3; dims++)
		for (int accuracy = SL_DRAFT; accuracy <= SL_FINE; accuracy++) {
			if (test_leaves_out((uint64_t)(dims * 3 + accuracy), 1, 6))
				continue;
			compare_grids(dims, accuracy, sl_grid_window(dims, accuracy));
			if (sl_grid_narrow_window(dims, accuracy) != sl_grid_window(dims, accuracy))
				compare_grids(dims, accuracy, sl_grid_narrow_window(dims, accuracy));
		}
}

static void two_grids_hold_other_kernels_too(void **state)
{
	static const double exponents[] = {0.2, 0.7, 2, 4}, extent[4] = {0, 0, 50, 14};
	for (int dims = 2; dims <= 3; dims++)
		for (int k = 0; k < 4; k++) {
			if (test_leaves_out((uint64_t)(dims * 4 + k), 1, 5))
				continue;
			double z_one, z_two;
			struct sl_grid two[2], one;
			assert_true(sl_grid_choose_two(&two[0], &two[1], dims, SL_NORMAL, 0, extent[dims], exponents[k]));
			sl_grid_choose_kernel(&one, dims, SL_NORMAL, 6, 0, extent[dims], exponents[k]);
			double error_one = force_error(dims, 1, &one, &z_one), error_two = force_error(dims, 2, two, &z_two);
			print_message("%d-D exponent %g: one grid %.2e (Z %.1e), two %.2e (Z %.1e)\n", dims, exponents[k],
				      error_one, z_one, error_two, z_two);
			assert_true(error_two < two_limit(dims, error_one) + 2e-4);
			assert_true(z_two < z_limit(z_one, error_one));
			assert_false(sl_grid_equal(&two[1], &one));
		}
}

static void check_near_part(int dims)
{
	for (int accuracy = SL_DRAFT; accuracy <= SL_FINE; accuracy++)
		for (double extent = 1; extent < 2000; extent *= 1.7) {
			struct sl_grid g, same;
			struct sl_grid_cutoff near;
			double value = 0, slope = 0;
			int window = dims == 2 ? sl_grid_window(2, accuracy) : sl_grid_smooth_window(accuracy);
			sl_grid_smooth(&g, dims, accuracy, window, 48, extent);
			assert_true(sl_grid_reach(&g) >= extent && sl_grid_reach(&g) < 1.1 * extent);
			sl_grid_cutoff(&near, &g);
			double t = g.cutoff * g.cutoff, end = 1 / (1 + t);
			for (int k = SL_CUTOFF_DEGREE; k >= 0; k--)
				value = value * t + (double)near.value[k];
			for (int k = SL_CUTOFF_DEGREE - 1; k >= 0; k--)
				slope = slope * t + (double)near.slope[k];
			assert_true(fabs(value - end) < 1e-5 * (fabs((double)near.value[0]) + end));
			assert_true(fabs(slope + end * end) < 1e-4 * (fabs((double)near.slope[0]) + end * end));
			same = g;
			assert_true(sl_grid_equal(&g, &same));
			same.cutoff *= 1.1;
			assert_false(sl_grid_equal(&g, &same));
		}
}

static void the_near_part_ends_smoothly(void **state)
{
	check_near_part(2);
	check_near_part(3);
}

static void check_smooth(int dims, int accuracy, int window, double limit)
{
	for (double extent = 15; extent < (dims == 2 ? 3000 : 300); extent *= 2) {
		struct sl_grid g;
		double z, error;
		sl_grid_smooth(&g, dims, accuracy, window, 40, extent);
		error = force_error(dims, 1, &g, &z);
		print_message("%d-D, accuracy %d, window %d, extent %g, h %.2f, cut-off %.2f: %.2e (Z %.1e)\n", dims,
			      accuracy, window, extent, g.h, g.cutoff, error, z);
		assert_true(error < limit);
		assert_true(z < limit / 10);
	}
}

static void pairs_and_a_grid_do_what_all_pairs_do(void **state)
{
	static const double limit[] = {1e-1, 3e-2, 5e-3}, flat[] = {3e-2, 1e-2, 1.5e-3};
	for (int accuracy = SL_DRAFT; accuracy <= SL_FINE; accuracy++) {
		if (test_leaves_out((uint64_t)accuracy, 1, 3))
			continue;
		check_smooth(2, accuracy, sl_grid_window(2, accuracy), flat[accuracy]);
		check_smooth(3, accuracy, sl_grid_window(3, accuracy), limit[accuracy]);
		if (sl_grid_smooth_window(accuracy) != sl_grid_window(3, accuracy))
			check_smooth(3, accuracy, sl_grid_smooth_window(accuracy), limit[accuracy]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(window_is_even_and_its_slope_its_derivative),
		cmocka_unit_test(window_sums_to_a_constant),
		cmocka_unit_test(every_extent_fits_its_grid),
		cmocka_unit_test(every_extent_fits_its_two_grids),
		cmocka_unit_test(two_grids_are_refused_where_they_make_no_sense),
		cmocka_unit_test(a_fixed_side_is_kept),
		cmocka_unit_test(interpolated_transforms_are_exact),
		cmocka_unit_test(two_grids_do_what_one_does),
		cmocka_unit_test(two_grids_hold_other_kernels_too),
		cmocka_unit_test(the_near_part_ends_smoothly),
		cmocka_unit_test(pairs_and_a_grid_do_what_all_pairs_do),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
