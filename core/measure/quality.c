/* Z by blocks of rows against blocks of columns that stay in the nearest cache; only j > i, the
 * sum is symmetric. KL = sum p log p + sum p log(1 + d^2) + log Z sum p.
 *
 * Partial sums are kept per row and added in row order: which thread computed a row does not
 * show in the result. */
#include "core/measure/quality.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#if defined __x86_64__ && defined __GNUC__ && !defined __clang__ && !defined __SANITIZE_THREAD__ && \
	!defined __SANITIZE_ADDRESS__
#define VECTOR __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"), optimize("O3")))
#else
#define VECTOR
#endif

#define COLUMNS 2048         /* of a block: 48 KiB in 3-D double */
#define DISTANCES 2500000000.0

static int check(const struct sl_affinities *a, int dims, const float *y, struct sl_error *err)
{
	if (dims < 1 || dims > 3)
		return sl_error_field(err, SL_BADPARAM, "/dims", "dims is %d; it must be 1, 2 or 3.", dims);
	for (uint64_t i = 0; i < (uint64_t)a->n * (uint64_t)dims; i++)
		if (!isfinite(y[i]))
			return sl_error_set(err, SL_BADPARAM,
					    "Coordinate %d of node %u is not finite; its quality cannot be measured.",
					    (int)(i % (uint64_t)dims), a->user[i / (uint64_t)dims]);
	return 0;
}

/* sum over j of 1 / (1 + |c - y_j|^2) for count points, coordinates by axis */
VECTOR static double sum_kernel(const double *const x[3], uint32_t from, uint32_t to, const double c[3], int dims)
{
	const double *restrict x0 = x[0], *restrict x1 = x[1], *restrict x2 = x[2];
	double sum = 0, c0 = c[0], c1 = c[1], c2 = c[2];
	if (dims == 1) {
#pragma omp simd reduction(+ : sum)
		for (uint32_t j = from; j < to; j++)
			sum += 1 / (1 + (x0[j] - c0) * (x0[j] - c0));
	} else if (dims == 2) {
#pragma omp simd reduction(+ : sum)
		for (uint32_t j = from; j < to; j++)
			sum += 1 / (1 + (x0[j] - c0) * (x0[j] - c0) + (x1[j] - c1) * (x1[j] - c1));
	} else {
#pragma omp simd reduction(+ : sum)
		for (uint32_t j = from; j < to; j++)
			sum += 1 / (1 + (x0[j] - c0) * (x0[j] - c0) + (x1[j] - c1) * (x1[j] - c1) +
				    (x2[j] - c2) * (x2[j] - c2));
	}
	return sum;
}

/* row[i] += sum over j > i of the kernel; rows in blocks, so that columns are reused */
static void sum_pairs(const double *const x[3], uint32_t n, int dims, double *row)
{
	const uint32_t rows = 256;
#pragma omp parallel for schedule(dynamic, 1)
	for (uint32_t b = 0; b < (n + rows - 1) / rows; b++) {
		uint32_t first = b * rows, last = n - first < rows ? n : first + rows;
		for (uint32_t from = first; from < n; from += COLUMNS) {
			uint32_t to = n - from < COLUMNS ? n : from + COLUMNS;
			for (uint32_t i = first; i < last; i++) {
				double c[3] = {x[0][i], dims > 1 ? x[1][i] : 0, dims > 2 ? x[2][i] : 0};
				uint32_t begin = i + 1 > from ? i + 1 : from;
				if (begin < to)
					row[i] += sum_kernel(x, begin, to, c, dims);
			}
		}
	}
}

int sl_quality_kl(const struct sl_affinities *a, int dims, const float *y, double *kl, double *z,
		  struct sl_error *err)
{
	int rc = check(a, dims, y, err);
	if (rc)
		return rc;
	size_t n = a->n;
	double *buffer = malloc(((size_t)dims * n + 1) * sizeof *buffer), *row = calloc(n + 1, sizeof *row);
	const double *x[3] = {buffer, buffer, buffer};
	if (!buffer || !row) {
		free(buffer);
		free(row);
		return sl_error_set(err, SL_NOMEM, "Not enough memory to measure a layout of %u nodes.", a->n);
	}
	for (int d = 0; d < dims; d++) {
		x[d] = buffer + (size_t)d * n;
		for (size_t i = 0; i < n; i++)
			buffer[(size_t)d * n + i] = y[i * (size_t)dims + (size_t)d];
	}
	sum_pairs(x, a->n, dims, row);
	double half = 0, sum = 0, attraction = 0;
	for (size_t i = 0; i < n; i++)
		half += row[i];
	*z = 2 * half;
#pragma omp parallel for schedule(dynamic, 256)
	for (uint32_t i = 0; i < a->n; i++) {
		double s = 0;
		for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++) {
			double square = 0;
			for (int d = 0; d < dims; d++) {
				double v = x[d][i] - x[d][a->node[e]];
				square += v * v;
			}
			s += a->p[e] * log1p(square);
		}
		row[i] = s;
	}
	for (size_t i = 0; i < n; i++)
		attraction += row[i];
	for (uint64_t e = 0; e < a->m; e++)
		sum += a->p[e];
	*kl = a->m ? a->entropy + attraction + sum * log(*z) : 0;
	free(buffer);
	free(row);
	return 0;
}

/* ---- recall --------------------------------------------------------------- */

