/* Quality measures against naive loops, on random input that is new in each run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <omp.h>


#include "core/measure/quality.h"
#include "core/measure/tree.h"
#include "tests/unit/affinities.h"

static float *layout(const struct sl_affinities *a, int dims, double scale)
{
	float *y = malloc((size_t)a->n * (size_t)dims * sizeof *y);
	uint64_t seed = test_seed(8);
	for (size_t k = 0; k < (size_t)a->n * (size_t)dims; k++)
		y[k] = (float)(scale * (test_uniform(&seed) - 0.5));
	return y;
}

static double square(const float *y, int dims, uint32_t i, uint32_t j)
{
	double s = 0;
	for (int d = 0; d < dims; d++) {
		double v = (double)y[i * (size_t)dims + (size_t)d] - y[j * (size_t)dims + (size_t)d];
		s += v * v;
	}
	return s;
}

static void test_kl(void **state)
{
	struct sl_affinities *a = test_affinities(3000);
	for (int dims = 1; dims <= 3; dims++)
		for (double scale = 1e-3; scale < 1e4; scale *= 100) {
			if (test_leaves_out((uint64_t)(dims + lround(log10(scale))), 1, 4))
				continue;
			float *y = layout(a, dims, scale);
			double naive_z = 0, naive = 0, kl, z;
			for (uint32_t i = 0; i < a->n; i++)
				for (uint32_t j = 0; j < a->n; j++)
					naive_z += i == j ? 0 : 1 / (1 + square(y, dims, i, j));
			for (uint32_t i = 0; i < a->n; i++)
				for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++)
					naive += a->p[e] * log(a->p[e] * naive_z * (1 + square(y, dims, i, a->node[e])));
			assert_int_equal(sl_quality_kl(a, dims, y, &kl, &z, NULL), 0);
			assert_true(fabs(z - naive_z) < 1e-10 * naive_z);
			assert_true(fabs(kl - naive) < 1e-8 * fabs(naive) + 1e-10);
			assert_true(kl > 0);
			free(y);
		}
	sl_affinities_destroy(a);
}

static bool among_nearest(const float *y, uint32_t n, int dims, uint32_t i, uint32_t j, int k)
{
	int closer = 0;
	for (uint32_t q = 0; q < n; q++)
		if (q != i && q != j) {
			double u = square(y, dims, i, q), v = square(y, dims, i, j);
			closer += u < v || (u == v && q < j);
		}
	return closer < k;
}

static double naive_recall(const struct sl_affinities *a, int dims, const float *y, int k)
{
	double sum = 0;
	for (uint32_t i = 0; i < a->n; i++) {
		int degree = (int)(a->start[i + 1] - a->start[i]), kept = degree < k ? degree : k, found = 0;
		for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++) {
			int stronger = 0;
			for (uint64_t f = a->start[i]; f < a->start[i + 1]; f++)
				stronger += a->p[f] > a->p[e] || (a->p[f] == a->p[e] && f < e);
			found += stronger < kept && among_nearest(y, a->n, dims, i, a->node[e], kept);
		}
		sum += (double)found / kept;
	}
	return sum / a->n;
}

static void test_recall(void **state)
{
	struct sl_affinities *a = test_affinities(700);
	for (int dims = 1; dims <= 3; dims++) {
		float *y = layout(a, dims, 30);
		double recall;
		uint32_t used;
		/* pull neighbours together, so that there is something to find */
		for (int round = 0; round < 10; round++)
			for (uint32_t i = 0; i < a->n; i++)
				for (int d = 0; d < dims; d++)
					y[i * (size_t)dims + (size_t)d] +=
						0.3f * (y[a->node[a->start[i]] * (size_t)dims + (size_t)d] -
							y[i * (size_t)dims + (size_t)d]);
		assert_int_equal(sl_quality_recall(a, dims, y, 10, 0, &recall, &used, NULL), 0);
		assert_int_equal(used, a->n);
		assert_true(fabs(recall - naive_recall(a, dims, y, 10)) < 2.0 / a->n);
		assert_true(recall > 0.02 && recall < 0.99);
		assert_int_equal(sl_quality_recall(a, dims, y, 10, 50, &recall, &used, NULL), 0);
		assert_int_equal(used, 50);
		free(y);
	}
	sl_affinities_destroy(a);
}

