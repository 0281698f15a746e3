/* Initial layouts: spectral ones against a dense eigen-decomposition, graphs of many components, scale, noise. */
#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/init/init.h"
#include "core/neighbours/neighbours.h"
#include "core/points/points.h"
#include "core/init/pack.h"
#include "core/params.h"
#include "tests/unit/engines.h"

/* A w x h mesh with random weights and nodes in random order. Further components: `extra` meshes, each with half the
 * nodes of the previous one, then `pairs` pairs. */
static struct sl_affinities *meshes(int w, int h, int extra, int pairs, uint64_t seed)
{
	struct sl_graph_builder *b;
	struct sl_graph *g;
	struct sl_affinities *a;
	uint32_t n = 0;
	assert_int_equal(sl_graph_builder_create(&b, SL_SYMMETRIC, true, 0, NULL), 0);
	for (int part = 0; part <= extra; part++, h /= 2) {
		for (int y = 0; y < h; y++)
			for (int x = 0; x < w; x++) {
				uint32_t i = n + (uint32_t)(y * w + x);
				float weight = (float)(0.5 + test_uniform(&seed));
				if (x + 1 < w)
					assert_int_equal(sl_graph_builder_add(b, i, i + 1, weight), 0);
				if (y + 1 < h)
					assert_int_equal(sl_graph_builder_add(b, i, i + (uint32_t)w, weight), 0);
			}
		n += (uint32_t)(w * h);
	}
	for (int i = 0; i < pairs; i++, n += 2)
		assert_int_equal(sl_graph_builder_add(b, n, n + 1, 1), 0);
	assert_int_equal(sl_graph_builder_finish(b, n, &g, NULL), 0);
	assert_int_equal(sl_affinities_create(&a, g, &(struct sl_affinities_params){.lambda = 1}, NULL), 0);
	sl_graph_destroy(g);
	return a;
}

static float *spectral(const struct sl_affinities *a, int dims, uint64_t seed, double budget_ms, double *eigenvalue,
		       int *rounds, uint32_t *components)
{
	struct sl_walk walk;
	struct sl_spectral *s;
	float *y = calloc((size_t)a->n * (size_t)dims, sizeof *y);
	bool done = false;
	assert_int_equal(sl_walk_host(&walk, a, NULL), 0);
	assert_int_equal(sl_spectral_create(&s, &walk, a->user, dims, seed, NULL), 0);
	while (!done)
		assert_int_equal(sl_spectral_advance(s, budget_ms, &done, NULL), 0);
	assert_int_equal(sl_spectral_layout(s, y, NULL), 0);
	if (eigenvalue)
		sl_spectral_found(s, dims, eigenvalue, rounds, components);
	sl_spectral_destroy(s);
	return y;
}

/* Eigenvalues of D^-1/2 P D^-1/2, descending, by Jacobi's method on all of it. */
static void dense_eigenvalues(const struct sl_affinities *a, double *value)
{
	uint32_t n = a->n;
	double *m = calloc((size_t)n * n, sizeof *m), *d = calloc(n, sizeof *d);
	for (uint32_t i = 0; i < n; i++)
		for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++)
			d[i] += (double)a->p[e];
	for (uint32_t i = 0; i < n; i++)
		for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++)
			m[i * n + a->node[e]] = (double)a->p[e] / sqrt(d[i] * d[a->node[e]]);
	for (int sweep = 0; sweep < 12; sweep++)
		for (uint32_t p = 0; p < n; p++)
			for (uint32_t q = p + 1; q < n; q++) {
				double x = m[p * n + q];
				if (fabs(x) < 1e-12)
					continue;
				double theta = (m[q * n + q] - m[p * n + p]) / (2 * x);
				double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
				double c = 1 / sqrt(t * t + 1), s = t * c;
				for (uint32_t k = 0; k < n; k++) {
					double u = m[k * n + p], v = m[k * n + q];
					m[k * n + p] = c * u - s * v;
					m[k * n + q] = s * u + c * v;
				}
				for (uint32_t k = 0; k < n; k++) {
					double u = m[p * n + k], v = m[q * n + k];
					m[p * n + k] = c * u - s * v;
					m[q * n + k] = s * u + c * v;
				}
			}
	for (uint32_t i = 0; i < n; i++)
		value[i] = m[i * n + i];
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1; j < n; j++)
			if (value[j] > value[i]) {
				double x = value[i];
				value[i] = value[j];
				value[j] = x;
			}
	free(m);
	free(d);
}

