/* Trustworthiness. Computes the distances of a group of queries to all points, a block of rows at a time, so that rows
 * are read (and bytes converted to floats) once per group. Then counts, for each neighbour in the layout, the points
 * that are nearer in the input. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/exponentials.h"
#include "core/measure/quality.h"
#include "core/measure/quality_internal.h"
#include "core/measure/tree.h"
#include "core/vector.h"

#define GROUP 8           /* queries */
#define ROWS 64
#define OPERATIONS 2e10
#define LP_COST 20        /* of a power, in operations */

/* A row x counts as (x - mean) * factor, in cosine distances and correlations a row of length 1. There the key is the
 * square of a distance, 2 (1 - cos), which needs one pass over two rows and has no sums that cancel. */
struct space {
	const struct sl_points *points;
	uint32_t n, d;
	int metric;
	double p, scale;
	double *mean, *factor;    /* [n], factor 0: a row without direction; NULL: 0 and scale */
};

/* Scratch memory of a thread. */
struct room {
	uint32_t node[GROUP];
	float *query, *rows;      /* [GROUP][d], [ROWS][d] */
	float *key;               /* [GROUP][n] a monotonic function of the distance */
};

VECTOR static float squares(uint32_t d, const float *restrict a, const float *restrict b)
{
	float sum = 0;
#pragma omp simd reduction(+ : sum)
	for (uint32_t k = 0; k < d; k++)
		sum += (a[k] - b[k]) * (a[k] - b[k]);
	return sum;
}

VECTOR static float product(uint32_t d, const float *restrict a, const float *restrict b)
{
	float sum = 0;
#pragma omp simd reduction(+ : sum)
	for (uint32_t k = 0; k < d; k++)
		sum += a[k] * b[k];
	return sum;
}

VECTOR static float differences(uint32_t d, const float *restrict a, const float *restrict b)
{
	float sum = 0;
#pragma omp simd reduction(+ : sum)
	for (uint32_t k = 0; k < d; k++)
		sum += fabsf(a[k] - b[k]);
	return sum;
}

VECTOR static float largest(uint32_t d, const float *restrict a, const float *restrict b)
{
	float most = 0;
#pragma omp simd reduction(max : most)
	for (uint32_t k = 0; k < d; k++) {
		float x = fabsf(a[k] - b[k]);
		most = x > most ? x : most;
	}
	return most;
}

/* The p-th root of the sum: single precision has room for no 16th power. */
VECTOR_MATH static float powers(uint32_t d, double p, const float *restrict a, const float *restrict b)
{
	double sum = 0;
#pragma omp simd reduction(+ : sum)
	for (uint32_t k = 0; k < d; k++)
		sum += sl__exp_of(p * sl__log_of(fabs((double)a[k] - (double)b[k])));  /* of 0: below 1e-307 */
	return (float)pow(sum, 1 / p);
}

VECTOR static float differing(uint32_t d, const float *restrict a, const float *restrict b)
{
	uint32_t count = 0;
#pragma omp simd reduction(+ : count)
	for (uint32_t k = 0; k < d; k++)
		count += a[k] != b[k];
	return (float)count;
}

VECTOR static float jaccard(uint32_t d, const float *restrict a, const float *restrict b)
{
	uint32_t one = 0, either = 0;
#pragma omp simd reduction(+ : one, either)
	for (uint32_t k = 0; k < d; k++) {
		one += (a[k] != 0) != (b[k] != 0);
		either += (a[k] != 0) | (b[k] != 0);
	}
	return either ? (float)one / (float)either : 0;
}

static float key_of(const struct space *s, const float *a, const float *b)
{
	switch (s->metric) {
	case SL_HAMMING: return differing(s->d, a, b);
	case SL_JACCARD: return jaccard(s->d, a, b);
	case SL_INNER_PRODUCT: return -product(s->d, a, b);
	case SL_L1: return differences(s->d, a, b);
	case SL_LP: return powers(s->d, s->p, a, b);
	case SL_LINF: return largest(s->d, a, b);
	default: return squares(s->d, a, b);
	}
}

VECTOR static void move_row(uint32_t d, double mean, double factor, float *row)
{
#pragma omp simd
	for (uint32_t k = 0; k < d; k++)
		row[k] = (float)(((double)row[k] - mean) * factor);
}

