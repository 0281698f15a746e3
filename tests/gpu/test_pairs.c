/* Pairs within a cut-off beside a smooth grid, for the CUDA engine alone: layouts of very many points, new
 * choices of grids, its own form of checkpoints. tests/unit/test_cutoff.c has the tests of all engines. Skipped without
 * a GPU. Each run prints another seed, which SPACELAND_TEST_SEED repeats. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/gpu/need_gpu.h"
#include "tests/unit/cutoff.h"

/* ---- tests ------------------------------------------------------------------------------------------ */

/* Z, extrapolated from the sample. */
static double estimated_z(const float *y, uint32_t n)
{
	double z = 0;
#pragma omp parallel for reduction(+ : z)
	for (uint32_t s = 0; s < SAMPLE_OF_MANY; s++) {
		uint32_t i = (uint32_t)((uint64_t)s * n / SAMPLE_OF_MANY);
		for (uint32_t j = 0; j < n; j++) {
			double t = 1;
			for (uint32_t k = 0; k < dims; k++) {
				double off = (double)y[dims * i + k] - (double)y[dims * j + k];
				t += off * off;
			}
			z += i == j ? 0 : 1 / t;
		}
	}
	return z * n / SAMPLE_OF_MANY;
}

/* Up to that accuracy. */
static void check_many(uint32_t n, enum kind kind, double width, int most, bool pairs)
{
	NEED_GPU();
	struct rig r;
	rig_open(&r, cuda, 0, n, 3);
	n = r.a->n;
	float *y = layout(n, kind, width), *repulsion = malloc(sizeof *repulsion * dims * (size_t)n);
	double right = estimated_z(y, n);
	for (int accuracy = SL_DRAFT; accuracy <= most; accuracy++) {
		struct sl_device_embedding *e = embedding(&r, accuracy, y);
		double z;
		assert_int_equal(cuda->forces(e, NULL, repulsion, &z, NULL), 0);
		double error = error_of(y, repulsion, n, z);
		printf("%u points in %u-D, %s, %g wide, accuracy %d: %.2e, Z within %.1e\n", n, dims, names[kind], width,
		       accuracy, error, fabs(z / right - 1));
		assert_true(error < (dims == 2 ? 3e-2 : pairs ? 4.5e-2 : accuracy == SL_DRAFT ? 1e-1 : 3e-2));
		assert_true(fabs(z / right - 1) < 0.1);
		if (accuracy == SL_DRAFT)
			assert_int_equal(has_pairs(&r, e, accuracy), pairs);
		cuda->embedding_destroy(e);
	}
	free(repulsion);
	free(y);
	rig_close(&r);
}

/* With the smallest grid, 32 nodes a side, they would be wrong by 1.3e-1. */
static void forces_of_many_points_close_together_are_right(void **state)
{
	check_many(350000, CLUMPS, 23, SL_NORMAL, false);
}

/* From 200,000 points on, fewer threads share a point. */
static void forces_of_many_points_far_apart_are_right(void **state)
{
	check_many(215000, EVEN, 260, SL_DRAFT, true);
}

static void forces_of_many_points_far_apart_in_a_plane_are_right(void **state)
{
	dims = 2;
	check_many(215000, EVEN, 8400, SL_DRAFT, true);
	dims = 3;
}

/* Few nodes have wide windows; checkpoints contain them. */
static void forces_of_few_points_are_right(void **state)
{
	check_many(9000, CLUMPS, 150, SL_FINE, true);
	struct rig r;
	rig_open(&r, cuda, 0, 9000, 10);
	uint32_t n = r.a->n;
	size_t bytes = sizeof(float) * 3 * (size_t)n;
	float *y = layout(n, CLUMPS, 150), *one = malloc(bytes), *two = malloc(bytes);
	struct sl_step step = {.exaggeration = 1, .learning_rate = 100};
	struct sl_device_embedding *e = embedding(&r, SL_DRAFT, y), *other = embedding(&r, SL_DRAFT, y);
	void *held = malloc(cuda->state_bytes(e));
	assert_true(has_pairs(&r, e, SL_DRAFT));
	assert_int_equal(cuda->run(e, &step, 3, NULL), 0);
	assert_int_equal(cuda->state_save(e, held, NULL), 0);
	assert_int_equal(cuda->state_load(other, held, cuda->state_bytes(e), NULL), 0);
	assert_int_equal(cuda->run(e, &step, 3, NULL), 0);
	assert_int_equal(cuda->run(other, &step, 3, NULL), 0);
	assert_int_equal(cuda->snapshot(e, one, NULL), 0);
	assert_int_equal(cuda->snapshot(other, two, NULL), 0);
	assert_memory_equal(one, two, bytes);
	assert_memory_not_equal(one, y, bytes);
	cuda->embedding_destroy(e);
	cuda->embedding_destroy(other);
	free(held);
	free(y);
	free(one);
	free(two);
	rig_close(&r);
}

