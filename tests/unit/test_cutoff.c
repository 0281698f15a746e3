/* Pairs within a cut-off beside a smooth grid, in 2-D and 3-D: forces against sums over all pairs in double precision,
 * the same bytes for any division of a run, and runs that begin with a tight layout. Each run prints another seed,
 * which SPACELAND_TEST_SEED repeats. SPACELAND_ENGINE selects the engine, by default the CPU's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include "tests/unit/cutoff.h"
#include "tests/unit/engines.h"

static void check_sums(const double widths[3], const double limit[3])
{
	struct rig r;
	int with_pairs = 0;
	rig_open(&r, test_engine(), 2, NODES, 40);
	uint32_t n = r.a->n;
	float *repulsion = malloc(sizeof *repulsion * dims * (size_t)n);
	for (int kind = 0; kind < KINDS; kind++)
		for (int at = 0; at < 3; at++) {
			if (test_leaves_out((uint64_t)kind * 3 + (uint64_t)at, 5, 12))
				continue;
			float *y = layout(n, (enum kind)kind, widths[at]);
			double right = all_z(y, n);
			for (int accuracy = SL_DRAFT; accuracy <= SL_FINE; accuracy++) {
				if (test_leaves_out((uint64_t)(kind + at + accuracy), 3, 3))
					continue;
				struct sl_device_embedding *e = embedding(&r, accuracy, y);
				double z;
				bool pairs = has_pairs(&r, e, accuracy);
				with_pairs += pairs;
				assert_true(pairs || (dims == 3 && kind != EVEN));
				assert_int_equal(r.engine->forces(e, NULL, repulsion, &z, NULL), 0);
				double error = error_of(y, repulsion, n, z);
				printf("%u-D, %s, %g wide, accuracy %d, %s: %.2e, Z %.1e\n", dims, names[kind], widths[at], accuracy,
				       pairs ? "pairs" : "grids", error, fabs(z / right - 1));
				assert_true(error < limit[accuracy]);
				assert_true(fabs(z / right - 1) < limit[accuracy] / 10);
				r.engine->embedding_destroy(e);
			}
			free(y);
		}
	assert_true(with_pairs >= (test_light() ? dims == 2 : 2 * KINDS));
	free(repulsion);
	rig_close(&r);
}

static void forces_are_the_sums(void **state)
{
	static const double limit[] = {[SL_DRAFT] = 1e-1, [SL_NORMAL] = 3e-2, [SL_FINE] = 5e-3}, widths[] = {60, 150, 400};
	check_sums(widths, limit);
}

static void forces_in_a_plane_are_the_sums(void **state)
{
	static const double limit[] = {[SL_DRAFT] = 3e-2, [SL_NORMAL] = 1e-2, [SL_FINE] = 1.5e-3};
	static const double widths[] = {800, 2500, 9000};
	dims = 2;
	check_sums(widths, limit);
	dims = 3;
}

/* For the first of NODES points, as many as the graph has. */
static void check_forces(const struct rig *r, const char *name, const float *y)
{
	static const double limit[] = {[SL_DRAFT] = 1e-1, [SL_NORMAL] = 3e-2, [SL_FINE] = 5e-3};
	uint32_t n = r->a->n;
	float *repulsion = malloc(sizeof *repulsion * 3 * (size_t)n);
	assert_true(n <= NODES);
	for (int accuracy = SL_DRAFT; accuracy <= SL_FINE; accuracy++) {
		struct sl_device_embedding *e = embedding(r, accuracy, y);
		double z;
		assert_int_equal(r->engine->forces(e, NULL, repulsion, &z, NULL), 0);
		double error = error_of(y, repulsion, n, z);
		printf("%s, accuracy %d: %.2e\n", name, accuracy, error);
		assert_true(error < limit[accuracy]);
		r->engine->embedding_destroy(e);
	}
	free(repulsion);
}

/* Points in a few tight clumps, whose errors do not average out. */
static void forces_of_few_tight_clumps_are_right(void **state)
{
	static float y[3 * NODES];
	struct rig r;
	rig_open(&r, test_engine(), 2, NODES, 40);
	for (uint32_t i = 0; i < NODES; i++)
		for (uint32_t k = 0; k < 3; k++)
			y[3 * i + k] = (float)(4.7 * sl_random_uniform(seed + 7, 3 * (i % 7) + k) +
					       0.02 * sl_random_normal(seed + 8, 3 * (uint64_t)i + k));
	check_forces(&r, "seven tight clumps", y);
	rig_close(&r);
}

