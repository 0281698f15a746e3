/* Barnes and Hut's tree against sums over all pairs in double precision, on layouts that are new in each run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/cpu/tree.h"
#include "core/params.h"
#include "tests/unit/engines.h"

/* force[n * dims], not divided by Z; returns Z. */
static double all_pairs(const float *y, uint32_t n, int dims, double nu, double *force)
{
	size_t d = (size_t)dims;
	double z = 0;
	memset(force, 0, sizeof *force * n * d);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++) {
			double off[3] = {0}, r2 = 1;
			for (size_t k = 0; k < d; k++) {
				off[k] = (double)y[i * d + k] - (double)y[j * d + k];
				r2 += off[k] * off[k];
			}
			z += i == j ? 0 : pow(r2, -nu);
			for (size_t k = 0; k < d; k++)
				force[i * d + k] += pow(r2, -nu - 1) * off[k];
		}
	return z;
}

/* Relative errors of the tree: of the forces, as one vector, and of Z. */
static void errors_of(const float *y, uint32_t n, int dims, double theta, double nu, double *force_error,
		      double *z_error)
{
	struct sl_tree t;
	struct sl_error err;
	size_t floats = n * (size_t)dims;
	double *right = malloc(sizeof *right * floats), z = all_pairs(y, n, dims, nu, right), got_z = 0, off = 0, all = 0;
	float *got = malloc(sizeof *got * floats);
	assert_int_equal(sl__tree_init(&t, n, dims, theta, &err), 0);
	assert_int_equal(sl__tree_build(&t, y, 2, &err), 0);
#pragma omp parallel num_threads(2)
	{
		double mine = sl__tree_repel(&t, sl_cpu_kernels(), nu, got);
#pragma omp single
		got_z = mine;
	}
	for (size_t i = 0; i < floats; i++) {
		off += (right[i] - (double)got[i]) * (right[i] - (double)got[i]);
		all += right[i] * right[i];
	}
	*force_error = sqrt(off / fmax(all, 1e-12));
	*z_error = fabs(got_z - z) / fmax(z, 1e-6);
	sl__tree_finish(&t);
	free(right);
	free(got);
}

static void forces_are_the_sums(void **state)
{
	static const struct { double theta, force, z; } limits[] = {
		{0, 2e-4, 2e-5}, {0.2, 3e-3, 1e-3}, {0.5, 2e-2, 1e-2}, {0.8, 6e-2, 3e-2}, {1, 1.5e-1, 5e-2}};
	static const double nus[] = {1, 0.5, 4};
	uint64_t seed = fresh_seed();
	for (int dims = 1; dims <= 3; dims++)
		for (size_t l = 0; l < sizeof limits / sizeof *limits; l++)
			for (size_t at = 0; at < sizeof nus / sizeof *nus; at++) {
				if (test_leaves_out((uint64_t)dims + l + at, 1, 3))
					continue;
				uint32_t n = test_light() ? 400 : 1000;
				float *y = test_layout(n, dims, dims == 3 ? 12 : 60, 2, seed++);
				/* errors do not cancel on a line; steep kernels vary more within a cell */
				double force, z, more = dims == 1 && l > 0 ? 3 : nus[at] > 1 ? 1.5 : 1;
				errors_of(y, n, dims, limits[l].theta, nus[at], &force, &z);
				if (!(force <= more * limits[l].force) || !(z <= more * limits[l].z))
					fail_msg("%d-D, theta %g, nu %g: forces off by %.2g, Z by %.2g", dims, limits[l].theta,
						 nus[at], force, z);
				free(y);
			}
}

/* Few points; all in one place; tight; on a lattice; and with one point so far away that one smallest cell of the tree
 * has all others. A cell of side s whose points lie at its two ends, at a distance of s / theta, is off by 1.5 theta^2,
 * 0.24 here. Of random points such errors cancel; on a lattice, where many points share a place, less so. */
static void odd_layouts(void **state)
{
	static const uint32_t counts[] = {1, 2, 31, 32, 33, 65, 700};
	uint64_t seed = fresh_seed();
	for (int dims = 1; dims <= 3; dims++)
		for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
			for (int kind = 0; kind < 5; kind++) {
				if (test_leaves_out(5 * c + (size_t)kind, 1, 3))
					continue;
				uint32_t n = counts[c];
				size_t floats = n * (size_t)dims;
				float *y = test_layout(n, dims, 8, 1, seed++);
				double force, z;
				for (size_t i = 0; i < floats; i++)
					y[i] = kind == 1 ? 0.25f : kind == 2 ? y[i] * 1e-5f : kind == 3 ? floorf(y[i]) : y[i];
				if (kind == 4)
					y[floats - 1] = 1e12f;
				errors_of(y, n, dims, 0.4, 1, &force, &z);
				if (!(force <= (kind == 3 ? 0.12 : 5e-2)) || !(z <= 2e-2))
					fail_msg("%u points, %d-D, kind %d: forces off by %.2g, Z by %.2g", n, dims, kind, force, z);
				free(y);
			}
}