static void modes_are_those_of_the_dense_matrix(void **state)
{
	struct sl_affinities *a = meshes(17, 11, 0, 0, fresh_seed());
	double *value = malloc(sizeof *value * a->n), found[3];
	int rounds;
	uint32_t components;
	dense_eigenvalues(a, value);
	free(spectral(a, 3, 1, 1e9, found, &rounds, &components));
	assert_int_equal(components, 1);
	assert_true(fabs(value[0] - 1) < 1e-6);
	for (int k = 0; k < 3; k++)  /* a Ritz value is never above, and errs by the square of the vector's error */
		assert_true(fabs(found[k] - value[k + 1]) < 0.03 * (1 - value[k + 1]));
	free(value);
	sl_affinities_destroy(a);
}

static double distance(const float *y, int dims, uint32_t i, uint32_t j)
{
	double s = 0;
	for (int k = 0; k < dims; k++) {
		double x = (double)y[i * (size_t)dims + (size_t)k] - (double)y[j * (size_t)dims + (size_t)k];
		s += x * x;
	}
	return sqrt(s);
}

/* Mean length of edges among the nodes in `inside`, divided by the mean distance of pairs of them. */
static double edge_ratio(const struct sl_affinities *a, const float *y, int dims, const uint32_t *part, uint32_t which)
{
	double edges = 0, all = 0, edge_count = 0, count = 0;
	for (uint32_t i = 0; i < a->n; i++) {
		if (part[i] != which)
			continue;
		for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++, edge_count++)
			edges += distance(y, dims, i, a->node[e]);
		for (uint32_t j = 0; j < a->n; j++)
			if (part[j] == which && j != i) {
				all += distance(y, dims, i, j);
				count++;
			}
	}
	return edges / edge_count / (all / count);
}

static void a_mesh_unfolds(void **state)
{
	for (int dims = 1; dims <= 3; dims++) {
		struct sl_affinities *a = meshes(40, 30, 0, 0, fresh_seed());
		uint32_t *part = calloc(a->n, sizeof *part);
		float *y = spectral(a, dims, 1, 1e9, NULL, NULL, NULL);
		assert_true(edge_ratio(a, y, dims, part, 0) < (dims == 1 ? 0.12 : 0.15));
		free(y);
		free(part);
		sl_affinities_destroy(a);
	}
}

/* The component of node i by the user's numbers, as meshes() makes them. */
static uint32_t part_of(uint32_t user, int w, int h, int extra)
{
	uint32_t first = 0;
	for (uint32_t part = 0; part <= (uint32_t)extra; part++, h /= 2) {
		first += (uint32_t)(w * h);
		if (user < first)
			return part;
	}
	return (uint32_t)extra + 1 + (user - first) / 2;
}

