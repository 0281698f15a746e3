/* Placing new points in a layout: the search, the field of the fixed points, and the final positions. */
#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/cpu/field.h"
#include "core/embedding/transform.h"
#include "core/params.h"
#include "tests/unit/engines.h"

/* ---- neighbours of queries ---------------------------------------------------- */

static double mean_of(uint32_t d, const float *a)
{
	double sum = 0;
	for (uint32_t k = 0; k < d; k++)
		sum += (double)a[k];
	return sum / d;
}

static double distance(int metric, uint32_t d, const float *a, const float *b)
{
	bool centred = metric == SL_CORRELATION, directions = centred || metric == SL_COSINE;
	double s = 0, u = 0, v = 0, either = 0, of_a = centred ? mean_of(d, a) : 0, of_b = centred ? mean_of(d, b) : 0;
	for (uint32_t k = 0; k < d; k++) {
		double x = (double)a[k] - of_a, y = (double)b[k] - of_b, c = fabs(x - y);
		u += x * x;
		v += y * y;
		either += x != 0 || y != 0;
		switch (metric) {
		case SL_L1: s += c; break;
		case SL_LP: s += c * c * c; break;
		case SL_LINF: s = fmax(s, c); break;
		case SL_HAMMING: s += (x != y) / (double)d; break;
		case SL_JACCARD: s += (x != 0) != (y != 0); break;
		default: s += directions || metric == SL_INNER_PRODUCT ? x * y : c * c;
		}
	}
	if (metric == SL_JACCARD)
		return either > 0 ? s / either : 0;
	return directions ? 1 - s / sqrt(u * v) : metric == SL_INNER_PRODUCT ? -s : metric == SL_LP ? cbrt(s) :
	       metric == SL_EUCLIDEAN ? sqrt(s) : s;
}

static void queries_find_the_nearest(void **state)
{
	enum { N = 500, M = 77, D = 11, K = 9 };
	uint64_t seed = fresh_seed();
	static float x[N * D], q[M * D];
	for (int metric = SL_EUCLIDEAN; metric < SL_DISTANCES; metric++) {
		for (int i = 0; i < N * D; i++)
			x[i] = (float)(100 * test_uniform(&seed) - 50);
		for (int i = 0; i < M * D; i++)
			q[i] = (float)(120 * test_uniform(&seed) - 60);
		for (int i = 0; i < (N + M) * D && metric >= SL_HAMMING; i++)  /* values that repeat */
			*(i < N * D ? &x[i] : &q[i - N * D]) = (float)(int)(3 * test_uniform(&seed));
		struct sl_points points = {.n = N, .d = D, .n_user = N, .value = x};
		struct sl_points queries = {.n = M, .d = D, .n_user = M, .value = q};
		struct sl_neighbours_params np = {.k = K, .metric = metric, .p = 3, .recall = 1};
		struct sl_neighbours *nb;
		assert_int_equal(sl_neighbours_query(&nb, &points, &queries, &np, NULL), 0);
		assert_int_equal(nb->n, M);
		for (uint32_t i = 0; i < M; i++) {
			double least = INFINITY;
			for (uint32_t j = 0; j < N; j++)
				least = fmin(least, distance(metric, D, q + i * D, x + j * D));
			for (uint32_t e = 0; e < K; e++) {
				uint32_t nearer = 0, at = nb->index[i * K + e];
				double own = distance(metric, D, q + i * D, x + at * D);
				for (uint32_t j = 0; j < N; j++)
					nearer += distance(metric, D, q + i * D, x + j * D) < own - 1e-5 * fabs(own);
				assert_true(nearer <= e);
				double told = (double)nb->distance[i * K + e];
				if (metric == SL_INNER_PRODUCT)
					told += least;
				assert_true(fabs(told - own) < 1e-4 * (fabs(own) + 1));
			}
		}
		sl_neighbours_destroy(nb);
	}
}