/* If the candidates grow after the choice of the grid, a new grid is chosen; the run continues. */
static void where_pairs_crowd_grids_are_chosen_again(void **state)
{
	NEED_GPU();
	struct rig r;
	rig_open(&r, cuda, 0, NODES, 40);
	float *y0 = layout(r.a->n, EVEN, 200), *y = malloc(sizeof *y * 3 * (size_t)r.a->n);
	struct sl_step step = {.exaggeration = 1, .learning_rate = 10};
	struct sl_device_embedding *e = embedding(&r, SL_NORMAL, y0);
	uint64_t bytes = cuda->state_bytes(e), header = bytes - 3 * 3 * sizeof(float) * (uint64_t)r.a->n;
	uint64_t at = header - 2 * sizeof(struct sl_grid) - sizeof(uint64_t), most, again;  /* candidates_most */
	char *held = malloc(bytes);
	double z;
	assert_int_equal(cuda->run(e, &step, 3, NULL), 0);
	assert_int_equal(cuda->state_save(e, held, NULL), 0);
	memcpy(&most, held + at, sizeof most);
	assert_true(most > 100 * (uint64_t)r.a->n);
	memset(held + at, 0, sizeof most);
	assert_int_equal(cuda->state_load(e, held, bytes, NULL), 0);
	assert_int_equal(cuda->run(e, &step, 5, NULL), 0);
	assert_int_equal(cuda->state_save(e, held, NULL), 0);
	memcpy(&again, held + at, sizeof again);
	assert_true(fabs((double)again / (double)most - 1) < 0.5);
	assert_int_equal(cuda->snapshot(e, y0, NULL), 0);
	assert_int_equal(cuda->forces(e, NULL, y, &z, NULL), 0);
	assert_true(error_of(y0, y, r.a->n, z) < 3e-2);
	cuda->embedding_destroy(e);
	free(held);
	free(y0);
	free(y);
	rig_close(&r);
}

/* Implausible states are refused. */
static void a_spoilt_state_is_refused(void **state)
{
	NEED_GPU();
	struct rig r;
	rig_open(&r, cuda, 0, NODES, 40);
	float *y0 = layout(r.a->n, EVEN, 200);
	struct sl_step step = {.exaggeration = 1, .learning_rate = 10};
	struct sl_device_embedding *e = embedding(&r, SL_NORMAL, y0);
	uint64_t bytes = cuda->state_bytes(e), header = bytes - 3 * 3 * sizeof(float) * (uint64_t)r.a->n;
	char *held = malloc(bytes), *spoilt = malloc(bytes);
	struct sl_grid g;
	assert_int_equal(cuda->run(e, &step, 3, NULL), 0);
	assert_int_equal(cuda->state_save(e, held, NULL), 0);
	uint64_t at = header - 2 * sizeof g;  /* the grids are at the end of the header */
	memcpy(&g, held + at, sizeof g);
	assert_int_equal(g.part, SL_GRID_SMOOTH);
	for (int i = 0; i < 5; i++) {
		struct sl_grid bad = g;
		bad.side += i == 0 ? 1000000 : i == 1 ? 1 : 0;
		bad.cutoff *= i == 2 ? 1e-6 : 1;
		bad.h *= i == 3 ? -1 : 1;
		bad.window -= i == 4;
		memcpy(spoilt, held, bytes);
		memcpy(spoilt + at, &bad, sizeof bad);
		assert_int_equal(cuda->state_load(e, spoilt, bytes, NULL), SL_BADDATA);
	}
	assert_int_equal(cuda->state_load(e, held, bytes, NULL), 0);
	assert_int_equal(cuda->run(e, &step, 3, NULL), 0);
	free(held);
	free(spoilt);
	free(y0);
	cuda->embedding_destroy(e);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forces_of_many_points_close_together_are_right),
		cmocka_unit_test(forces_of_many_points_far_apart_are_right),
		cmocka_unit_test(forces_of_many_points_far_apart_in_a_plane_are_right),
		cmocka_unit_test(forces_of_few_points_are_right),
		cmocka_unit_test(where_pairs_crowd_grids_are_chosen_again),
		cmocka_unit_test(a_spoilt_state_is_refused),
	};
	seed = fresh_seed();
	return cmocka_run_group_tests(tests, need_gpu, NULL);
}