static void components_lie_apart_each_by_its_own_modes(void **state)
{
	const int w = 12, h = 32, extra = 3, pairs = 40, parts = extra + 1 + pairs;
	for (int dims = 1; dims <= 3; dims++) {
		struct sl_affinities *a = meshes(w, h, extra, pairs, fresh_seed());
		double found[3], (*centre)[3] = calloc((size_t)parts, sizeof *centre), *reach = calloc((size_t)parts, 8);
		uint32_t components, *part = malloc(sizeof *part * a->n), *count = calloc((size_t)parts, sizeof *count);
		int rounds;
		float *y = spectral(a, dims, 1, 1e9, found, &rounds, &components);
		assert_int_equal(components, parts);
		for (uint32_t i = 0; i < a->n; i++) {
			part[i] = part_of(a->user[i], w, h, extra);
			count[part[i]]++;
			for (int k = 0; k < dims; k++)
				centre[part[i]][k] += (double)y[i * (size_t)dims + (size_t)k];
		}
		for (int c = 0; c < parts; c++)
			for (int k = 0; k < dims; k++)
				centre[c][k] /= count[c];
		for (uint32_t i = 0; i < a->n; i++) {
			double s = 0;
			for (int k = 0; k < dims; k++) {
				double x = (double)y[i * (size_t)dims + (size_t)k] - centre[part[i]][k];
				s += x * x;
			}
			reach[part[i]] += s / count[part[i]];
		}
		for (int c = 0; c <= extra; c++) {
			assert_true(edge_ratio(a, y, dims, part, (uint32_t)c) < 0.5);
			for (int o = 0; o < c; o++) {
				double s = 0;
				for (int k = 0; k < dims; k++)
					s += (centre[c][k] - centre[o][k]) * (centre[c][k] - centre[o][k]);
				assert_true(sqrt(s) > 1.2 * (sqrt(reach[c]) + sqrt(reach[o])));
			}
		}
		free(y);
		free(part);
		free(count);
		free(centre);
		free(reach);
		sl_affinities_destroy(a);
	}
}

static void packed_balls_do_not_touch(void **state)
{
	uint64_t seed = fresh_seed();
	for (int dims = 1; dims <= 3; dims++) {
		double volume[300], centre[900], outer = 0, all = 0;
		for (int i = 0; i < 300; i++)
			volume[i] = i ? volume[i - 1] * (0.9 + 0.1 * test_uniform(&seed)) : 1000;
		sl__pack(dims, 300, volume, centre);
		for (int i = 0; i < 200; i++) {
			double from_middle = 0;
			all += volume[i];
			for (int k = 0; k < dims; k++)
				from_middle += centre[i * dims + k] * centre[i * dims + k];
			outer = fmax(outer, sqrt(from_middle) + pow(volume[i], 1.0 / dims));
			for (int j = 0; j < i; j++) {
				double s = 0, gap = pow(volume[i], 1.0 / dims) + pow(volume[j], 1.0 / dims);
				for (int k = 0; k < dims; k++) {
					double x = centre[i * dims + k] - centre[j * dims + k];
					s += x * x;
				}
				assert_true(sqrt(s) > gap * (1 - 1e-9));
			}
		}
		assert_true(pow(outer, dims) < (dims == 3 ? 16 : 8) * all);  /* and waste little */
	}
}

static void neither_threads_nor_slices_nor_order_change_it(void **state)
{
	struct sl_affinities *a = meshes(30, 60, 2, 9, fresh_seed());
	size_t bytes = sizeof(float) * a->n * 2;
	float *whole = spectral(a, 2, 1, 1e9, NULL, NULL, NULL), *sliced = spectral(a, 2, 1, 0.001, NULL, NULL, NULL);
	int threads = omp_get_max_threads();
	omp_set_num_threads(threads == 1 ? 3 : 1);
	float *other = spectral(a, 2, 1, 1e9, NULL, NULL, NULL);
	omp_set_num_threads(threads);
	assert_memory_equal(whole, sliced, bytes);
	assert_memory_equal(whole, other, bytes);
	free(whole);
	free(sliced);
	free(other);
	sl_affinities_destroy(a);
}

static double rms(const float *y, size_t count, int dims)
{
	double mean[3] = {0}, sum = 0;
	for (size_t i = 0; i < count; i++)
		for (int k = 0; k < dims; k++)
			mean[k] += (double)y[i * (size_t)dims + (size_t)k] / (double)count;
	for (size_t i = 0; i < count; i++)
		for (int k = 0; k < dims; k++) {
			double x = (double)y[i * (size_t)dims + (size_t)k] - mean[k];
			sum += x * x;
		}
	return sqrt(sum / ((double)count * dims));
}