static void queries_of_other_columns_are_refused(void **state)
{
	float x[40] = {1, 2, 3}, far[4] = {1e38f, -1e38f, 3e38f, 0};
	struct sl_points points = {.n = 10, .d = 4, .n_user = 10, .value = x};
	struct sl_points queries = {.n = 8, .d = 5, .n_user = 8, .value = x};
	struct sl_points away = {.n = 1, .d = 4, .n_user = 1, .value = far};
	struct sl_transform_params params;
	struct sl_error err;
	float y[20] = {0}, out[16];
	sl_transform_defaults(&params);
	assert_int_equal(sl_transform(&points, &queries, 2, y, &params, out, &err), SL_BADDATA);
	assert_non_null(strstr(err.detail, "5 columns"));
	assert_non_null(strstr(err.detail, "4; they must have the same columns"));
	assert_int_equal(sl_transform(&points, &away, 2, y, &params, out, &err), SL_BADDATA);
	assert_non_null(strstr(err.detail, "Row 1"));
	params.perplexity = 0.5;
	assert_int_equal(sl_transform(&points, &points, 2, y, &params, out, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/perplexity");
	sl_transform_defaults(&params);
	y[7] = NAN;
	assert_int_equal(sl_transform(&points, &points, 2, y, &params, out, &err), SL_BADPARAM);
	assert_non_null(strstr(err.detail, "row 4"));
}

/* New points get the same positions with the columns before and after the projection; other widths are refused. */
static void tables_before_and_after_the_axes_are_the_same(void **state)
{
	enum { N = 200, M = 30, D = 9, TO = 4 };
	uint64_t seed = fresh_seed();
	static float x[N * D], q[M * D], y[2 * N], a[2 * M], b[2 * M];
	for (int i = 0; i < N * D; i++)
		x[i] = (float)(100 * test_uniform(&seed) / (1 + i % D));
	for (int i = 0; i < M * D; i++)
		q[i] = (float)(110 * test_uniform(&seed) / (1 + i % D));
	for (int i = 0; i < 2 * N; i++)
		y[i] = (float)(20 * test_uniform(&seed));
	struct sl_points before = {.n = N, .d = D, .n_user = N, .value = x}, *points, *after;
	struct sl_points queries = {.n = M, .d = D, .n_user = M, .value = q};
	struct sl_transform_params params;
	struct sl_error err;
	sl_transform_defaults(&params);
	assert_int_equal(sl_points_pca(&points, &before, TO, NULL, NULL, &err), 0);
	assert_int_equal(sl_pca_apply(&after, points->pca, &queries, &err), 0);
	assert_true(sl_transform_projects(points, &queries));
	assert_false(sl_transform_projects(points, after));
	assert_false(sl_transform_projects(&before, &queries));
	assert_int_equal(sl_transform(points, &queries, 2, y, &params, a, &err), 0);
	assert_int_equal(sl_transform(points, after, 2, y, &params, b, &err), 0);
	assert_memory_equal(a, b, sizeof a);
	queries.d = 7;
	assert_int_equal(sl_transform(points, &queries, 2, y, &params, a, &err), SL_BADDATA);
	assert_non_null(strstr(err.detail, "have 7 columns. They must have 9, as the points that were laid out, or 4, as"));
	sl_points_destroy(points);
	sl_points_destroy(after);
}

static void parameters_by_name(void **state)
{
	struct sl_transform_params p;
	struct sl_error err;
	sl_transform_defaults(&p);
	assert_int_equal(sl_param_set(&sl_transform_table, &p, "perplexity", "7.5", NULL), 0);
	assert_int_equal(sl_param_set(&sl_transform_table, &p, "iterations", "0", NULL), 0);
	assert_int_equal(sl_param_set(&sl_transform_table, &p, "start", "mean", NULL), 0);
	assert_true(p.perplexity == 7.5 && p.iterations == 0 && p.start == SL_START_MEAN);
	static const char *const bad[][2] = {
		{"perplexity", "0"}, {"iterations", "1.5"}, {"iterations", "x"}, {"start", "umap"}, {"momentum", "1"},
		{"neighbours", "257"}, {"learning_rate", "nan"}, {"start", ""},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(sl_param_set(&sl_transform_table, &p, bad[i][0], bad[i][1], &err), SL_BADPARAM);
		assert_string_equal(err.pointer + 1, bad[i][0]);
	}
	assert_int_equal(sl_param_set(&sl_transform_table, &p, "metric", "l1", &err), SL_BADPARAM);
}

/* ---- the field ------------------------------------------------------------------- */

/* A plain grid for this layout takes four seconds and 800 MB. */
static void fields_of_wide_layouts_take_no_time(void **state)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip();
#endif
	const uint32_t n = 20000;
	for (double width = 300; width < 1e30; width *= 1e9) {
		float *y = test_layout(n, 3, width, 2, test_seed(71));
		struct sl_field *f;
		clock_t before = clock();  /* of all threads */
		double at[3] = {width / 3, 0, -width}, push[3];
		assert_int_equal(sl_field_create(&f, n, 3, 1, y, NULL), 0);
		assert_true(clock() - before < CLOCKS_PER_SEC);
		assert_true(isfinite(sl_field_at(f, at, push)) && isfinite(push[0] + push[1] + push[2]));
		sl_field_destroy(f);
		free(y);
	}
}

static void the_field_is_the_sum(void **state)
{
	static const double nus[] = {1, 0.5, 3, 1, 0.5};
	uint64_t seed = fresh_seed();
	for (int round = 0; round < 15; round++) {
		if (test_leaves_out((uint64_t)round, 1, 15))
			continue;
		int dims = 1 + round % 3;
		double nu = nus[round / 3];
		uint32_t n = 3000;
		size_t d = (size_t)dims;
		float *y = test_layout(n, dims, round > 8 ? 4000 : dims == 3 ? 15 : 60, 2, seed++);
		struct sl_field *f;
		assert_int_equal(sl_field_create(&f, n, dims, nu, y, NULL), 0);
		double wrong = 0, all = 0;
		for (int q = 0; q < 300; q++) {
			double at[3], push[3], phi = 0, exact[3] = {0};
			uint32_t near = (uint32_t)(test_uniform(&seed) * n);
			for (size_t k = 0; k < d; k++)
				at[k] = (double)y[near * d + k] + 3 * (test_uniform(&seed) - 0.5);
			for (uint32_t j = 0; j < n; j++) {
				double r2 = 0, x[3];
				for (size_t k = 0; k < d; k++) {
					x[k] = at[k] - (double)y[j * d + k];
					r2 += x[k] * x[k];
				}
				phi += pow(1 + r2, -nu);
				for (size_t k = 0; k < d; k++)
					exact[k] += pow(1 + r2, -nu - 1) * x[k];
			}
			double got = sl_field_at(f, at, push);
			assert_true(fabs(got - phi) < 5e-3 * phi);
			for (size_t k = 0; k < d; k++) {
				wrong += (push[k] - exact[k]) * (push[k] - exact[k]);
				all += exact[k] * exact[k];
			}
		}
		assert_true(sqrt(wrong / all) < 2e-2);
		sl_field_destroy(f);
		free(y);
	}
}

/* ---- where points end up ------------------------------------------------------------ */

enum { GROUPS = 6, TRAIN = 1500, NEW = 240, COLUMNS = 10 };

struct world {
	float x[TRAIN * COLUMNS], fresh[NEW * COLUMNS], y[TRAIN * 2];
	int group[TRAIN], fresh_group[NEW];
	struct sl_points points, queries;
};

static double normal(uint64_t *seed)
{
	return sqrt(-2 * log(test_uniform(seed) + 1e-300)) * cos(6.283185307179586 * test_uniform(seed));
}

/* Groups of points, and their layout by the CPU engine. */
static struct world *world_create(double dof)
{
	struct world *w = calloc(1, sizeof *w);
	uint64_t seed = fresh_seed();
	double centre[GROUPS][COLUMNS];
	for (int g = 0; g < GROUPS; g++)
		for (int k = 0; k < COLUMNS; k++)
			centre[g][k] = 6 * normal(&seed);
	for (int i = 0; i < TRAIN + NEW; i++) {
		int g = i % GROUPS;
		float *row = i < TRAIN ? w->x + i * COLUMNS : w->fresh + (i - TRAIN) * COLUMNS;
		*(i < TRAIN ? &w->group[i] : &w->fresh_group[i - TRAIN]) = g;
		for (int k = 0; k < COLUMNS; k++)
			row[k] = (float)(centre[g][k] + normal(&seed));
	}
	w->points = (struct sl_points){.n = TRAIN, .n_user = TRAIN, .d = COLUMNS, .value = w->x};
	w->queries = (struct sl_points){.n = NEW, .n_user = NEW, .d = COLUMNS, .value = w->fresh};
	struct sl_neighbours_params np = {.k = 45, .metric = SL_EUCLIDEAN, .recall = 1};
	struct sl_neighbours *nb;
	struct sl_affinities *a;
	struct sl_device *device;
	struct sl_device_graph *graph;
	struct sl_embedding *e;
	struct sl_status status = {0};
	struct sl_params p;
	sl_params_preset(&p, SL_PRESET_DEFAULT);
	p.iterations = 500;
	p.exaggeration_iterations = 120;
	p.dof = dof;
	const struct sl_engine *cpu = sl_engine_cpu();
	assert_int_equal(sl_neighbours_find(&nb, &w->points, &np, NULL), 0);
	assert_int_equal(sl_affinities_from_neighbours(
				 &a, nb, &(struct sl_affinities_params){.perplexity = {15}, .perplexities = 1}, NULL), 0);
	assert_int_equal(cpu->open(&device, NULL, NULL), 0);
	assert_int_equal(cpu->graph_put(device, a, &graph, NULL), 0);
	assert_int_equal(sl_embedding_create(&e, cpu, graph, a, &p, NULL, NULL), 0);
	while (!status.done)
		assert_int_equal(sl_embedding_advance(e, 1e9, &status, NULL), 0);
	assert_int_equal(sl_embedding_layout(e, w->y, NULL), 0);
	sl_embedding_destroy(e);
	cpu->graph_drop(graph);
	cpu->close(device);
	sl_affinities_destroy(a);
	sl_neighbours_destroy(nb);
	return w;
}

static double apart(const float *a, const float *b)
{
	return hypot((double)a[0] - (double)b[0], (double)a[1] - (double)b[1]);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static double extent(const struct world *w)
{
	double low = INFINITY, high = -INFINITY;
	for (int i = 0; i < TRAIN; i++) {
		low = fmin(low, (double)w->y[2 * i]);
		high = fmax(high, (double)w->y[2 * i]);
	}
	return high - low;
}

static void old_points_land_where_they_were(void **state)
{
	for (int round = 0; round < (test_light() ? 1 : 3); round++) {
		struct world *w = world_create(round == 2 ? 0.6 : 1);
		struct sl_transform_params params;
		static float out[TRAIN * 2];
		double far[TRAIN];
		sl_transform_defaults(&params);
		params.start = round == 1 ? SL_START_MEAN : SL_START_MEDIAN;
		params.dof = round == 2 ? 0.6 : 1;
		assert_int_equal(sl_transform(&w->points, &w->points, 2, w->y, &params, out, NULL), 0);
		for (int i = 0; i < TRAIN; i++)
			far[i] = apart(out + 2 * i, w->y + 2 * i);
		qsort(far, TRAIN, sizeof *far, by_value);
		assert_true(far[TRAIN / 2] < 0.03 * extent(w));
		assert_true(far[TRAIN * 9 / 10] < 0.1 * extent(w));
		free(w);
	}
}

static void new_points_land_among_their_kind(void **state)
{
	struct world *w = world_create(1);
	struct sl_transform_params params;
	static float start[NEW * 2], out[NEW * 2];
	int right = 0, moved = 0;
	sl_transform_defaults(&params);
	assert_int_equal(sl_transform(&w->points, &w->queries, 2, w->y, &params, out, NULL), 0);
	params.iterations = 0;
	assert_int_equal(sl_transform(&w->points, &w->queries, 2, w->y, &params, start, NULL), 0);
	for (int i = 0; i < NEW; i++) {
		int nearest = 0;
		for (int j = 0; j < TRAIN; j++)
			if (apart(out + 2 * i, w->y + 2 * j) < apart(out + 2 * i, w->y + 2 * nearest))
				nearest = j;
		right += w->group[nearest] == w->fresh_group[i];
		moved += apart(start + 2 * i, out + 2 * i) > 1e-3;
		assert_true(apart(start + 2 * i, out + 2 * i) < 0.3 * extent(w));
	}
	assert_true(right >= NEW * 97 / 100);
	assert_true(moved > NEW / 2);
	free(w);
}

/* Descent starts at the median of the neighbours' positions; of an even number, at the mean of the two middle ones. */
static void the_start_is_the_median(void **state)
{
	float x[] = {0, 1, 2, 3, 100, 200}, at[] = {0, 10, 40, 70, 900, 800}, near = 1.4f, out;
	struct sl_points old = {.n = 6, .n_user = 6, .d = 1, .value = x};
	struct sl_points fresh = {.n = 1, .n_user = 1, .d = 1, .value = &near};
	struct sl_transform_params params;
	sl_transform_defaults(&params);
	params.iterations = 0;
	params.perplexity = 1;
	params.neighbours = 4;
	assert_int_equal(sl_transform(&old, &fresh, 1, at, &params, &out, NULL), 0);
	assert_float_equal(out, 25, 1e-4);
	params.neighbours = 3;
	assert_int_equal(sl_transform(&old, &fresh, 1, at, &params, &out, NULL), 0);
	assert_float_equal(out, 10, 1e-4);
}

/* Rows left out because of a NaN keep their lines in the result. */
static void rows_left_out_have_no_place(void **state)
{
	float x[] = {0, 1, 2, 3, 4, 5}, at[] = {0, 10, 20, 30, 40, 50}, new[] = {1.1f, 3.9f}, out[4] = {7, 7, 7, 7};
	uint32_t user[] = {1, 2};
	struct sl_points old = {.n = 6, .n_user = 6, .d = 1, .value = x};
	struct sl_points fresh = {.n = 2, .n_user = 4, .d = 1, .value = new, .user = user};
	struct sl_transform_params params;
	sl_transform_defaults(&params);
	params.iterations = 0;
	params.perplexity = params.neighbours = 1;
	assert_int_equal(sl_transform(&old, &fresh, 1, at, &params, out, NULL), 0);
	assert_true(isnan(out[0]) && isnan(out[3]));
	assert_float_equal(out[1], 10, 1e-4);
	assert_float_equal(out[2], 40, 1e-4);
}

static void each_point_is_on_its_own(void **state)
{
	struct world *w = world_create(1);
	struct sl_transform_params params;
	static float all[NEW * 2], some[NEW * 2], other[NEW * 2];
	sl_transform_defaults(&params);
	int threads = omp_get_max_threads();
	assert_int_equal(sl_transform(&w->points, &w->queries, 2, w->y, &params, all, NULL), 0);
	omp_set_num_threads(threads == 1 ? 3 : 1);
	assert_int_equal(sl_transform(&w->points, &w->queries, 2, w->y, &params, other, NULL), 0);
	omp_set_num_threads(threads);
	assert_memory_equal(all, other, sizeof all);
	w->queries.n = w->queries.n_user = 31;
	assert_int_equal(sl_transform(&w->points, &w->queries, 2, w->y, &params, some, NULL), 0);
	assert_memory_equal(all, some, 31 * 2 * sizeof *all);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queries_find_the_nearest),
		cmocka_unit_test(queries_of_other_columns_are_refused),
		cmocka_unit_test(tables_before_and_after_the_axes_are_the_same),
		cmocka_unit_test(parameters_by_name),
		cmocka_unit_test(the_field_is_the_sum),
		cmocka_unit_test(fields_of_wide_layouts_take_no_time),
		cmocka_unit_test(old_points_land_where_they_were),
		cmocka_unit_test(new_points_land_among_their_kind),
		cmocka_unit_test(the_start_is_the_median),
		cmocka_unit_test(rows_left_out_have_no_place),
		cmocka_unit_test(each_point_is_on_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