static void take_rows(const struct space *s, uint32_t from, uint32_t count, float *out)
{
	sl_points_rows(s->points, from, count, out);
	for (uint32_t i = 0; i < count && (s->factor || s->scale != 1); i++)
		move_row(s->d, s->factor ? s->mean[from + i] : 0, s->factor ? s->factor[from + i] : s->scale,
			 out + (size_t)i * s->d);
}

/* Rows without direction have distance 1 from all others. */
static float key_between(const struct space *s, const struct room *r, uint32_t q, uint32_t from, uint32_t i)
{
	if (s->factor && (s->factor[r->node[q]] == 0 || s->factor[from + i] == 0))
		return 2;
	return key_of(s, r->query + (size_t)q * s->d, r->rows + (size_t)i * s->d);
}

static void distances(const struct space *s, struct room *r, uint32_t count)
{
	for (uint32_t from = 0; from < s->n; from += ROWS) {
		uint32_t rows = s->n - from < ROWS ? s->n - from : ROWS;
		take_rows(s, from, rows, r->rows);
		for (uint32_t q = 0; q < count; q++)
			for (uint32_t i = 0; i < rows; i++)
				r->key[(size_t)q * s->n + from + i] = key_between(s, r, q, from, i);
	}
}

/* Sets mean and factor of a row. */
static void set_direction(const struct space *s, uint32_t i, const float *row)
{
	double mean = 0, square = 0;
	bool same = true;
	for (uint32_t k = 0; k < s->d; k++) {
		mean += s->metric == SL_CORRELATION ? (double)row[k] : 0;
		same = same && row[k] == row[0];
	}
	mean /= s->d;
	for (uint32_t k = 0; k < s->d; k++)
		square += ((double)row[k] - mean) * ((double)row[k] - mean);
	s->mean[i] = mean;
	s->factor[i] = square > 0 && !(same && s->metric == SL_CORRELATION) ? 1 / sqrt(square) : 0;
}

static int set_directions(struct space *s)
{
	int failed = 0;
	double *mean = malloc(sizeof *mean * s->n), *factor = malloc(sizeof *factor * s->n);
	s->mean = mean;
	s->factor = factor;
	if (!mean || !factor)
		return SL_NOMEM;
#pragma omp parallel reduction(| : failed)
	{
		float *row = malloc(sizeof *row * (size_t)s->d);
		failed = !row;
#pragma omp for schedule(static)
		for (uint32_t i = 0; i < s->n; i++) {
			if (failed)
				continue;
			sl_points_rows(s->points, i, 1, row);
			set_direction(s, i, row);
		}
		free(row);
	}
	return failed ? SL_NOMEM : 0;
}

/* The rank of j by distance from i; 1: the nearest. */
VECTOR static uint32_t rank_of(const float *restrict key, uint32_t n, uint32_t i, uint32_t j)
{
	float key_j = key[j];
	uint32_t nearer = 0;
#pragma omp simd reduction(+ : nearer)
	for (uint32_t l = 0; l < n; l++)
		nearer += key[l] < key_j;
	for (uint32_t l = 0; l < j; l++)
		nearer += key[l] == key_j && l != i;
	return nearer - (key[i] < key_j) + 1;
}

/* Sum of (rank - k) over the neighbours in the layout that are not neighbours in the input. */
static double penalty(const struct space *s, const float *key, const struct sl_tree *tree, const float *y, int dims,
		      uint32_t k, uint32_t i)
{
	uint32_t neighbour[SL_QUALITY_MOST];
	uint32_t count = sl_tree_nearest(tree, y + (size_t)i * (size_t)dims, i, k, neighbour, NULL);
	double sum = 0;
	for (uint32_t u = 0; u < count; u++) {
		uint32_t rank = rank_of(key, s->n, i, neighbour[u]);
		sum += rank > k ? rank - k : 0;
	}
	return sum;
}

static int room_init(struct room *r, const struct space *s)
{
	r->query = malloc(sizeof(float) * GROUP * (size_t)s->d);
	r->rows = malloc(sizeof(float) * ROWS * (size_t)s->d);
	r->key = malloc(sizeof(float) * GROUP * (size_t)s->n);
	return r->query && r->rows && r->key ? 0 : SL_NOMEM;
}

