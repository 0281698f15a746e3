/* k-means that first compares points along a few axes gives the same bytes as without them. */
#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/kmeans/kmeans_internal.h"
#include "tests/unit/kmeans_util.h"
#include "tests/unit/seeds.h"

enum { N = MOST, D = 128 };

/* Clusters whose centres, and most of whose scatter, lie in a space of `rank` dimensions. */
static float *make_flat(uint32_t d, uint32_t rank, uint32_t centres, double noise, double offset, uint64_t seed)
{
	float *x = malloc((size_t)N * d * sizeof *x);
	double *axis = malloc((size_t)rank * d * sizeof *axis), along[64];
	for (size_t at = 0; at < (size_t)rank * d; at++)
		axis[at] = sl_random_normal(seed, at);
	for (uint32_t i = 0; i < N; i++) {
		for (uint32_t r = 0; r < rank; r++)
			along[r] = 2 * sl_random_normal(seed + 1, (uint64_t)(i % centres) * 64 + r) +
				   sl_random_normal(seed + 2, (uint64_t)i * 64 + r);
		for (uint32_t k = 0; k < d; k++) {
			double sum = offset + noise * sl_random_normal(seed + 3, (uint64_t)i * d + k);
			for (uint32_t r = 0; r < rank; r++)
				sum += along[r] * axis[r * d + k];
			x[(size_t)i * d + k] = (float)sum;
		}
	}
	free(axis);
	return x;
}

static struct sl_kmeans_params params_of(uint32_t clusters)
{
	struct sl_kmeans_params params;
	sl_param_defaults(&sl_kmeans_table, &params);
	params.clusters = (int)clusters;
	params.tolerance = 0;
	params.seed = test_seed(4);
	return params;
}

enum axes { NEVER, USED, DROPPED };  /* dropped: used, but not to the end */

/* A whole run, saved and loaded after `pause` slices (0: never). Checks the final use of axes. */
static void run_axes(const struct sl_points *p, const struct sl_kmeans_params *params, const float *start,
		     enum axes axes, int pause, struct result *r)
{
	struct sl_kmeans *m = NULL;
	bool whole, used = false;
	memset(r, 0, sizeof *r);
	assert_int_equal(sl_kmeans_create(&m, p, params, start, NULL), 0);
	m->search = axes != NEVER;  /* for so few points they would not be used */
	do {
		assert_int_equal(sl_kmeans_advance(m, 1, &whole, &r->status, NULL), 0);
		used = used || m->axes || (m->part && m->part->axes);
		if (--pause == 0) {
			void *state;
			uint64_t bytes;
			assert_int_equal(sl_kmeans_save(m, &state, &bytes, NULL), 0);
			sl_kmeans_destroy(m);
			assert_int_equal(sl_kmeans_create(&m, p, params, start, NULL), 0);
			assert_int_equal(sl_kmeans_load(m, state, bytes, NULL), 0);
			m->search = true;
			free(state);
		}
	} while (!r->status.done);
	assert_int_equal(used, axes != NEVER);
	assert_false(m->axes && axes == DROPPED);
	assert_int_equal(sl_kmeans_result(m, r->label, r->centroid, &r->inertia, NULL), 0);
	sl_kmeans_destroy(m);
}

static void same(const struct result *a, const struct result *b)
{
	assert_int_equal(a->status.iteration, b->status.iteration);
	assert_memory_equal(a->label, b->label, sizeof a->label);
	assert_memory_equal(a->centroid, b->centroid, sizeof a->centroid);
	assert_true(a->inertia == b->inertia);
}

static void both_ways(float *x, uint32_t d, const struct sl_kmeans_params *params, const float *start, enum axes axes)
{
	static struct result with, without;
	struct sl_points p = points_of(x, N, d);
	run_axes(&p, params, start, NEVER, 0, &without);
	run_axes(&p, params, start, axes, 0, &with);
	same(&with, &without);
	run_axes(&p, params, start, axes, 20, &with);
	same(&with, &without);
}

static void it_changes_no_byte(void **state)
{
	static const struct {
		uint32_t d, rank, k;
		double noise, offset;
	} cases[] = {
		{D, 20, 40, 0.3, 0}, {D, 60, 70, 1, 10}, {D, 6, 33, 0.05, 1000}, {200, 30, 10, 1, 0}, {133, 30, 7, 2, 3},
	};
	for (size_t at = 0; at < sizeof cases / sizeof *cases; at++) {
		if (test_leaves_out(at, 2, 5))
			continue;
		uint32_t k = cases[at].k;
		float *x = make_flat(cases[at].d, cases[at].rank, k * 3 / 2, cases[at].noise, cases[at].offset, test_seed(at));
		struct sl_kmeans_params params = params_of(k);
		both_ways(x, cases[at].d, &params, x, USED);
		both_ways(x, cases[at].d, &params, NULL, USED);
		params.seeding = SL_KMEANS_PARALLEL;
		params.restarts = 2;
		both_ways(x, cases[at].d, &params, NULL, USED);
		params.metric = SL_KMEANS_COSINE;
		both_ways(x, cases[at].d, &params, NULL, USED);
		free(x);
	}
}

