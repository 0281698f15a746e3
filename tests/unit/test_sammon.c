/* Sammon's mapping and metric scaling: stress, gradient and layouts against sums over pairs in double precision. */
#include "core/sammon/kernels/tile.h"
#include "tests/unit/sammon.h"

/* ---- stress and gradient ------------------------------------------------------------------ */

static void compare(uint32_t n, uint32_t d, int dims, bool metric, double offset)
{
	float *x = make_points(n, d, offset, n + d), *start = make_points(n, (uint32_t)dims, 0, 7);
	size_t values = (size_t)n * (size_t)dims;
	double *gradient = malloc(values * sizeof *gradient), *wanted = malloc(values * sizeof *wanted), most = 0;
	struct sl_points p = points_of(x, n, d);
	struct sl_sammon_params params = params_of(metric, SL_SAMMON_NEWTON, dims, 5);
	struct sl_sammon_status s;
	struct sl_sammon *m;
	assert_int_equal(sl_sammon_create(&m, &p, &params, start, NULL), 0);
	assert_int_equal(sl_sammon_gradient(m, gradient, NULL), SL_CONFLICT);
	assert_int_equal(sl_sammon_step(m, &s, NULL), 0);
	double stress = plain(n, d, dims, metric, x, start, wanted);
	assert_true(fabs(s.stress - stress) <= 2e-6 * stress);
	assert_int_equal(sl_sammon_gradient(m, gradient, NULL), 0);
	for (size_t at = 0; at < values; at++)
		most = fmax(most, fabs(wanted[at]));
	for (size_t at = 0; at < values; at++)
		assert_true(fabs(gradient[at] - wanted[at]) <= 2e-5 * most);
	sl_sammon_destroy(m);
	free(x);
	free(start);
	free(gradient);
	free(wanted);
}

static void stress_and_gradient(void **state)
{
	static const uint32_t rows[] = {2, 3, 31, 32, 33, 200, 1100}, columns[] = {1, 3, 12, 13, 50, 300};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
			compare(rows[i], columns[k], (int)(i + k) % 3 + 1, k % 2, 0);
	compare(400, 40, 2, false, 50);   /* inner products would cancel */
	compare(300, 20, 3, false, 1000);
}

extern const struct sl__sammon_kernels sl__sammon_base;
#if defined(__x86_64__)
extern const struct sl__sammon_kernels sl__sammon_avx2, sl__sammon_avx512;
#endif

#define SIDE 64u
#define D 150u

struct tile_sums {
	double force[2][3][SIDE], curve[2][3][SIDE], weight[2][SIDE], stress, total;
	float distance[SIDE * SIDE];
};

static void tile_of(const struct sl__sammon_kernels *k, bool differences, bool metric, int dims, struct tile_sums *t)
{
	static float panel[2][SIDE * D] __attribute__((aligned(64))), norm[2][SIDE], mass[2][SIDE], y[2][3][SIDE];
	struct sl__sammon_block b[2];
	struct sl__sammon_sums sums[2];
	memset(t, 0, sizeof *t);
	for (uint32_t s = 0; s < 2; s++) {
		for (uint32_t i = 0; i < SIDE; i++) {
			double square = 0;
			for (uint32_t c = 0; c < D; c++) {
				float v = (float)sl_random_normal(s, i * 1000 + c);
				panel[s][(i / 32 * D + c) * 32 + i % 32] = v;
				square += (double)v * (double)v;
			}
			norm[s][i] = (float)square;
			mass[s][i] = (float)(i % 3);
			for (uint32_t q = 0; q < 3; q++)
				y[s][q][i] = (float)(5 * sl_random_normal(s + 2, i * 3 + q));
		}
		b[s] = (struct sl__sammon_block){panel[s], norm[s], mass[s], {y[s][0], y[s][1], y[s][2]}};
		for (uint32_t q = 0; q < 3; q++) {
			sums[s].force[q] = t->force[s][q];
			sums[s].curve[q] = t->curve[s][q];
		}
	}
	k->distances(SIDE, D, differences, &b[0], &b[1], t->distance);
	t->total = k->weights(SIDE, metric, &b[0], &b[1], t->distance, t->weight[0], t->weight[1]);
	t->stress = k->pairs(SIDE, dims, metric, &b[0], &b[1], t->distance, &sums[0], &sums[1]);
}

static void near(const double *a, const double *b, size_t count, double scale)
{
	for (size_t at = 0; at < count; at++)
		assert_true(fabs(a[at] - b[at]) <= 1e-5 * scale);
}