static struct sl_params start_only(int init)
{
	struct sl_params p;
	sl_params_preset(&p, SL_PRESET_DEFAULT);
	p.init = init;
	p.init_std = 0.37;
	p.iterations = 1;
	p.learning_rate = 1e-6;  /* the layout stays as it starts */
	return p;
}

static void an_embedding_starts_from_it(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(3000, 5, true, false, 7), 2);
	struct sl_params p = start_only(SL_INIT_SPECTRAL);
	struct sl_embedding *e;
	struct sl_status s = {0};
	float *y = malloc(sizeof *y * b.a->n_user * 2), *inner = malloc(sizeof *inner * b.a->n * 2);
	void *saved;
	uint64_t bytes;
	assert_int_equal(sl_embedding_create(&e, b.engine, b.resident, b.a, &p, NULL, NULL), 0);
	assert_int_equal(sl_embedding_layout(e, y, NULL), 0);  /* a layout must be available before the start is found */
	assert_int_equal(sl_embedding_advance(e, 0.001, &s, NULL), 0);
	assert_int_equal(s.iteration, 0);
	assert_int_equal(sl_embedding_save(e, &saved, &bytes, NULL), 0);
	while (!s.done)
		assert_int_equal(sl_embedding_advance(e, 0.01, &s, NULL), 0);
	assert_int_equal(s.iteration, 1);
	assert_int_equal(sl_embedding_layout(e, y, NULL), 0);
	sl_affinities_gather(b.a, 2, y, inner);
	assert_true(fabs(rms(inner, b.a->n, 2) - 0.37) < 0.01);
	double all = 0, edges = 0;
	for (uint32_t i = 0; i < b.a->n; i++)
		for (uint64_t k = b.a->start[i]; k < b.a->start[i + 1]; k++)
			edges += distance(inner, 2, i, b.a->node[k]) / (double)b.a->m;
	for (uint32_t i = 0; i < b.a->n; i++)
		all += distance(inner, 2, i, (uint32_t)((i * 7919ull) % b.a->n)) / b.a->n;
	assert_true(edges < 0.6 * all);

	/* interrupted before the start was found: the same final layout */
	struct sl_embedding *again;
	float *z = malloc(sizeof *z * b.a->n_user * 2);
	assert_int_equal(sl_embedding_create(&again, b.engine, b.resident, b.a, &p, NULL, NULL), 0);
	assert_int_equal(sl_embedding_load(again, saved, bytes, NULL), 0);
	for (s.done = false; !s.done;)
		assert_int_equal(sl_embedding_advance(again, 1e9, &s, NULL), 0);
	assert_int_equal(sl_embedding_layout(again, z, NULL), 0);
	assert_memory_equal(y, z, sizeof *z * b.a->n_user * 2);
	sl_embedding_destroy(again);

	/* interrupted after it */
	free(saved);
	assert_int_equal(sl_embedding_save(e, &saved, &bytes, NULL), 0);
	assert_int_equal(sl_embedding_create(&again, b.engine, b.resident, b.a, &p, NULL, NULL), 0);
	assert_int_equal(sl_embedding_load(again, saved, bytes, NULL), 0);
	assert_int_equal(sl_embedding_layout(again, z, NULL), 0);
	assert_memory_equal(y, z, sizeof *z * b.a->n_user * 2);
	sl_embedding_destroy(again);
	sl_embedding_destroy(e);
	free(saved);
	free(y);
	free(z);
	free(inner);
	bench_close(&b);
}