/* A layout as after early exaggeration: tight clumps, and a halo of faster points. */
static void forces_of_clumps_that_fly_apart_are_right(void **state)
{
	static const uint32_t clumps[] = {7, 30, 150};
	static const double width = 25, halo[] = {30, 50, 30};
	static float y[3 * NODES];
	struct rig r;
	rig_open(&r, test_engine(), 2, NODES, 40);
	for (int at = 0; at < 3; at++) {
		if (test_leaves_out((uint64_t)at, 1, 3))
			continue;
		char name[80];
		for (uint32_t i = 0; i < NODES; i++)
			for (uint32_t k = 0; k < 3; k++) {
				uint64_t own = 3 * (uint64_t)i + k, clump = 3 * (i % clumps[at]) + k;
				double far = halo[at] * (sl_random_uniform(seed + 9, own) - 0.5),
				       near = width * (sl_random_uniform(seed + 10, clump) - 0.5);
				y[own] = (float)(i % 20 ? near + 0.2 * sl_random_normal(seed + 11, own) : far);
			}
		snprintf(name, sizeof name, "%u clumps in a halo %g wide", clumps[at], halo[at]);
		check_forces(&r, name, y);
	}
	rig_close(&r);
}

/* Some processors take 20 times as long for subnormal numbers, which coefficients of long cut-offs would be. */
static void exploded_layouts_need_no_subnormal_numbers(void **state)
{
	if (strcmp(test_engine()->name, "cpu"))
		skip();
	for (dims = 2; dims <= 3; dims++)
		for (int at = 0; at < 2; at++) {
			if (test_leaves_out(2 * dims + (uint64_t)at, 1, 4))
				continue;
			struct rig r;
			rig_open(&r, test_engine(), 1, NODES / 3, 20);
			float *y = layout(r.a->n, EVEN, at ? 4e5 : 1.3e5), *repulsion = malloc(sizeof *y * dims * (size_t)r.a->n);
			struct sl_device_embedding *e = embedding(&r, SL_NORMAL, y);
			double z;
			assert_true(has_pairs(&r, e, SL_NORMAL));
			assert_int_equal(r.engine->forces(e, NULL, repulsion, &z, NULL), 0);
			if (dims == 2)  /* in 3-D the forces are too small for the grid */
				assert_true(error_of(y, repulsion, r.a->n, z) < (at ? 5e-2 : 1e-4));
#ifdef __SSE2__
			_mm_setcsr(_mm_getcsr() & ~(unsigned)_MM_EXCEPT_MASK);
			assert_int_equal(r.engine->forces(e, NULL, repulsion, &z, NULL), 0);
			assert_false(_mm_getcsr() & _MM_EXCEPT_DENORM);
#endif
			r.engine->embedding_destroy(e);
			free(y);
			free(repulsion);
			rig_close(&r);
		}
	dims = 3;
}

static double spacing(const struct rig *r, struct sl_device_embedding *e)
{
	struct sl_measure m;
	assert_int_equal(r->engine->measure(e, &m, NULL), 0);
	return m.h;
}

/* A run in which the layout expands, changes from grids to pairs, and expands further. cuts: lengths of stretches,
 * after each of which a new embedding loads a checkpoint; ends with 0. */
static void run_in_pieces(const struct rig *r, const float *y0, const int *cuts, float *y)
{
	static const struct sl_step apart = {.exaggeration = 0, .learning_rate = 5e4f},
				    further = {.exaggeration = 0.25f, .learning_rate = 1e6f};
	static const struct sl_step flat[] = {{.exaggeration = 0, .learning_rate = 5e7f},
					      {.exaggeration = 0, .learning_rate = 5e8f}};
	struct sl_device_embedding *e = embedding(r, SL_DRAFT, y0);
	uint64_t bytes = r->engine->state_bytes(e);
	double wide = 0;
	void *held = malloc(bytes);
	struct sl_error err;
	assert_false(has_pairs(r, e, SL_DRAFT));
	for (int done = 0, at = 0; done < 120;) {
		int count = cuts[at] ? cuts[at++] : 1000, end = done < 60 ? 60 : 120;
		count = count < end - done ? count : end - done;
		if (r->engine->run(e, dims == 2 ? &flat[done >= 60] : done < 60 ? &apart : &further, count, &err))
			fail_msg("%s", err.detail);
		done += count;
		if (cuts[at]) {
			struct sl_device_embedding *other = embedding(r, SL_DRAFT, y0);
			assert_int_equal(r->engine->state_save(e, held, NULL), 0);
			assert_int_equal(r->engine->state_load(other, held, bytes, NULL), 0);
			r->engine->embedding_destroy(e);
			e = other;
		}
		if (done == 60) {
			assert_true(has_pairs(r, e, SL_DRAFT));
			wide = spacing(r, e);
		}
	}
	printf("spacing %g, then %g\n", wide, spacing(r, e));
	assert_true(dims == 2 || spacing(r, e) > wide);  /* some in a plane stay as wide, or shrink */
	assert_int_equal(r->engine->snapshot(e, y, NULL), 0);
	r->engine->embedding_destroy(e);
	free(held);
}