static void variants_agree(void **state)
{
	struct tile_sums *one = malloc(sizeof *one), *other = malloc(sizeof *other);
	const struct sl__sammon_kernels *known[3] = {&sl__sammon_base};
	int count = 1;
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		known[count++] = &sl__sammon_avx2;
	if (sl__sammon_kernels() == &sl__sammon_avx512)
		known[count++] = &sl__sammon_avx512;
#endif
	for (int dims = 1; dims <= 3; dims++)
		for (int metric = 0; metric < 2; metric++) {
			tile_of(known[0], true, metric, dims, one);
			assert_true(one->stress > 0 && one->total > 0);
			for (int k = 0; k < count; k++)
				for (int differences = 0; differences < 2; differences++) {
					tile_of(known[k], differences, metric, dims, other);
					for (size_t at = 0; at < SIDE * SIDE; at++)
						assert_true(fabs((double)one->distance[at] - (double)other->distance[at]) < 1e-4);
					near(&one->force[0][0][0], &other->force[0][0][0], 6 * SIDE, SIDE * 20);
					near(&one->curve[0][0][0], &other->curve[0][0][0], 6 * SIDE, SIDE * 20);
					near(&one->weight[0][0], &other->weight[0][0], 2 * SIDE, SIDE);
					near(&one->stress, &other->stress, 1, one->stress);
					near(&one->total, &other->total, 1, one->total);
				}
		}
	free(one);
	free(other);
}

/* ---- layouts ------------------------------------------------------------------------------ */

/* Points in a plane, turned in space. */
static void planar_points_come_back(void **state)
{
	enum { N = 300, WIDE = 20 };
	float *flat = make_points(N, 2, 0, 3), *x = malloc(N * WIDE * sizeof *x), *y = malloc(N * 2 * sizeof *y);
	double axis[2][WIDE], dot = 0, length[2] = {0};
	for (int k = 0; k < WIDE; k++) {
		axis[0][k] = sl_random_normal(5, (uint64_t)k);
		axis[1][k] = sl_random_normal(6, (uint64_t)k);
		length[0] += axis[0][k] * axis[0][k];
	}
	for (int k = 0; k < WIDE; k++)
		dot += axis[0][k] * axis[1][k] / length[0];
	for (int k = 0; k < WIDE; k++) {
		axis[1][k] -= dot * axis[0][k];
		length[1] += axis[1][k] * axis[1][k];
	}
	for (int i = 0; i < N; i++)
		for (int k = 0; k < WIDE; k++)
			x[i * WIDE + k] = (float)((double)flat[2 * i] * axis[0][k] / sqrt(length[0]) +
						  (double)flat[2 * i + 1] * axis[1][k] / sqrt(length[1]));
	struct sl_points p = points_of(x, N, WIDE);
	for (int stress = 0; stress < 2; stress++)
		for (int optimiser = SL_SAMMON_NEWTON; optimiser <= SL_SAMMON_SMACOF; optimiser++) {
			struct sl_sammon_params params = params_of(stress, optimiser, 2, 2000);
			assert_true(run(&p, &params, NULL, y).stress < 1e-11);
			/* from a nearby start */
			float *start = malloc(N * 2 * sizeof *start);
			for (uint64_t at = 0; at < N * 2; at++)
				start[at] = flat[at] + (float)(0.5 * sl_random_normal(8, at));
			assert_true(run(&p, &params, start, y).stress < 1e-7);
			for (uint32_t i = 0; i < N; i++)
				for (uint32_t j = 0; j < i; j++)
					assert_true(fabs(distance(flat, 2, i, j) - distance(y, 2, i, j)) < 0.02);
			free(start);
		}
	free(flat);
	free(x);
	free(y);
}

static void layouts_have_the_stress_that_is_told(void **state)
{
	enum { N = 500, WIDE = 30 };
	float *x = make_points(N, WIDE, 10, 1), *y = malloc(N * 3 * sizeof *y);
	struct sl_points p = points_of(x, N, WIDE);
	double least[2][2] = {{1, 0}, {1, 0}};
	for (int stress = 0; stress < 2; stress++)
		for (int optimiser = SL_SAMMON_NEWTON; optimiser <= SL_SAMMON_SMACOF; optimiser++) {
			struct sl_sammon_params params = params_of(stress, optimiser, 3, 400);
			double told = run(&p, &params, NULL, y).stress;
			assert_true(fabs(told - plain(N, WIDE, 3, stress, x, y, NULL)) < 1e-6 * told);
			least[stress][0] = fmin(least[stress][0], told);
			least[stress][1] = fmax(least[stress][1], told);
		}
	for (int stress = 0; stress < 2; stress++)  /* all find about the same stress */
		assert_true(least[stress][1] < 1.02 * least[stress][0]);
	free(x);
	free(y);
}

/* smacof and newton never raise the stress (run() checks); steps that are too long are undone. */
static void steps_that_are_too_long(void **state)
{
	enum { N = 200, WIDE = 5 };
	float *x = make_points(N, WIDE, 0, 2), *y = malloc(N * 2 * sizeof *y);
	struct sl_points p = points_of(x, N, WIDE);
	for (int optimiser = SL_SAMMON_NEWTON; optimiser <= SL_SAMMON_SMACOF; optimiser++) {
		struct sl_sammon_params params = params_of(SL_SAMMON_SAMMON, optimiser, 2, 200);
		double usual = run(&p, &params, NULL, y).stress;
		params.step = 30;
		assert_true(run(&p, &params, NULL, y).stress < 1.05 * usual);
	}
	free(x);
	free(y);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stress_and_gradient),
		cmocka_unit_test(variants_agree),
		cmocka_unit_test(planar_points_come_back),
		cmocka_unit_test(layouts_have_the_stress_that_is_told),
		cmocka_unit_test(steps_that_are_too_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