static void room_finish(struct room *r)
{
	free(r->query);
	free(r->rows);
	free(r->key);
}

static int all_penalties(const struct space *s, const struct sl_tree *tree, const float *y, int dims, uint32_t k,
			 uint32_t queries, double *sum)
{
	int failed = 0;
#pragma omp parallel reduction(| : failed)
	{
		struct room r = {0};
		failed = room_init(&r, s) != 0;
#pragma omp for schedule(dynamic, 1)
		for (uint32_t first = 0; first < queries; first += GROUP) {
			uint32_t count = queries - first < GROUP ? queries - first : GROUP;
			if (failed)
				continue;
			for (uint32_t q = 0; q < count; q++) {
				r.node[q] = sl__quality_query(first + q, queries, s->n);
				take_rows(s, r.node[q], 1, r.query + (size_t)q * s->d);
			}
			distances(s, &r, count);
			for (uint32_t q = 0; q < count; q++)
				sum[first + q] = penalty(s, r.key + (size_t)q * s->n, tree, y, dims, k, r.node[q]);
		}
		room_finish(&r);
	}
	return failed ? SL_NOMEM : 0;
}

int sl_quality_trust_k(uint32_t n, int k)
{
	uint32_t most = n ? (n - 1) / 2 : 0;
	return k > 0 && (uint32_t)k > most ? (int)most : k;
}

static int measure_trust(const struct sl_points *points, int metric, double p, int dims, const float *y, int k,
			 uint32_t queries, double *trust, uint32_t *used, struct sl_error *err)
{
	struct space s = {.points = points, .n = points->n, .d = points->d, .metric = metric, .p = p, .scale = 1};
	struct sl_tree *tree = NULL;
	double *sum = NULL, n = s.n;
	int rc = sl__quality_check(s.n, points->user, dims, y, err);
	if (rc)
		return rc;
	if (k < 1 || k > SL_QUALITY_MOST)
		return sl_error_field(err, SL_BADPARAM, "/k", "k must be from 1 to %d, not %d.", SL_QUALITY_MOST, k);
	*trust = 1;
	*used = 0;
	if (s.n < 4)  /* all points are neighbours */
		return 0;
	k = sl_quality_trust_k(s.n, k);
	if (!queries)
		queries = (uint32_t)fmin(fmax(OPERATIONS / (n * (s.d * (metric == SL_LP ? LP_COST : 1.0) + 2.0 * k)), 64), n);
	queries = queries < s.n ? queries : s.n;
	if (points->type == SL_POINTS_F32 && metric != SL_HAMMING && metric != SL_JACCARD)
		s.scale = sl_square_scale(points->value, (size_t)s.n * s.d);
	sum = malloc(sizeof *sum * queries);
	rc = sum ? 0 : SL_NOMEM;
	if (!rc && SL_DISTANCE_OF_DIRECTIONS(metric))
		rc = set_directions(&s);
	if (!rc)
		rc = sl_tree_create(&tree, s.n, dims, y, err);
	if (!rc)
		rc = all_penalties(&s, tree, y, dims, (uint32_t)k, queries, sum);
	if (rc) {
		rc = sl_error_set(err, rc, SL_NO_MEMORY "measuring a layout of %u points.", s.n);
		goto out;
	}
	double all = 0;
	for (uint32_t q = 0; q < queries; q++)
		all += sum[q];
	*trust = 1 - 2 / (queries * (double)k * (2 * n - 3 * k - 1)) * all;
	*used = queries;
out:
	sl_tree_destroy(tree);
	free(s.mean);
	free(s.factor);
	free(sum);
	return rc;
}

int sl_quality_trust(const struct sl_points *points, int metric, double p, int dims, const float *y, int k,
		     uint32_t queries, double *trust, uint32_t *used, struct sl_error *err)
{
	const struct sl_points *view;
	int rc = sl_distance_points(&view, points, metric, err);
	if (rc)
		return rc;
	rc = measure_trust(view, metric, p, dims, y, k, queries, trust, used, err);
	sl_points_uncentred_end(view, points);
	return rc;
}
