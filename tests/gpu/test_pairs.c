/* Pairs within a cut-off beside a smooth grid, in 3-D: forces against sums over all pairs in double precision, the same
 * bytes however a run is cut up, the way there from a tight layout and back. Skipped where there is no GPU; a
 * different seed each time, which is printed and which SPACELAND_TEST_SEED repeats. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/graph/affinities.h"
#include "core/engine_load.h"
#include "core/grid.h"
#include "core/params.h"
#include "core/random.h"
#include "tests/gpu/need_gpu.h"
#include "tests/unit/graphs.h"

#define NODES 20000
#define MANY 100000
#define SAMPLE 1500u  /* nodes whose sums are computed */
#define SAMPLE_OF_MANY 300u

struct rig {
	struct sl_graph *graph;
	struct sl_affinities *a;
	struct sl_device *device;
	struct sl_device_graph *on_device;
};

static uint64_t seed;

static void rig_of(struct rig *r, uint32_t nodes, uint32_t degree)
{
	struct sl_affinities_params params = {.lambda = 10};
	struct sl_error err;
	r->graph = test_graph(nodes, degree, true, false, 3);
	if (sl_affinities_create(&r->a, r->graph, &params, &err) || cuda->open(&r->device, NULL, &err) ||
	    cuda->graph_put(r->device, r->a, &r->on_device, &err))
		fail_msg("%s", err.detail);
}

static void rig_open(struct rig *r) { rig_of(r, NODES, 40); }

static void rig_close(struct rig *r)
{
	cuda->graph_drop(r->on_device);
	cuda->close(r->device);
	sl_affinities_destroy(r->a);
	sl_graph_destroy(r->graph);
}

static struct sl_device_embedding *embedding(const struct rig *r, int accuracy, const float *y)
{
	struct sl_settings s = {.dims = 3, .accuracy = accuracy, .repulsion = SL_REPULSION_GRID};
	struct sl_device_embedding *e;
	struct sl_error err;
	if (cuda->embedding_create(r->on_device, &s, y, &e, &err))
		fail_msg("%s", err.detail);
	return e;
}

/* ---- layouts ------------------------------------------------------------------------------------- */

enum kind { EVEN, CLUMPS, ONE_CLUMP, SHEET, KINDS };
static const char *const names[KINDS] = {"even", "clumps", "one clump and a halo", "a sheet"};

/* In a cube of that width, which at least two points mark. */
static float *layout(uint32_t n, enum kind kind, double width)
{
	float *y = malloc(sizeof *y * 3 * (size_t)n);
	for (uint32_t i = 0; i < n; i++)
		for (int k = 0; k < 3; k++) {
			uint64_t at = 3 * (uint64_t)i + (uint64_t)k, clump = 3 * (uint64_t)(i % 300) + (uint64_t)k;
			double even = sl_random_uniform(seed, at), normal = sl_random_normal(seed + 1, at), x = even;
			if (kind == CLUMPS)
				x = sl_random_uniform(seed + 2, clump) + 0.01 * normal;
			else if (kind == ONE_CLUMP)
				x = i % 4 ? 0.5 + 0.04 * normal : even;
			else if (kind == SHEET)
				x = k == 2 ? 0.5 + 0.005 * normal : even;
			x = i == 0 || x < 0 ? 0 : i == 1 || x > 1 ? 1 : x;
			y[at] = (float)(width * (x - 0.3));
		}
	return y;
}

/* Relative error of the repulsion at every so many nodes; of Z over these, too, where `z` is not NULL. */
static double error_of(const float *y, const float *repulsion, uint32_t n, double z)
{
	uint32_t sample = n > MANY ? SAMPLE_OF_MANY : SAMPLE;
	double wrong = 0, all = 0;
#pragma omp parallel for reduction(+ : wrong, all)
	for (uint32_t s = 0; s < sample; s++) {
		uint32_t i = (uint32_t)((uint64_t)s * n / sample);
		double force[3] = {0};
		for (uint32_t j = 0; j < n; j++) {
			double off[3], t = 0;
			for (int k = 0; k < 3; k++) {
				off[k] = (double)y[3 * i + (uint32_t)k] - (double)y[3 * j + (uint32_t)k];
				t += off[k] * off[k];
			}
			for (int k = 0; k < 3; k++)
				force[k] += off[k] / ((1 + t) * (1 + t));
		}
		for (int k = 0; k < 3; k++) {
			double d = (double)repulsion[3 * i + (uint32_t)k] * z - force[k];
			wrong += d * d;
			all += force[k] * force[k];
		}
	}
	return sqrt(wrong / all);
}

static double all_z(const float *y, uint32_t n)
{
	double z = 0;
#pragma omp parallel for reduction(+ : z) schedule(dynamic, 64)
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < i; j++) {
			double t = 1;
			for (uint32_t k = 0; k < 3; k++) {
				double off = (double)y[3 * i + k] - (double)y[3 * j + k];
				t += off * off;
			}
			z += 2 / t;
		}
	return z;
}

