/* cutoff.h -- layouts and their reference forces, for tests of pairs within a cut-off beside a smooth grid, in 3-D or
 * 2-D. After cmocka.h. */
#ifndef SL_TEST_CUTOFF_H
#define SL_TEST_CUTOFF_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/graph/affinities.h"
#include "core/engine/load.h"
#include "core/grid/grid.h"
#include "core/params.h"
#include "core/random.h"
#include "core/vector.h"
#include "tests/unit/graphs.h"

#define NODES 21000  /* enough for narrow windows on a GPU */
#define MANY 100000
#define SAMPLE 1500u  /* nodes whose sums are computed */
#define SAMPLE_OF_MANY 300u

/* With the sanitizers, sums over all pairs would take minutes. */
#define UNCHECKED __attribute__((no_sanitize("address", "undefined")))

struct rig {
	const struct sl_engine *engine;
	struct sl_graph *graph;
	struct sl_affinities *a;
	struct sl_device *device;
	struct sl_device_graph *on_device;
};

static uint64_t seed;
static uint32_t dims = 3;

static inline void rig_open(struct rig *r, const struct sl_engine *engine, int threads, uint32_t nodes, uint32_t degree)
{
	struct sl_affinities_params params = {.lambda = 10};
	struct sl_device_options options = {.threads = threads};
	struct sl_error err;
	r->engine = engine;
	r->graph = test_graph(nodes, degree, true, false, 3);
	if (sl_affinities_create(&r->a, r->graph, &params, &err) || engine->open(&r->device, &options, &err) ||
	    engine->graph_put(r->device, r->a, &r->on_device, &err))
		fail_msg("%s", err.detail);
}

static inline void rig_close(struct rig *r)
{
	r->engine->graph_drop(r->on_device);
	r->engine->close(r->device);
	sl_affinities_destroy(r->a);
	sl_graph_destroy(r->graph);
}

static inline struct sl_device_embedding *embedding(const struct rig *r, int accuracy, const float *y)
{
	struct sl_settings s = {.dims = (int)dims, .accuracy = accuracy, .repulsion = SL_REPULSION_GRID};
	struct sl_device_embedding *e;
	struct sl_error err;
	if (r->engine->embedding_create(r->on_device, &s, y, &e, &err))
		fail_msg("%s", err.detail);
	return e;
}

/* ---- layouts ------------------------------------------------------------------------------------- */

enum kind { EVEN, CLUMPS, ONE_CLUMP, SHEET, KINDS };
static const char *const names[KINDS] = {"even", "clumps", "one clump and a halo", "a sheet"};

/* A layout in a cube (2-D: square) of that width; two points are in opposite corners. */
static inline float *layout(uint32_t n, enum kind kind, double width)
{
	float *y = malloc(sizeof *y * dims * (size_t)n);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < dims; k++) {
			uint64_t at = dims * (uint64_t)i + k, clump = dims * (uint64_t)(i % 300) + k;
			double even = sl_random_uniform(seed, at), normal = sl_random_normal(seed + 1, at), x = even;
			if (kind == CLUMPS)
				x = sl_random_uniform(seed + 2, clump) + 0.01 * normal;
			else if (kind == ONE_CLUMP)
				x = i % 4 ? 0.5 + 0.04 * normal : even;
			else if (kind == SHEET)
				x = k == dims - 1 ? 0.5 + 0.005 * normal : even;
			x = i == 0 || x < 0 ? 0 : i == 1 || x > 1 ? 1 : x;
			y[at] = (float)(width * (x - 0.3));
		}
	return y;
}

/* The columns of a layout, 3 whatever its dims; free the first. */
static inline void columns_of(const float *y, uint32_t n, double *at[3])
{
	at[0] = calloc(3 * (size_t)n, sizeof(double));
	for (uint32_t k = 0; k < 3; k++)
		at[k] = at[0] + k * (size_t)n;
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < dims; k++)
			at[k][i] = (double)y[dims * i + k];
}

/* The sums over the first n points of node i's forces, and of its kernel's values: sum[3]. */
VECTOR UNCHECKED static void sums_of(double *const at[3], uint32_t i, uint32_t n, double sum[4])
{
	double x = 0, y = 0, z = 0, all = 0;
#pragma omp simd reduction(+ : x, y, z, all)
	for (uint32_t j = 0; j < n; j++) {
		double dx = at[0][i] - at[0][j], dy = at[1][i] - at[1][j], dz = at[2][i] - at[2][j];
		double value = 1 / (1 + dx * dx + dy * dy + dz * dz);
		x += value * value * dx;
		y += value * value * dy;
		z += value * value * dz;
		all += value;
	}
	sum[0] = x;
	sum[1] = y;
	sum[2] = z;
	sum[3] = all;
}

/* Relative error of the repulsion, which is divided by Z = z, at a sample of the nodes. */
static inline double error_of(const float *y, const float *repulsion, uint32_t n, double z)
{
	uint32_t sample = n > MANY ? SAMPLE_OF_MANY : SAMPLE;
	double wrong = 0, all = 0, *at[3];
	columns_of(y, n, at);
#pragma omp parallel for reduction(+ : wrong, all)
	for (uint32_t s = 0; s < sample; s++) {
		uint32_t i = (uint32_t)((uint64_t)s * n / sample);
		double force[4];
		sums_of(at, i, n, force);
		for (uint32_t k = 0; k < dims; k++) {
			double d = (double)repulsion[dims * i + k] * z - force[k];
			wrong += d * d;
			all += force[k] * force[k];
		}
	}
	free(at[0]);
	return sqrt(wrong / all);
}

static inline double all_z(const float *y, uint32_t n)
{
	double z = 0, *at[3];
	columns_of(y, n, at);
#pragma omp parallel for reduction(+ : z) schedule(dynamic, 64)
	for (uint32_t i = 0; i < n; i++) {
		double sum[4];
		sums_of(at, i, i, sum);
		z += 2 * sum[3];
	}
	free(at[0]);
	return z;
}

/* The widest grids without pairs have a fixed spacing, that of the accuracy below 100,000 points. */
static inline bool has_pairs(const struct rig *r, struct sl_device_embedding *e, int accuracy)
{
	struct sl_measure m;
	assert_int_equal(r->engine->measure(e, &m, NULL), 0);
	return m.h > 1.01 * sl_grid_spacing((int)dims, accuracy);
}

#endif