/* A path laid out as a path keeps every neighbour. */
static void test_perfect_recall(void **state)
{
	enum { N = 500 };
	struct sl_graph_builder *b;
	struct sl_graph *g;
	struct sl_affinities *a;
	struct sl_affinities_params params = {.lambda = 1, .drop_leaf_edges = false, .order = SL_ORDER_AUTO};
	float y[N];
	double recall;
	uint32_t used;
	assert_int_equal(sl_graph_builder_create(&b, SL_SYMMETRIC, false, 0, NULL), 0);
	for (uint32_t i = 1; i < N; i++)
		assert_int_equal(sl_graph_builder_add(b, i, i - 1, 1), 0);
	assert_int_equal(sl_graph_builder_finish(b, 0, &g, NULL), 0);
	assert_int_equal(sl_affinities_create(&a, g, &params, NULL), 0);
	for (uint32_t i = 0; i < N; i++)
		y[i] = (float)a->user[i];
	assert_int_equal(sl_quality_recall(a, 1, y, 10, 0, &recall, &used, NULL), 0);
	assert_true(recall == 1);
	sl_affinities_destroy(a);
	sl_graph_destroy(g);
}

static void test_tree(void **state)
{
	uint64_t seed = fresh_seed();
	for (int round = 0; round < 60; round++) {
		int dims = 1 + round % 3;
		uint32_t n = (uint32_t)(test_uniform(&seed) * (round < 30 ? 40 : 500)), k = 1 + round % 17;
		bool coarse = round % 4 == 0;  /* many ties */
		float *y = malloc(sizeof *y * (n + 1) * (size_t)dims);
		for (size_t i = 0; i < n * (size_t)dims; i++)
			y[i] = coarse ? (float)(int)(5 * test_uniform(&seed)) : (float)exp(20 * test_uniform(&seed));
		struct sl_tree *t;
		assert_int_equal(sl_tree_create(&t, n, dims, y, NULL), 0);
		uint32_t *seen = calloc(n + 1, sizeof *seen);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(seen[sl_tree_order(t)[i]]++, 0);
		free(seen);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t index[20];
			double distance[20];
			uint32_t count = sl_tree_nearest(t, y + i * (size_t)dims, i, k, index, distance);
			assert_int_equal(count, n - 1 < k ? n - 1 : k);
			for (uint32_t u = 0; u < count; u++) {
				uint32_t closer = 0;
				for (uint32_t j = 0; j < n; j++) {
					double a = square(y, dims, i, j), b = square(y, dims, i, index[u]);
					closer += j != i && (a < b || (a == b && j < index[u]));
				}
				assert_int_equal(closer, u);
				assert_true(distance[u] == square(y, dims, i, index[u]));
			}
		}
		sl_tree_destroy(t);
		free(y);
	}
}

/* All points in one place: the measurement must end. */
static void test_tree_of_one_place(void **state)
{
	uint32_t n = 300000, index[10];
	float *y = calloc(n * 2, sizeof *y);
	struct sl_tree *t;
	assert_int_equal(sl_tree_create(&t, n, 2, y, NULL), 0);
	for (uint32_t i = 0; i < n; i += 1000)
		assert_int_equal(sl_tree_nearest(t, y, i, 10, index, NULL), 10);
	sl_tree_destroy(t);
	free(y);
}

