/* The kernels of gpu/tree/: the order of the points, the cells above them, and the sums against those over all pairs in
 * double precision, with the limits of tests/unit/test_barnes_hut.c. Layouts are new in each run. Skipped where there
 * is no GPU. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"
#include "gpu/tree/tree.h"
#include "tests/gpu/device_memory.h"
#include "tests/unit/engines.h"

#define GUARD 512
#define SAMPLE 500u  /* points whose sums are computed, of many */

static cudaError_t nothing(void) { return cudaSuccess; }

#define NEED_GPU() do { if (!have_gpu) skip(); } while (0)

/* ---- a tree ------------------------------------------------------------------------------------------- */

struct rig {
	struct device_memory memory;
	struct sl_tree_memory tree;
	struct sl_particles points;
	struct sl_report *report;
	float *force;
	size_t floats;  /* of an array of points, padding included */
};

static size_t stride_of(int dims) { return dims == 3 ? 4 : (size_t)dims; }

static struct sl_report report_of(const float *y, uint32_t n, int dims)
{
	struct sl_report r = {.state = SL_GO, .finite = 1};
	for (int k = 0; k < dims; k++) {
		r.low[k] = INFINITY;
		r.high[k] = -INFINITY;
		for (uint32_t i = 0; i < n; i++) {
			r.low[k] = fminf(r.low[k], y[i * (size_t)dims + (size_t)k]);
			r.high[k] = fmaxf(r.high[k], y[i * (size_t)dims + (size_t)k]);
		}
	}
	return r;
}

/* A tree on the device, with memory filled with 1 bits. */
static void rig_init(struct rig *r, const float *y, uint32_t n, int dims, double theta)
{
	struct sl_report report = report_of(y, n, dims);
	size_t stride = stride_of(dims);
	char *at = NULL;
	*r = (struct rig){.memory.guard = GUARD, .floats = n * stride};
	float *padded = calloc(r->floats, sizeof *padded);
	for (size_t i = 0; i < n; i++)
		memcpy(padded + i * stride, y + i * (size_t)dims, sizeof *y * (size_t)dims);
	sl__tree_lay_out(&r->tree, n, dims, theta, &at);
	at = take(&r->memory, (size_t)at, NULL);
	sl__tree_lay_out(&r->tree, n, dims, theta, &at);
	r->points = (struct sl_particles){.n = n, .dims = dims, .y = take(&r->memory, sizeof *y * r->floats, padded)};
	r->report = take(&r->memory, sizeof report, &report);
	r->force = take(&r->memory, sizeof *r->force * r->floats, NULL);
	free(padded);
}

static void rig_run(struct rig *r, double nu)
{
	CUDA(sl__tree_make(&r->tree, &r->points, r->report, 0));
	CUDA(sl__tree_sums(&r->tree, (float)nu, r->force, r->report, 0));
	CUDA(cudaDeviceSynchronize());
}

static void *fetch(const void *from, size_t bytes)
{
	void *to = malloc(bytes);
	CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
	return to;
}

static double z_of(const struct rig *r)
{
	struct sl_report report;
	CUDA(cudaMemcpy(&report, r->report, sizeof report, cudaMemcpyDeviceToHost));
	return report.level_z[0];
}

/* ---- order and cells ------------------------------------------------------------------------------------- */

/* Checks that places have each point once. Returns the coordinates by place. */
static float *check_order(const struct rig *r, const float *y)
{
	uint32_t n = r->tree.n, *index = fetch(r->tree.index[0], sizeof *index * n);
	size_t d = (size_t)r->tree.dims, stride = stride_of(r->tree.dims);
	float *at = fetch(r->tree.at, sizeof *at * n * stride), *dense = malloc(sizeof *dense * n * d);
	char *met = calloc(n, 1);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(index[i] < n && !met[index[i]]);
		met[index[i]] = 1;
		assert_memory_equal(at + i * stride, y + index[i] * d, sizeof *y * d);
		memcpy(dense + i * d, y + index[i] * d, sizeof *y * d);
	}
	free(index);
	free(at);
	free(met);
	return dense;
}