static void batches_change_no_byte(void **state)
{
	float *x = make_flat(D, 20, 60, 0.3, 1, test_seed(21));
	struct sl_kmeans_params params = params_of(40);
	params.tolerance = 1e-4;
	params.batch = 500;
	both_ways(x, D, &params, NULL, USED);
	params.metric = SL_KMEANS_COSINE;
	both_ways(x, D, &params, NULL, USED);
	free(x);
}

/* Without a main direction the axes exclude nothing, and are dropped. */
static void axes_that_hold_little(void **state)
{
	float *x = malloc((size_t)N * 300 * sizeof *x);
	for (size_t at = 0; at < (size_t)N * 300; at++)
		x[at] = (float)sl_random_normal(test_seed(31), at);
	struct sl_kmeans_params params = params_of(96);
	params.iterations = 8;
	if (!test_leaves_out(0, 1, 3))
		both_ways(x, 300, &params, x, DROPPED);
	params.seeding = SL_KMEANS_PARALLEL;
	if (!test_leaves_out(1, 1, 3))
		both_ways(x, 300, &params, NULL, DROPPED);
	params.seeding = SL_KMEANS_PLUSPLUS;
	params.batch = 1000;
	if (!test_leaves_out(2, 1, 3))
		both_ways(x, 300, &params, NULL, DROPPED);
	free(x);
}

/* Lattices, in which many centroids are equally near; also some that lie completely within the axes. */
static void ties(void **state)
{
	float *x = malloc((size_t)N * D * sizeof *x);
	for (uint32_t wide = 1; wide <= D; wide += D - 1) {
		for (uint32_t i = 0; i < N; i++)
			for (uint32_t k = 0; k < D; k++)
				x[(size_t)i * D + k] = k < 3 ? (float)(i >> 4 * k & 15) :
						       wide > 1 ? (float)(sl_random_bits(test_seed(41), (uint64_t)i * D + k) & 1) : 0;
		struct sl_kmeans_params params = params_of(60);
		both_ways(x, D, &params, NULL, USED);
	}
	free(x);
}

/* |y - y'| of points and centroids is at most |x - x'|, within fuzz; y matches its definition. */
static void outlines_are_no_farther(void **state)
{
	const struct sl__kmeans_kernels *kernels = sl__kmeans_kernels();
	for (int at = 0; at < 12; at++) {
		if (test_leaves_out((uint64_t)at, 1, 4))
			continue;
		double noise = at % 3 == 0 ? 0 : at % 3 == 1 ? 1e-3 : 3, offset = at / 3 == 0 ? 0 : pow(10, 3 * (at / 3) - 4);
		float *x = make_flat(D, 1 + 10 * (uint32_t)at % 50, 30, noise, offset, test_seed(51 + (uint64_t)at));
		struct sl__kmeans_axes *a = sl__kmeans_axes_create(D, SL__KMEANS_COLUMNS, 500);
		double *y = malloc((size_t)N * a->columns * sizeof *y), tightest = 1;
		while (!sl__kmeans_axes_search(a, kernels, x, N))
			;
		assert_true(a->usable && a->fuzz < 1e-5);
		sl__kmeans_axes_apply(a, kernels, x, NULL, N, y);
		for (uint32_t i = 0; i < N; i++) {
			uint32_t j = (uint32_t)(sl_random_uniform(test_seed(61), i) * N);
			double true_square = 0, square = 0, length = 0;
			for (uint32_t k = 0; k < D; k++)
				true_square += pow((double)x[i * D + k] - (double)x[j * D + k], 2);
			for (uint32_t k = 0; k < a->columns; k++) {
				float now = (float)y[i * a->columns + k];
				square += pow((double)now - y[j * a->columns + k], 2);
				length = fmax(length, fmax(fabs(y[i * a->columns + k]), fabs(y[j * a->columns + k])));
			}
			assert_true(sqrt(square) <= sqrt(true_square) * (1 + 1e-12) + a->fuzz * 2 * length * sqrt(a->columns));
			if (true_square > 1)
				tightest = fmin(tightest, sqrt(square / true_square));
		}
		assert_true(noise > 0.01 || tightest > 0.9);  /* the axes contain nearly all distances */
		free(y);
		free(x);
		sl__kmeans_axes_destroy(a);
	}
}

static void threads_change_no_byte(void **state)
{
	static struct result one, four;
	float *x = make_flat(D, 20, 60, 0.3, 1, test_seed(71));
	struct sl_points p = points_of(x, N, D);
	struct sl_kmeans_params params = params_of(40);
	int threads = omp_get_max_threads();
	omp_set_num_threads(1);
	run_axes(&p, &params, NULL, USED, 0, &one);
	omp_set_num_threads(4);
	run_axes(&p, &params, NULL, USED, 0, &four);
	omp_set_num_threads(threads);
	same(&one, &four);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_changes_no_byte),
		cmocka_unit_test(batches_change_no_byte),
		cmocka_unit_test(axes_that_hold_little),
		cmocka_unit_test(ties),
		cmocka_unit_test(outlines_are_no_farther),
		cmocka_unit_test(threads_change_no_byte),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