/* The widest grids without pairs have a fixed spacing. */
static bool has_pairs(struct sl_device_embedding *e, int accuracy)
{
	struct sl_measure m;
	assert_int_equal(cuda->measure(e, &m, NULL), 0);
	return m.h > 1.01 * sl_grid_spacing(3, accuracy);
}

/* ---- tests ------------------------------------------------------------------------------------------ */

static void forces_are_the_sums(void **state)
{
	static const double limit[] = {[SL_DRAFT] = 1e-1, [SL_NORMAL] = 3e-2, [SL_FINE] = 5e-3}, widths[] = {60, 150, 400};
	NEED_GPU();
	struct rig r;
	int with_pairs = 0;
	rig_open(&r);
	uint32_t n = r.a->n;
	float *repulsion = malloc(sizeof *repulsion * 3 * (size_t)n);
	for (int kind = 0; kind < KINDS; kind++)
		for (int at = 0; at < 3; at++) {
			float *y = layout(n, (enum kind)kind, widths[at]);
			double right = all_z(y, n);
			for (int accuracy = SL_DRAFT; accuracy <= SL_FINE; accuracy++) {
				struct sl_device_embedding *e = embedding(&r, accuracy, y);
				double z;
				bool pairs = has_pairs(e, accuracy);
				with_pairs += pairs;
				assert_int_equal(cuda->forces(e, NULL, repulsion, &z, NULL), 0);
				double error = error_of(y, repulsion, n, z);
				printf("%s, %g wide, accuracy %d, %s: %.2e, Z %.1e\n", names[kind], widths[at], accuracy,
				       pairs ? "pairs" : "grids", error, fabs(z / right - 1));
				assert_true(error < limit[accuracy]);
				assert_true(fabs(z / right - 1) < limit[accuracy] / 10);
				cuda->embedding_destroy(e);
			}
			free(y);
		}
	assert_true(with_pairs >= 2 * KINDS);
	free(repulsion);
	rig_close(&r);
}