static void check_cells(const struct rig *r, const float *at, double theta)
{
	const struct sl_tree_memory *t = &r->tree;
	float4 *cell = fetch(t->cell, sizeof *cell * t->first[t->levels]);
	uint64_t size = SL_TREE_LEAF;
	assert_int_equal(t->first[0], 0);
	assert_in_range(t->first[t->levels] - t->first[t->levels - 1], 1, SL_TREE_TOP);
	for (int level = 0; level < t->levels; level++, size *= 4) {
		assert_int_equal(t->first[level + 1] - t->first[level], (t->n + size - 1) / size);
		for (uint32_t j = 0; j < t->first[level + 1] - t->first[level]; j++) {
			const float4 c = cell[t->first[level] + j];
			const float centre[3] = {c.x, c.y, c.z};
			uint64_t from = j * size, to = from + size < t->n ? from + size : t->n;
			float side = 0;
			for (int k = 0; k < t->dims; k++) {
				float low = INFINITY, high = -INFINITY;
				double sum = 0, most = 0;
				for (uint64_t i = from; i < to; i++) {
					float x = at[i * (uint64_t)t->dims + (uint64_t)k];
					low = fminf(low, x);
					high = fmaxf(high, x);
					sum += (double)x;
					most = fmax(most, fabs((double)x));
				}
				side = fmaxf(side, high - low);
				assert_true(fabs(sum / (double)(to - from) - (double)centre[k]) <= 2e-6 * most);
			}
			float open = side * side <= 1e-4f ? 0 : theta > 0 ? side * side * (float)(1 / (theta * theta)) : INFINITY;
			assert_true(c.w == open || fabsf(c.w - open) <= 1e-5f * open);
		}
	}
	free(cell);
}

static void cells_hold_their_points(void **state)
{
	static const uint32_t counts[] = {1, 2, 7, 8, 9, 31, 33, 511, 513, 1024, 2049, 5000, 35000};
	NEED_GPU();
	uint64_t seed = fresh_seed();
	for (int dims = 1; dims <= 3; dims++)
		for (size_t c = 0; c < sizeof counts / sizeof *counts - test_light(); c++) {
			double theta = c % 3 * 0.4;
			float *y = test_layout(counts[c], dims, 50, 2, seed++);
			struct rig r;
			rig_init(&r, y, counts[c], dims, theta);
			rig_run(&r, 1);
			float *at = check_order(&r, y);
			check_cells(&r, at, theta);
			give_back(&r.memory);
			free(at);
			free(y);
		}
}

/* Mean size of the boxes around 32 successive points, without boxes wider than `most`. */
static double size_of_groups(const float *y, uint32_t n, int dims, double most)
{
	struct rig r;
	rig_init(&r, y, n, dims, 0.5);
	rig_run(&r, 1);
	float *at = check_order(&r, y);
	double all = 0, groups = 0;
	for (uint32_t from = 0; from + SL_TREE_GROUP <= n; from += SL_TREE_GROUP) {
		double size = 1, widest = 0;
		for (int k = 0; k < dims; k++) {
			double low = INFINITY, high = -INFINITY;
			for (uint32_t i = from; i < from + SL_TREE_GROUP; i++) {
				low = fmin(low, (double)at[i * (size_t)dims + (size_t)k]);
				high = fmax(high, (double)at[i * (size_t)dims + (size_t)k]);
			}
			size *= high - low;
			widest = fmax(widest, high - low);
		}
		all += widest > most ? 0 : size;
		groups += !(widest > most);
	}
	give_back(&r.memory);
	free(at);
	assert_true(groups > n / SL_TREE_GROUP - 8);
	return all / groups;
}

/* Points spread evenly in a cube: the box of a group is little larger than its share of the cube. One extremely far
 * point changes little. */
static void groups_are_tight(void **state)
{
	NEED_GPU();
	for (int dims = 1; dims <= 3; dims++) {
		uint32_t n = test_light() ? 4096 : 20000;
		uint64_t seed = fresh_seed();
		float *y = malloc(sizeof *y * n * (size_t)dims);
		for (uint32_t i = 0; i < n * (uint32_t)dims; i++)
			y[i] = (float)(100 * sl_random_uniform(seed, i));
		double share = pow(100, dims) * SL_TREE_GROUP / n;
		double one = size_of_groups(y, n, dims, INFINITY) / share;
		y[0] = 1e13f;
		double two = size_of_groups(y, n, dims, 1000) / share;
		printf("%d-D: boxes are %.2f times their share of the layout, beside a far point %.2f times\n", dims, one, two);
		assert_true(one < 1.6 && two < 2.5);
		free(y);
	}
}

/* ---- sums ------------------------------------------------------------------------------------------------- */