static void test_sampled_kl(void **state)
{
	struct sl_affinities *a = test_affinities(9000);
	uint64_t seed = fresh_seed();
	int outside = 0;
	for (int round = 0; round < 12; round++) {
		if (test_leaves_out((uint64_t)round, 1, 4))
			continue;
		int dims = 1 + round % 3;
		double kl, z, exact, exact_z, error, none;
		float *y = layout(a, dims, 60);
		for (size_t i = 0; i < a->n * (size_t)dims; i++)  /* denser in the middle, other places in each run */
			y[i] *= (float)test_uniform(&seed);
		assert_int_equal(sl_quality_divergence(a, dims, 1, y, 0, &exact, &exact_z, &none, NULL), 0);
		assert_true(none == 0);
		assert_int_equal(sl_quality_divergence(a, dims, 1, y, 500, &kl, &z, &error, NULL), 0);
		assert_true(error > 0 && error < 0.2);
		assert_true(fabs(kl - exact) < 3 * error);
		outside += fabs(kl - exact) > error;
		free(y);
	}
	assert_true(outside <= 4);
	sl_affinities_destroy(a);
}

static void test_heavy_tails(void **state)
{
	struct sl_affinities *a = test_affinities(900);
	for (double dof = 0.3; dof < 5; dof *= 2) {
		float *y = layout(a, 2, 30);
		double z = 0, kl = 0, got_kl, got_z, error;
		for (uint32_t i = 0; i < a->n; i++)
			for (uint32_t j = 0; j < a->n; j++)
				z += i == j ? 0 : pow(1 + square(y, 2, i, j) / dof, -dof);
		for (uint32_t i = 0; i < a->n; i++)
			for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++)
				kl += (double)a->p[e] *
				      log((double)a->p[e] * z / pow(1 + square(y, 2, i, a->node[e]) / dof, -dof));
		assert_int_equal(sl_quality_divergence(a, 2, dof, y, 0, &got_kl, &got_z, &error, NULL), 0);
		assert_true(fabs(got_z - z) < 1e-9 * z);
		assert_true(fabs(got_kl - kl) < 1e-8 * fabs(kl));
		free(y);
	}
	sl_affinities_destroy(a);
}

/* ---- points ---------------------------------------------------------------- */

static double input_distance(const float *x, uint32_t d, int metric, uint32_t i, uint32_t j)
{
	double s = 0, u = 0, v = 0, of_i = 0, of_j = 0, either = 0;
	for (uint32_t k = 0; k < d && metric == SL_CORRELATION; k++) {
		of_i += (double)x[i * d + k] / d;
		of_j += (double)x[j * d + k] / d;
	}
	for (uint32_t k = 0; k < d; k++) {
		double a = (double)x[i * d + k] - of_i, b = (double)x[j * d + k] - of_j, c = fabs(a - b);
		either += a != 0 || b != 0;
		switch (metric) {
		case SL_HAMMING: s += a != b; break;
		case SL_JACCARD: s += (a != 0) != (b != 0); break;
		case SL_CORRELATION:
		case SL_COSINE:
			s += a * b;
			u += a * a;
			v += b * b;
			break;
		case SL_INNER_PRODUCT: s -= a * b; break;
		case SL_L1: s += c; break;
		case SL_LP: s += pow(c, 3); break;
		case SL_LINF: s = fmax(s, c); break;
		default: s += c * c;
		}
	}
	if (metric == SL_JACCARD)
		return either > 0 ? s / either : 0;
	return metric == SL_COSINE || metric == SL_CORRELATION ? 1 - s / sqrt(u * v) : s;
}

/* *spread: the standard deviation of the points' contributions. May be NULL. */
static double naive_trust(const float *x, uint32_t n, uint32_t d, int metric, const float *y, int k, double *spread)
{
	double sum = 0, squares = 0, scale = 2 / ((double)k * (2.0 * n - 3.0 * k - 1));
	for (uint32_t i = 0; i < n; i++) {
		double before = sum;
		for (uint32_t j = 0; j < n; j++) {
			if (i == j || !among_nearest(y, n, 2, i, j, k))
				continue;
			int rank = 1;
			for (uint32_t l = 0; l < n; l++)
				if (l != i && l != j) {
					double other = input_distance(x, d, metric, i, l), own = input_distance(x, d, metric, i, j);
					rank += other < own || (other == own && l < j);
				}
			sum += rank > k ? rank - k : 0;
		}
		squares += (sum - before) * (sum - before);
	}
	if (spread)
		*spread = scale * sqrt((squares - sum * sum / n) / (n - 1));
	return 1 - scale * sum / n;
}