/* Z by what the sample has of it. */
static double estimated_z(const float *y, uint32_t n)
{
	double z = 0;
#pragma omp parallel for reduction(+ : z)
	for (uint32_t s = 0; s < SAMPLE_OF_MANY; s++) {
		uint32_t i = (uint32_t)((uint64_t)s * n / SAMPLE_OF_MANY);
		for (uint32_t j = 0; j < n; j++) {
			double t = 1;
			for (uint32_t k = 0; k < 3; k++) {
				double off = (double)y[3 * i + k] - (double)y[3 * j + k];
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
	rig_of(&r, n, 3);
	n = r.a->n;
	float *y = layout(n, kind, width), *repulsion = malloc(sizeof *repulsion * 3 * (size_t)n);
	double right = estimated_z(y, n);
	for (int accuracy = SL_DRAFT; accuracy <= most; accuracy++) {
		struct sl_device_embedding *e = embedding(&r, accuracy, y);
		double z;
		assert_int_equal(cuda->forces(e, NULL, repulsion, &z, NULL), 0);
		double error = error_of(y, repulsion, n, z);
		printf("%u points, %s, %g wide, accuracy %d: %.2e, Z within %.1e\n", n, names[kind], width, accuracy, error,
		       fabs(z / right - 1));
		assert_true(error < (pairs ? 4.5e-2 : accuracy == SL_DRAFT ? 1e-1 : 3e-2));
		assert_true(fabs(z / right - 1) < 0.1);
		if (accuracy == SL_DRAFT)
			assert_int_equal(has_pairs(e, accuracy), pairs);
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

/* From 200,000 on fewer threads take a point. */
static void forces_of_many_points_far_apart_are_right(void **state)
{
	check_many(215000, EVEN, 260, SL_DRAFT, true);
}

static double spacing(struct sl_device_embedding *e)
{
	struct sl_measure m;
	assert_int_equal(cuda->measure(e, &m, NULL), 0);
	return m.h;
}

/* Apart, from grids to pairs, and further. `cuts`: lengths of stretches, after which the state goes through a
 * checkpoint into another embedding; 0 ends them. */
static void run_in_pieces(const struct rig *r, const float *y0, const int *cuts, float *y)
{
	static const struct sl_step apart = {.exaggeration = 0, .learning_rate = 5e4f},
				    further = {.exaggeration = 0.25f, .learning_rate = 1e6f};
	struct sl_device_embedding *e = embedding(r, SL_DRAFT, y0);
	uint64_t bytes = cuda->state_bytes(e);
	double wide = 0;
	void *held = malloc(bytes);
	struct sl_error err;
	assert_false(has_pairs(e, SL_DRAFT));
	for (int done = 0, at = 0; done < 120;) {
		int count = cuts[at] ? cuts[at++] : 1000, end = done < 60 ? 60 : 120;
		count = count < end - done ? count : end - done;
		if (cuda->run(e, done < 60 ? &apart : &further, count, &err))
			fail_msg("%s", err.detail);
		done += count;
		if (cuts[at]) {
			struct sl_device_embedding *other = embedding(r, SL_DRAFT, y0);
			assert_int_equal(cuda->state_save(e, held, NULL), 0);
			assert_int_equal(cuda->state_load(other, held, bytes, NULL), 0);
			cuda->embedding_destroy(e);
			e = other;
		}
		if (done == 60) {
			assert_true(has_pairs(e, SL_DRAFT));
			wide = spacing(e);
		}
	}
	printf("spacing %g, then %g\n", wide, spacing(e));
	assert_true(spacing(e) != wide);
	assert_int_equal(cuda->snapshot(e, y, NULL), 0);
	cuda->embedding_destroy(e);
	free(held);
}

/* More candidates than a layout had when its grid was chosen have one chosen anew; the run goes on. */
static void where_pairs_crowd_grids_are_chosen_again(void **state)
{
	NEED_GPU();
	struct rig r;
	rig_open(&r);
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

static void a_run_cut_into_pieces_has_the_same_bytes(void **state)
{
	static const int cuts[][8] = {{0}, {0}, {1, 1, 1, 50, 9, 30, 0}, {17, 20, 23, 1, 2, 3, 30, 0}};
	NEED_GPU();
	struct rig r;
	rig_open(&r);
	size_t bytes = sizeof(float) * 3 * (size_t)r.a->n;
	float *y0 = layout(r.a->n, CLUMPS, 8), *first = malloc(bytes), *again = malloc(bytes);
	for (int i = 0; i < 4; i++) {
		run_in_pieces(&r, y0, cuts[i], i ? again : first);
		if (i)
			assert_memory_equal(first, again, bytes);
	}
	free(y0);
	free(first);
	free(again);
	rig_close(&r);
}

/* Layouts that a step throws far out of the cells and the grid leave everything else as it was. */
static void points_may_go_anywhere(void **state)
{
	NEED_GPU();
	struct rig r;
	rig_open(&r);
	uint32_t n = r.a->n;
	float *y0 = layout(n, EVEN, 200), *y = malloc(sizeof *y * 3 * (size_t)n);
	for (int i = 0; i < 4; i++) {
		struct sl_step far = {.exaggeration = 1, .learning_rate = powf(10, (float)(6 + 3 * i)), .momentum = 0.9f};
		struct sl_device_embedding *e = embedding(&r, SL_NORMAL, y0);
		struct sl_error err;
		assert_true(has_pairs(e, SL_NORMAL));
		int code = cuda->run(e, &far, 12, &err);
		assert_true(code == 0 || code == SL_BADPARAM);
		cuda->embedding_destroy(e);
		e = embedding(&r, SL_NORMAL, y0);
		double z;
		assert_int_equal(cuda->forces(e, NULL, y, &z, NULL), 0);
		assert_true(error_of(y0, y, n, z) < 3e-2);
		cuda->embedding_destroy(e);
	}
	free(y0);
	free(y);
	rig_close(&r);
}

/* States that cannot be right are refused. */
static void a_spoilt_state_is_refused(void **state)
{
	NEED_GPU();
	struct rig r;
	rig_open(&r);
	float *y0 = layout(r.a->n, EVEN, 200);
	struct sl_step step = {.exaggeration = 1, .learning_rate = 10};
	struct sl_device_embedding *e = embedding(&r, SL_NORMAL, y0);
	uint64_t bytes = cuda->state_bytes(e), header = bytes - 3 * 3 * sizeof(float) * (uint64_t)r.a->n;
	char *held = malloc(bytes), *spoilt = malloc(bytes);
	struct sl_grid g;
	assert_int_equal(cuda->run(e, &step, 3, NULL), 0);
	assert_int_equal(cuda->state_save(e, held, NULL), 0);
	uint64_t at = header - 2 * sizeof g;  /* the grids are what it ends with */
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
		cmocka_unit_test(forces_are_the_sums),
		cmocka_unit_test(forces_of_many_points_close_together_are_right),
		cmocka_unit_test(forces_of_many_points_far_apart_are_right),
		cmocka_unit_test(where_pairs_crowd_grids_are_chosen_again),
		cmocka_unit_test(a_run_cut_into_pieces_has_the_same_bytes),
		cmocka_unit_test(points_may_go_anywhere),
		cmocka_unit_test(a_spoilt_state_is_refused),
	};
	seed = fresh_seed();
	return cmocka_run_group_tests(tests, need_gpu, NULL);
}