/* Computes row i over all pairs; returns its part of Z. */
static double all_of(const float *y, uint32_t n, size_t d, double nu, uint32_t i, double force[3])
{
	double z = 0;
	force[0] = force[1] = force[2] = 0;
	for (uint32_t j = 0; j < n; j++) {
		double off[3] = {0}, r2 = 1;
		for (size_t k = 0; k < d; k++) {
			off[k] = (double)y[i * d + k] - (double)y[j * d + k];
			r2 += off[k] * off[k];
		}
		z += i == j ? 0 : pow(r2, -nu);
		double steep = pow(r2, -nu - 1);
		for (size_t k = 0; k < d; k++)
			force[k] += steep * off[k];
	}
	return z;
}

/* Relative errors of the forces at up to `sample` points, as one vector, and of Z where these are all. The same bytes
 * come twice. */
static void errors_of(const float *y, uint32_t n, int dims, double theta, double nu, int warps, uint32_t sample,
		      double *force_error, double *z_error)
{
	struct rig r;
	rig_init(&r, y, n, dims, theta);
	r.tree.warps = warps;
	size_t d = (size_t)dims, stride = stride_of(dims), bytes = sizeof(float) * r.floats;
	rig_run(&r, nu);
	float *got = fetch(r.force, bytes);
	double got_z = z_of(&r), z = 0, off = 0, all = 0;
	rig_run(&r, nu);
	float *again = fetch(r.force, bytes);
	assert_true(z_of(&r) == got_z);
	for (uint32_t i = 0; i < n; i++)
		assert_memory_equal(got + i * stride, again + i * stride, sizeof(float) * d);
	sample = sample < n ? sample : n;
	for (uint32_t s = 0; s < sample; s++) {
		uint32_t i = (uint32_t)((uint64_t)s * n / sample);
		double right[3];
		z += all_of(y, n, d, nu, i, right);
		for (size_t k = 0; k < d; k++) {
			off += (right[k] - (double)got[i * stride + k]) * (right[k] - (double)got[i * stride + k]);
			all += right[k] * right[k];
		}
	}
	*force_error = sqrt(off / fmax(all, 1e-12));
	*z_error = sample < n ? 0 : fabs(got_z - z) / fmax(z, 1e-6);
	give_back(&r.memory);
	free(got);
	free(again);
}

static void forces_are_the_sums(void **state)
{
	static const struct { double theta, force, z; } limits[] = {
		{0, 2e-4, 2e-5}, {0.2, 3e-3, 1e-3}, {0.5, 2e-2, 1e-2}, {0.8, 6e-2, 3e-2}, {1, 1.5e-1, 5e-2}};
	static const double nus[] = {1, 0.5, 4};
	NEED_GPU();
	uint64_t seed = fresh_seed();
	for (int dims = 1; dims <= 3; dims++)
		for (size_t l = 0; l < sizeof limits / sizeof *limits; l++)
			for (size_t at = 0; at < sizeof nus / sizeof *nus; at++) {
				uint32_t n = test_light() ? 400 : 1000;
				float *y = test_layout(n, dims, dims == 3 ? 12 : 60, 2, seed++);
				double force, z, more = dims == 1 && l > 0 ? 3 : 1;  /* errors do not cancel on a line */
				errors_of(y, n, dims, limits[l].theta, nus[at], (l + at) % 2 ? 1 : 4, n, &force, &z);
				if (!(force <= more * limits[l].force) || !(z <= more * limits[l].z))
					fail_msg("%d-D, theta %g, nu %g: forces off by %.2g, Z by %.2g", dims, limits[l].theta,
						 nus[at], force, z);
				free(y);
			}
}

/* Any number of warps, in one block or in many. */
static void forces_of_many_are_the_sums(void **state)
{
	NEED_GPU();
	for (int dims = 1; dims <= 3; dims++)
		for (int more = 0; more < 2; more++) {
			uint32_t n = test_light() ? 5000 : more ? 300000 : 70000;
			float *y = test_layout(n, dims, dims == 3 ? 60 : 300, 3, fresh_seed());
			double force, z;
			errors_of(y, n, dims, 0.5, 1, more ? 1 : 4, SAMPLE, &force, &z);
			printf("%u points, %d-D: forces off by %.1e\n", n, dims, force);
			assert_true(force < (dims == 1 ? 6e-2 : 2e-2));
			free(y);
		}
}

enum kind { EVEN, ONE_PLACE, TIGHT, ON_A_GRID, ONE_FAR_AWAY, TWO_PLACES, TWO_FAR_CLUMPS, VERY_WIDE, TINY, KINDS };