/* The best k of a stream, best first: small keys are better, and of equal keys small numbers. */
struct best {
	int k, room;
	float key[SL_QUALITY_MOST];
	uint32_t node[SL_QUALITY_MOST];
};

static inline void offer(struct best *b, float key, uint32_t node)
{
	if (b->k == b->room && !(key < b->key[b->k - 1] || (key == b->key[b->k - 1] && node < b->node[b->k - 1])))
		return;
	int at = b->k < b->room ? b->k++ : b->k - 1;
	for (; at && (key < b->key[at - 1] || (key == b->key[at - 1] && node < b->node[at - 1])); at--) {
		b->key[at] = b->key[at - 1];
		b->node[at] = b->node[at - 1];
	}
	b->key[at] = key;
	b->node[at] = node;
}

VECTOR static void squared_distances(const float *const x[3], uint32_t from, uint32_t count, const float c[3],
				     int dims, float *restrict out)
{
	const float *restrict x0 = x[0] + from, *restrict x1 = x[1] + from, *restrict x2 = x[2] + from;
	float c0 = c[0], c1 = c[1], c2 = c[2];
	if (dims == 1) {
		for (uint32_t j = 0; j < count; j++)
			out[j] = (x0[j] - c0) * (x0[j] - c0);
	} else if (dims == 2) {
		for (uint32_t j = 0; j < count; j++)
			out[j] = (x0[j] - c0) * (x0[j] - c0) + (x1[j] - c1) * (x1[j] - c1);
	} else {
		for (uint32_t j = 0; j < count; j++)
			out[j] = (x0[j] - c0) * (x0[j] - c0) + (x1[j] - c1) * (x1[j] - c1) + (x2[j] - c2) * (x2[j] - c2);
	}
}

static void find_nearest(const float *const x[3], uint32_t n, uint32_t i, int dims, struct best *near)
{
	enum { BLOCK = 1024, STEP = 64 };
	float distance[BLOCK], c[3] = {x[0][i], dims > 1 ? x[1][i] : 0, dims > 2 ? x[2][i] : 0};
	for (uint32_t from = 0; from < n; from += BLOCK) {
		uint32_t count = n - from < BLOCK ? n - from : BLOCK;
		squared_distances(x, from, count, c, dims, distance);
		for (uint32_t s = 0; s < count; s += STEP) {
			uint32_t end = count - s < STEP ? count : s + STEP;
			float worst = near->k == near->room ? near->key[near->k - 1] : INFINITY;
			bool any = false;
			for (uint32_t j = s; j < end; j++)
				any |= distance[j] <= worst;
			for (uint32_t j = s; any && j < end; j++)
				if (from + j != i)
					offer(near, distance[j], from + j);
		}
	}
}

/* Share of node i's strongest neighbours that are among as many nearest ones. */
static double recall_of(const struct sl_affinities *a, const float *const x[3], int dims, int k, uint32_t i)
{
	struct best strong = {.room = k}, near;
	for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++)
		offer(&strong, -a->p[e], a->node[e]);
	near.k = 0;
	near.room = strong.k;
	if (!strong.k)
		return 1;
	find_nearest(x, a->n, i, dims, &near);
	int found = 0;
	for (int u = 0; u < strong.k; u++)
		for (int v = 0; v < near.k; v++)
			found += strong.node[u] == near.node[v];
	return (double)found / strong.k;
}

int sl_quality_recall(const struct sl_affinities *a, int dims, const float *y, int k, uint32_t queries,
		      double *recall, uint32_t *used, struct sl_error *err)
{
	int rc = check(a, dims, y, err);
	if (rc)
		return rc;
	if (k < 1 || k > SL_QUALITY_MOST)
		return sl_error_field(err, SL_BADPARAM, "/k", "k is %d; it must be from 1 to %d.", k, SL_QUALITY_MOST);
	size_t n = a->n;
	*recall = 1;
	*used = 0;
	if (!n)
		return 0;
	if (!queries)
		queries = (uint32_t)fmin(fmax(DISTANCES / (double)n, 1), (double)n);
	queries = queries < a->n ? queries : a->n;
	float *buffer = malloc((size_t)dims * n * sizeof *buffer);
	double *share = malloc(queries * sizeof *share);
	const float *x[3] = {buffer, buffer, buffer};
	if (!buffer || !share) {
		free(buffer);
		free(share);
		return sl_error_set(err, SL_NOMEM, "Not enough memory to measure a layout of %u nodes.", a->n);
	}
	for (int d = 0; d < dims; d++) {
		x[d] = buffer + (size_t)d * n;
		for (size_t i = 0; i < n; i++)
			buffer[(size_t)d * n + i] = y[i * (size_t)dims + (size_t)d];
	}
#pragma omp parallel for schedule(dynamic, 16)
	for (uint32_t q = 0; q < queries; q++)
		share[q] = recall_of(a, x, dims, k, (uint32_t)((uint64_t)q * a->n / queries));
	double sum = 0;
	for (uint32_t q = 0; q < queries; q++)
		sum += share[q];
	*recall = sum / queries;
	*used = queries;
	free(buffer);
	free(share);
	return 0;
}

int sl_quality_measure(const struct sl_affinities *a, int dims, const float *y, struct sl_quality *out,
		       struct sl_error *err)
{
	int rc = sl_quality_kl(a, dims, y, &out->kl, &out->z, err);
	return rc ? rc : sl_quality_recall(a, dims, y, 10, 0, &out->recall, &out->queries, err);
}