/* Divided into stretches, and with other numbers of threads: as in one piece. In a plane, where runs take long, and in
 * light tests, one of these ways, by the seed. */
static void check_bytes(void)
{
	static const int cuts[][8] = {{0}, {0}, {1, 1, 1, 50, 9, 30, 0}, {17, 20, 23, 1, 2, 3, 30, 0}};
	static const int threads[] = {2, 1, 3, 5};
	int only = test_light() || dims == 2 ? 1 + (int)(seed % 3) : 0;
	float *first = NULL;
	for (int i = 0; i < 4; i++) {
		if (i && only && i != only)
			continue;
		struct rig r;
		rig_open(&r, test_engine(), threads[i], test_lightest() ? NODES / 3 : NODES, 40);
		size_t bytes = sizeof(float) * dims * (size_t)r.a->n;
		float *y0 = layout(r.a->n, CLUMPS, 8), *y = malloc(bytes);
		run_in_pieces(&r, y0, cuts[i], y);
		if (first)
			assert_memory_equal(first, y, bytes);
		free(i ? y : NULL);
		first = i ? first : y;
		free(y0);
		rig_close(&r);
	}
	free(first);
}

static void a_run_cut_into_pieces_has_the_same_bytes(void **state) { check_bytes(); }

static void a_run_in_a_plane_has_the_same_bytes(void **state)
{
	if (test_light() && !test_lightest())  /* as in space, and it takes long */
		skip();
	dims = 2;
	check_bytes();
	dims = 3;
}

/* If a step moves points far out of the cells and the grid, the rest stays unchanged. */
static void check_far_points(double width, double limit)
{
	struct rig r;
	rig_open(&r, test_engine(), 2, NODES, 40);
	uint32_t n = r.a->n;
	float *y0 = layout(n, EVEN, width), *y = malloc(sizeof *y * dims * (size_t)n);
	for (int i = 0; i < 4; i++) {
		if (test_leaves_out((uint64_t)i, 1, 3))
			continue;
		struct sl_step far = {.exaggeration = 1, .learning_rate = powf(10, (float)(6 + 3 * i)), .momentum = 0.9f};
		struct sl_device_embedding *e = embedding(&r, SL_NORMAL, y0);
		struct sl_error err;
		assert_true(has_pairs(&r, e, SL_NORMAL));
		int code = r.engine->run(e, &far, 12, &err);
		assert_true(code == 0 || code == SL_BADPARAM);
		r.engine->embedding_destroy(e);
		e = embedding(&r, SL_NORMAL, y0);
		double z;
		assert_int_equal(r.engine->forces(e, NULL, y, &z, NULL), 0);
		assert_true(error_of(y0, y, n, z) < limit);
		r.engine->embedding_destroy(e);
	}
	free(y0);
	free(y);
	rig_close(&r);
}

static void points_may_go_anywhere(void **state) { check_far_points(200, 3e-2); }

static void points_of_a_plane_may_go_anywhere(void **state)
{
	dims = 2;
	check_far_points(2000, 1e-2);
	dims = 3;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forces_are_the_sums),
		cmocka_unit_test(forces_in_a_plane_are_the_sums),
		cmocka_unit_test(forces_of_few_tight_clumps_are_right),
		cmocka_unit_test(forces_of_clumps_that_fly_apart_are_right),
		cmocka_unit_test(exploded_layouts_need_no_subnormal_numbers),
		cmocka_unit_test(a_run_cut_into_pieces_has_the_same_bytes),
		cmocka_unit_test(a_run_in_a_plane_has_the_same_bytes),
		cmocka_unit_test(points_may_go_anywhere),
		cmocka_unit_test(points_of_a_plane_may_go_anywhere),
	};
	seed = fresh_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