static void make_odd(float *y, uint32_t n, int dims, enum kind kind)
{
	size_t floats = n * (size_t)dims;
	for (size_t i = 0; i < floats; i++) {
		size_t point = i / (size_t)dims;
		switch (kind) {
		case ONE_PLACE: y[i] = 0.25f; break;
		case TIGHT: y[i] *= 1e-5f; break;
		case ON_A_GRID: y[i] = floorf(y[i]); break;
		case TWO_PLACES: y[i] = point % 3 ? 3 : -2; break;
		case TWO_FAR_CLUMPS: y[i] += point % 2 ? 1e5f : 0; break;
		case VERY_WIDE: y[i] *= 1e13f; break;
		case TINY: y[i] *= 1e-38f; break;
		default: break;
		}
	}
	if (kind == ONE_FAR_AWAY)
		y[floats - 1] = 1e12f;
}

static void odd_layouts(void **state)
{
	static const uint32_t counts[] = {1, 2, 31, 32, 33, 65, 700};
	NEED_GPU();
	uint64_t seed = fresh_seed();
	for (int dims = 1; dims <= 3; dims++)
		for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
			for (int kind = 0; kind < KINDS; kind++) {
				uint32_t n = counts[c];
				float *y = test_layout(n, dims, 8, 1, seed++);
				double force, z;
				make_odd(y, n, dims, kind);
				errors_of(y, n, dims, 0.4, 1, kind % 2 ? 4 : 1, n, &force, &z);
				if (!(force <= 5e-2) || !(z <= 2e-2))
					fail_msg("%u points, %d-D, kind %d: forces off by %.2g, Z by %.2g", n, dims, kind, force, z);
				free(y);
			}
}

/* A clump of 32 points, far from all others, in one cell of level 2 with 96 of these: its centre is so far away from
 * the clump that theta would allow it, but a group never treats its own cell as far. */
static void nobody_is_far_from_itself(void **state)
{
	NEED_GPU();
	for (int dims = 2; dims <= 3; dims++) {
		uint32_t n = 17 * 128, apart = SL_TREE_GROUP;
		size_t d = (size_t)dims, stride = stride_of(dims);
		float *y = test_layout(n, dims, 1, 0.5, fresh_seed());
		double off = 0, all = 0;
		struct rig r;
		for (uint32_t i = 0; i < n * (uint32_t)dims; i++)
			y[i] = y[i] * 0.1f + (i < apart * (uint32_t)dims ? 40 : 0);  /* errors within a clump are small */
		rig_init(&r, y, n, dims, 1);
		rig_run(&r, 1);
		float *got = fetch(r.force, sizeof *got * r.floats);
		for (uint32_t i = 0; i < apart; i++) {
			double right[3];
			all_of(y, n, d, 1, i, right);
			for (size_t k = 0; k < d; k++) {
				off += (right[k] - (double)got[i * stride + k]) * (right[k] - (double)got[i * stride + k]);
				all += right[k] * right[k];
			}
		}
		if (!(sqrt(off / all) <= 2e-2))
			fail_msg("%d-D: forces off by %.2g", dims, sqrt(off / all));
		give_back(&r.memory);
		free(got);
		free(y);
	}
}

/* A diverged layout is left unchanged. */
static void nothing_moves_unless_it_may(void **state)
{
	NEED_GPU();
	uint32_t n = 3000;
	float *y = test_layout(n, 2, 30, 2, fresh_seed());
	struct sl_report report = report_of(y, n, 2);
	struct rig r;
	rig_init(&r, y, n, 2, 0.5);
	report.state = SL_DIVERGED;
	CUDA(cudaMemcpy(r.report, &report, sizeof report, cudaMemcpyHostToDevice));
	unsigned char *before = fetch(r.memory.block[0], r.memory.bytes[0]);
	rig_run(&r, 1);
	unsigned char *after = fetch(r.memory.block[0], r.memory.bytes[0]);
	assert_memory_equal(before, after, r.memory.bytes[0]);
	struct sl_report *left = fetch(r.report, sizeof *left);
	assert_memory_equal(left, &report, sizeof report);
	give_back(&r.memory);
	free(before);
	free(after);
	free(left);
	free(y);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_hold_their_points),
		cmocka_unit_test(groups_are_tight),
		cmocka_unit_test(forces_are_the_sums),
		cmocka_unit_test(forces_of_many_are_the_sums),
		cmocka_unit_test(odd_layouts),
		cmocka_unit_test(nobody_is_far_from_itself),
		cmocka_unit_test(nothing_moves_unless_it_may),
	};
	find_gpu(nothing);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