static void test_trustworthiness(void **state)
{
	enum { N = 150, D = 7, SAMPLE = 70 };
	int differ = 0;
	uint64_t seed = fresh_seed();
	float x[N * D], y[N * 2];
	struct sl_points points = {.n = N, .d = D, .n_user = N, .type = SL_POINTS_F32, .value = x};
	for (int turn = 0; turn < 3 * SL_DISTANCES; turn++) {
		if (test_leaves_out((uint64_t)turn, 1, 4))
			continue;
		int k = 1 + (int)(12 * test_uniform(&seed)), metric = turn % SL_DISTANCES;
		float unit = ldexpf(1, 83 * (turn / SL_DISTANCES - 1));  /* squares of 2^83 are not floats */
		for (int i = 0; i < N * D; i++)
			x[i] = unit * (metric < SL_HAMMING ? (float)(test_uniform(&seed) - 0.5)
							   : (float)(int)(3 * test_uniform(&seed)));
		for (int i = 0; i < N * 2; i++)  /* the layout resembles the points */
			y[i] = x[i / 2 * D + i % 2] / unit + 0.2f * (float)test_uniform(&seed);
		double trust, sampled, spread, naive = naive_trust(x, N, D, metric, y, k, &spread);
		uint32_t used;
		assert_int_equal(sl_quality_trust(&points, metric, 3, 2, y, k, 0, &trust, &used, NULL), 0);
		assert_int_equal(used, N);
		/* Distances in single precision swap adjacent ranks: a few of N * k. */
		assert_true(fabs(trust - naive) < 1e-3 && fabs(trust - naive) < 0.05 * (1 - naive) + 1e-9);
		assert_int_equal(sl_quality_trust(&points, metric, 3, 2, y, k, SAMPLE, &sampled, &used, NULL), 0);
		assert_int_equal(used, SAMPLE);
		/* six standard errors of a mean over some of N points, each drawn once */
		assert_true(fabs(sampled - trust) < 6 * spread * sqrt((1 - (double)SAMPLE / N) / SAMPLE) + 1e-3);
		differ += sampled != trust;
	}
	assert_true(differ > 0);
	/* the points themselves, and bytes */
	uint8_t bytes[N * 2];
	for (int i = 0; i < N * 2; i++)
		y[i] = bytes[i] = (uint8_t)(256 * test_uniform(&seed));
	struct sl_points flat = {.n = N, .d = 2, .n_user = N, .type = SL_POINTS_U8, .value = bytes};
	double trust;
	uint32_t used;
	assert_int_equal(sl_quality_trust(&flat, SL_EUCLIDEAN, 2, 2, y, 5, 0, &trust, &used, NULL), 0);
	assert_true(trust == 1);
	double largest;  /* distances by the 16th power are nearly those by the largest difference */
	assert_int_equal(sl_quality_trust(&flat, SL_LP, 16, 2, y, 5, 0, &trust, &used, NULL), 0);
	assert_int_equal(sl_quality_trust(&flat, SL_LINF, 2, 2, y, 5, 0, &largest, &used, NULL), 0);
	assert_true(fabs(trust - largest) < 0.01);
	struct sl_error err;
	assert_int_equal(sl_quality_trust(&flat, SL_EUCLIDEAN, 2, 2, y, 0, 0, &trust, &used, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/k");
}

static void test_silhouette(void **state)
{
	enum { N = 400, LABELS = 6, UNLABELLED = 37 };
	uint64_t seed = fresh_seed();
	float y[N * 3];
	uint32_t label[N], used;
	double got;
	for (int dims = 1; dims <= 3; dims++) {
		for (int i = 0; i < N; i++) {
			label[i] = i ? (uint32_t)(4 * test_uniform(&seed)) : 4;  /* one node; no node has the last label */
			for (int k = 0; k < dims; k++)
				y[i * dims + k] = (float)(test_uniform(&seed) + 0.3 * label[i]);
			label[i] = i % 10 == 9 && i / 10 < UNLABELLED ? UINT32_MAX : label[i];
		}
		double all = 0;
		for (uint32_t i = 1; i < N; i++) {
			double sum[LABELS + 1] = {0}, count[LABELS + 1] = {0}, a, b = INFINITY;
			for (uint32_t j = 0; j < N; j++) {
				sum[label[j] < LABELS ? label[j] : LABELS] += sqrt(square(y, dims, i, j));
				count[label[j] < LABELS ? label[j] : LABELS]++;
			}
			if (label[i] >= LABELS)
				continue;
			a = sum[label[i]] / (count[label[i]] - 1);
			for (uint32_t l = 0; l < LABELS; l++)
				if (l != label[i] && count[l] > 0)
					b = fmin(b, sum[l] / count[l]);
			all += (b - a) / fmax(a, b);
		}
		assert_int_equal(sl_quality_silhouette(N, dims, y, label, LABELS, 0, &got, &used, NULL), 0);
		assert_int_equal(used, N - UNLABELLED);
		assert_true(fabs(got - all / (N - UNLABELLED)) < 1e-5);
		for (int power = -83; power <= 83; power += 166) {  /* another unit */
			float other[N * 3];
			for (int i = 0; i < N * dims; i++)
				other[i] = ldexpf(y[i], power);
			assert_int_equal(sl_quality_silhouette(N, dims, other, label, LABELS, 0, &got, &used, NULL), 0);
			assert_true(fabs(got - all / (N - UNLABELLED)) < 1e-5);
		}
	}
	memset(label, 0, sizeof label);
	assert_int_equal(sl_quality_silhouette(N, 3, y, label, LABELS, 0, &got, &used, NULL), 0);
	assert_true(isnan(got) && used == 0);
}

/* Everything at once, with rows that were dropped. */
static void test_measure(void **state)
{
	enum { N = 300, D = 5, DROPPED = 7 };
	uint64_t seed = fresh_seed();
	static float x[N * D], user[(N + DROPPED) * 2], y[N * 2];
	uint32_t which[N], label[N + DROPPED];
	for (uint32_t i = 0; i < N; i++)
		which[i] = i + i * DROPPED / N;
	for (int i = 0; i < N * D; i++)
		x[i] = (float)test_uniform(&seed);
	for (uint32_t i = 0; i < (N + DROPPED) * 2; i++)
		user[i] = (float)(9 * test_uniform(&seed));
	for (uint32_t i = 0; i < N + DROPPED; i++)
		label[i] = i % 3;
	for (uint32_t i = 0; i < N; i++)
		memcpy(y + 2 * i, user + 2 * which[i], 2 * sizeof *y);
	struct sl_points points = {.n = N, .d = D, .n_user = N + DROPPED, .value = x, .user = which};
	struct sl_neighbours_params np = {.k = 15, .metric = SL_EUCLIDEAN, .recall = 1};
	struct sl_neighbours *nb;
	struct sl_affinities *a;
	struct sl_error err;
	assert_int_equal(sl_neighbours_find(&nb, &points, &np, NULL), 0);
	assert_int_equal(sl_affinities_from_neighbours(
				 &a, nb, &(struct sl_affinities_params){.perplexity = {5}, .perplexities = 1}, NULL), 0);
	struct sl_quality_input in = {
		.dims = 2, .y = user, .n_user = N + DROPPED, .a = a, .neighbours = nb, .points = &points,
		.metric = SL_EUCLIDEAN, .label = label, .labels = 3, .k = 6,
	};
	struct sl_quality q, less;
	assert_int_equal(sl_quality_measure(&in, &q, &err), 0);
	double found = 0;
	for (uint32_t i = 0; i < N; i++)
		for (int u = 0; u < 6; u++)
			found += among_nearest(y, N, 2, i, nb->index[i * nb->k + (uint32_t)u], 6);
	assert_true(fabs(q.recall - found / N / 6) < 1e-9 && q.recall_queries == N);
	assert_true(fabs(q.trustworthiness - naive_trust(x, N, D, SL_EUCLIDEAN, y, 6, NULL)) < 1e-3);
	assert_true(q.kl > 0 && q.kl_error == 0 && isfinite(q.silhouette));
	in.points = NULL;
	in.label = NULL;
	assert_int_equal(sl_quality_measure(&in, &less, &err), 0);
	assert_true(less.kl == q.kl && isnan(less.trustworthiness) && isnan(less.silhouette));
	in.n_user = N;
	assert_int_equal(sl_quality_measure(&in, &less, &err), SL_BADPARAM);
	assert_non_null(strstr(err.detail, "both must have the same number"));
	sl_affinities_destroy(a);
	sl_neighbours_destroy(nb);
}

static void test_threads_do_not_matter(void **state)
{
	int before = omp_get_max_threads();
	struct sl_affinities *a = test_affinities(test_lightest() ? 5000 : 12000);
	float *y = layout(a, 2, 40), *user = calloc(a->n_user * 2, sizeof *user);
	uint32_t *label = calloc(a->n_user, sizeof *label);
	for (uint32_t i = 0; i < a->n; i++)
		memcpy(user + 2 * (size_t)a->user[i], y + 2 * (size_t)i, 2 * sizeof *y);
	for (uint32_t i = 0; i < a->n_user; i++)
		label[i] = i % 4;
	struct sl_quality_input in = {.dims = 2, .y = user, .n_user = a->n_user, .a = a, .label = label, .labels = 4};
	struct sl_quality first, q;
	double kl[3], z[3], error[3];
	for (int threads = 1; threads <= 3; threads++) {
		if (threads > 1 && test_leaves_out((uint64_t)threads, 1, 2))
			continue;
		memset(&q, 0, sizeof q);
		omp_set_num_threads(threads);
		assert_int_equal(sl_quality_measure(&in, threads == 1 ? &first : &q, NULL), 0);
		assert_int_equal(sl_quality_divergence(a, 2, 1, y, 300, &kl[threads - 1], &z[threads - 1],
						       &error[threads - 1], NULL), 0);
		assert_true(threads == 1 || (q.kl == first.kl && q.z == first.z && q.recall == first.recall &&
					     q.silhouette == first.silhouette));
		assert_true(kl[threads - 1] == kl[0] && error[threads - 1] == error[0]);
	}
	omp_set_num_threads(before);
	free(y);
	free(user);
	free(label);
	sl_affinities_destroy(a);
}

static void test_bad_input(void **state)
{
	struct sl_affinities *a = test_affinities(100);
	float *y = layout(a, 2, 1);
	double kl, z, recall;
	uint32_t used;
	struct sl_error err;
	assert_int_equal(sl_quality_kl(a, 4, y, &kl, &z, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/dims");
	assert_int_equal(sl_quality_recall(a, 2, y, 0, 0, &recall, &used, &err), SL_BADPARAM);
	y[7] = NAN;
	assert_int_equal(sl_quality_kl(a, 2, y, &kl, &z, &err), SL_BADPARAM);
	free(y);
	sl_affinities_destroy(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kl),
		cmocka_unit_test(test_recall),
		cmocka_unit_test(test_perfect_recall),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_tree_of_one_place),
		cmocka_unit_test(test_sampled_kl),
		cmocka_unit_test(test_heavy_tails),
		cmocka_unit_test(test_trustworthiness),
		cmocka_unit_test(test_silhouette),
		cmocka_unit_test(test_measure),
		cmocka_unit_test(test_threads_do_not_matter),
		cmocka_unit_test(test_bad_input),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