/* Points equal in pairs along one axis, and one a billion times as far away as the rest. */
static void principal_axes_are_cut_off_far_from_the_middle(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(500, 5, true, false, 7), 1);
	struct sl_params p = start_only(SL_INIT_PCA);
	struct sl_embedding *e;
	struct sl_error err;
	float *y = malloc(sizeof *y * b.a->n * 2), farthest = 0;
	uint32_t n = b.a->n, at = b.a->user[n / 3], near = 0;
	assert_int_equal(sl_embedding_create(&e, b.engine, b.resident, b.a, &p, NULL, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/init");
	assert_non_null(strstr(err.detail, "spectral"));
	float *axes = b.a->axes = calloc((size_t)b.a->n_user * SL_AXES, sizeof *axes);
	for (uint32_t i = 0; i < b.a->n_user; i++)
		axes[SL_AXES * i] = 1e7f * (float)(i / 2);
	axes[SL_AXES * at] = 1e16f;
	assert_int_equal(sl_init_pca(&p, b.a, y, &err), 0);
	for (uint32_t i = 0; i < n; i++) {
		farthest = fmaxf(farthest, fabsf(y[2 * i]));
		near += fabsf(y[2 * i]) < 0.37f / 1.4826f;
		assert_true(fabsf(y[2 * i + 1]) < 0.03f);  /* only noise */
		for (uint32_t j = 0; j < i; j++)
			assert_true(distance(y, 2, i, j) > 0);
	}
	assert_true(fabsf(y[2 * (n / 3)]) == farthest && farthest > 1.1f && farthest < 1.15f);
	assert_true(near > 0.45 * n && near < 0.55 * n);
	for (uint32_t i = 0; i < b.a->n_user; i++)
		axes[SL_AXES * i] = i == at ? 1 : 0;  /* all but one are equal: only noise is left */
	assert_int_equal(sl_init_pca(&p, b.a, y, &err), 0);
	assert_true(rms(y, n, 2) > 0.003 && rms(y, n, 2) < 0.0045);
	p.preset = SL_PRESET_OPENTSNE;  /* as other programs: the far one is as far as it is */
	assert_int_equal(sl_init_pca(&p, b.a, y, &err), 0);
	assert_true(fabs(rms(y, n, 2) - p.init_std) < 0.01 * p.init_std);
	assert_true(fabsf(y[2 * (n / 3)]) > 20 * (float)p.init_std);
	free(y);
	bench_close(&b);
}

static void axes_come_with_the_neighbours(void **state)
{
	const uint32_t n = 300, d = 5;
	struct sl_points *axes, points = {.n = n, .n_user = n, .d = d, .type = SL_POINTS_F32};
	struct sl_neighbours_params params = {.k = 12, .metric = SL_EUCLIDEAN, .recall = 1};
	struct sl_affinities_params ap = {.perplexities = 1, .perplexity = {4}};
	struct sl_neighbours *nb;
	struct sl_affinities *a;
	double kept;
	points.value = malloc(sizeof(float) * n * d);
	for (uint32_t i = 0; i < n * d; i++)
		((float *)points.value)[i] = (float)((i % d + 1) * sl_random_normal(3, i));
	assert_int_equal(sl_neighbours_find(&nb, &points, &params, NULL), 0);
	assert_null(nb->axes);
	assert_int_equal(sl_neighbours_axes(nb, &points, NULL, NULL), 0);
	assert_int_equal(sl_points_pca(&axes, &points, SL_AXES, &kept, NULL, NULL), 0);
	assert_memory_equal(nb->axes, axes->value, sizeof(float) * n * SL_AXES);
	assert_int_equal(sl_affinities_from_neighbours(&a, nb, &ap, NULL), 0);
	assert_memory_equal(a->axes, nb->axes, sizeof(float) * n * SL_AXES);
	sl_affinities_destroy(a);
	sl_neighbours_destroy(nb);
	sl_points_destroy(axes);
	free(points.value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes_are_those_of_the_dense_matrix),
		cmocka_unit_test(a_mesh_unfolds),
		cmocka_unit_test(components_lie_apart_each_by_its_own_modes),
		cmocka_unit_test(packed_balls_do_not_touch),
		cmocka_unit_test(neither_threads_nor_slices_nor_order_change_it),
		cmocka_unit_test(an_embedding_starts_from_it),
		cmocka_unit_test(principal_axes_are_cut_off_far_from_the_middle),
		cmocka_unit_test(axes_come_with_the_neighbours),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