/* If all points but one share a smallest cell, the cell is sorted again, or acts as its centre if it is narrow: no
 * group computes all points individually. */
static void far_outliers_cost_nothing(void **state)
{
	for (float scale = 1; scale > 1e-6f; scale *= 1e-3f) {
		uint32_t n = 20000, most = 0;
		struct sl_tree t;
		struct sl_error err;
		float *y = test_layout(n, 2, 200, 5, fresh_seed());
		for (uint32_t i = 0; i < 2 * n; i++)
			y[i] *= scale * scale;
		y[0] = 1e13f;
		assert_int_equal(sl__tree_init(&t, n, 2, 0.5, &err), 0);
		assert_int_equal(sl__tree_build(&t, y, 1, &err), 0);
		for (uint32_t i = 0; i < t.nodes; i++)
			if (t.node[i].next == i + 1 && t.node[i].open > 0 && t.node[i].to - t.node[i].from > most)
				most = t.node[i].to - t.node[i].from;
		assert_in_range(most, 0, 32);
		sl__tree_finish(&t);
		free(y);
	}
}

/* Two clumps at the ends of one cell, with the cell's centre between them: a group never treats its own cell as far. */
static void nobody_is_far_from_itself(void **state)
{
	for (int dims = 1; dims <= 3; dims++) {
		uint32_t n = 600;
		float *y = test_layout(n, dims, 1, 0.5, fresh_seed());
		double force, z;
		for (uint32_t i = 0; i < n * (uint32_t)dims; i++)
			y[i] *= 0.1f;  /* errors within a clump are small */
		for (uint32_t i = 0; i < n / 6; i++)
			for (int k = 0; k < dims; k++)
				y[i * (uint32_t)dims + (uint32_t)k] += 40;
		errors_of(y, n, dims, 1, 1, &force, &z);
		if (!(force <= 2e-2) || !(z <= 1e-2))
			fail_msg("%d-D: forces off by %.2g, Z by %.2g", dims, force, z);
		free(y);
	}
}

/* Whole runs, on any engine: the same bytes for any number of threads, also from a checkpoint; a divergence near that
 * of all pairs. */
static void runs(void **state)
{
	struct sl_params p;
	double kl[2];
	float *y[3];
	uint64_t seed = fresh_seed() % 1000;
	int iterations = test_iterations(300);
	for (int way = 0; way < 3; way++) {
		struct bench b;
		struct sl_error err;
		bench_open(&b, test_graph(test_light() ? 600 : 2000, 4, true, false, seed), way == 1 ? 1 : 2);
		sl_params_preset(&p, SL_PRESET_DEFAULT);
		p.repulsion = way == 2 ? SL_REPULSION_EXACT : SL_REPULSION_BARNES_HUT;
		p.iterations = iterations;
		p.exaggeration_iterations = iterations / 3;
		struct sl_embedding *e;
		struct sl_status status = {0};
		assert_int_equal(sl_embedding_create(&e, b.engine, b.resident, b.a, &p, NULL, &err), 0);
		while (!status.done) {
			assert_int_equal(sl_embedding_advance(e, 5, &status, &err), 0);
			if (way == 1 && status.iteration > iterations / 3 && status.iteration < iterations * 2 / 3) {
				void *saved;
				uint64_t bytes;
				assert_int_equal(sl_embedding_save(e, &saved, &bytes, &err), 0);
				sl_embedding_destroy(e);
				assert_int_equal(sl_embedding_create(&e, b.engine, b.resident, b.a, &p, NULL, &err), 0);
				assert_int_equal(sl_embedding_load(e, saved, bytes, &err), 0);
				free(saved);
			}
		}
		y[way] = malloc(sizeof(float) * 2 * b.a->n_user);
		assert_int_equal(sl_embedding_layout(e, y[way], &err), 0);
		kl[way == 2] = status.measure;
		sl_embedding_destroy(e);
		if (way == 1)
			assert_memory_equal(y[0], y[1], sizeof(float) * 2 * b.a->n_user);
		bench_close(&b);
	}
	if (!(fabs(kl[0] - kl[1]) < 0.02 * kl[1]))
		fail_msg("KL divergence %.4f, of all pairs %.4f", kl[0], kl[1]);
	for (int way = 0; way < 3; way++)
		free(y[way]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forces_are_the_sums),
		cmocka_unit_test(odd_layouts),
		cmocka_unit_test(far_outliers_cost_nothing),
		cmocka_unit_test(nobody_is_far_from_itself),
		cmocka_unit_test(runs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
