/* The silhouette of labels. Nodes are sorted by label, so that the sum over a label is one loop. */
#include <math.h>
#include <stdlib.h>

#include "core/measure/quality.h"
#include "core/measure/quality_internal.h"
#include "core/vector.h"

#define DISTANCES 1e9

/* Sum of the distances to nodes from..to. */
VECTOR static double sum_distances(int dims, const float *const x[3], const float c[3], uint32_t from, uint32_t to)
{
	const float *restrict x0 = x[0], *restrict x1 = x[1], *restrict x2 = x[2];
	float c0 = c[0], c1 = c[1], c2 = c[2];
	double all = 0;
	for (uint32_t block = from; block < to; block += 1024) {
		uint32_t end = to - block < 1024 ? to : block + 1024;
		float sum = 0;
		if (dims == 1) {
#pragma omp simd reduction(+ : sum)
			for (uint32_t j = block; j < end; j++)
				sum += fabsf(x0[j] - c0);
		} else if (dims == 2) {
#pragma omp simd reduction(+ : sum)
			for (uint32_t j = block; j < end; j++)
				sum += sqrtf((x0[j] - c0) * (x0[j] - c0) + (x1[j] - c1) * (x1[j] - c1));
		} else {
#pragma omp simd reduction(+ : sum)
			for (uint32_t j = block; j < end; j++)
				sum += sqrtf((x0[j] - c0) * (x0[j] - c0) + (x1[j] - c1) * (x1[j] - c1) +
					     (x2[j] - c2) * (x2[j] - c2));
		}
		all += (double)sum;
	}
	return all;
}

struct sorted {
	int dims;
	const float *x[3];     /* [n] each, by label */
	uint32_t *start;       /* [labels + 1] */
	uint32_t labels;
};

static double width(const struct sorted *s, uint32_t i, uint32_t own_label)
{
	uint32_t count = s->start[own_label + 1] - s->start[own_label];
	float c[3] = {s->x[0][i], s->dims > 1 ? s->x[1][i] : 0, s->dims > 2 ? s->x[2][i] : 0};
	double a = 0, b = INFINITY;
	if (count < 2)
		return 0;
	for (uint32_t l = 0; l < s->labels; l++) {
		uint32_t from = s->start[l], to = s->start[l + 1];
		double sum = from < to ? sum_distances(s->dims, s->x, c, from, to) : 0;
		if (l == own_label)
			a = sum / (count - 1);
		else if (from < to)
			b = fmin(b, sum / (to - from));
	}
	return a > 0 || b > 0 ? (b - a) / fmax(a, b) : 0;
}

/* Sorts nodes by label, without those that have none: fills x [dims][n], scaled, by_place and s->start. Returns the
 * number of labels that have nodes. */
static uint32_t sort(struct sorted *s, uint32_t n, const float *y, const uint32_t *label, float *x, uint32_t *by_place)
{
	uint32_t used = 0;
	double scale = sl_square_scale(y, (size_t)n * (size_t)s->dims);
	for (uint32_t i = 0; i < n; i++)
		if (label[i] < s->labels)
			s->start[label[i] + 1]++;
	for (uint32_t l = 0; l < s->labels; l++) {
		used += s->start[l + 1] > 0;
		s->start[l + 1] += s->start[l];
	}
	for (uint32_t i = 0; i < n; i++) {
		if (label[i] >= s->labels)
			continue;
		uint32_t at = s->start[label[i]]++;
		by_place[at] = label[i];
		for (int k = 0; k < s->dims; k++)
			x[(size_t)k * n + at] = (float)((double)y[i * (size_t)s->dims + (size_t)k] * scale);
	}
	for (uint32_t l = s->labels; l > 0; l--)
		s->start[l] = s->start[l - 1];
	s->start[0] = 0;
	return used;
}

int sl_quality_silhouette(uint32_t n, int dims, const float *y, const uint32_t *label, uint32_t labels,
			  uint32_t queries, double *silhouette, uint32_t *used, struct sl_error *err)
{
	int rc = sl__quality_check(n, NULL, dims, y, err);
	*silhouette = NAN;
	*used = 0;
	if (rc)
		return rc;
	float *x = malloc(sizeof *x * (size_t)dims * n + 1);
	uint32_t *by_place = malloc(sizeof *by_place * n + 1);
	double *share = malloc(sizeof *share * n + 1);
	struct sorted s = {.dims = dims, .labels = labels, .start = calloc((size_t)labels + 1, sizeof *s.start)};
	if (!x || !by_place || !share || !s.start) {
		rc = sl_error_memory(err, "measuring a layout of %u nodes", n);
		goto out;
	}
	for (int k = 0; k < dims; k++)
		s.x[k] = x + (size_t)k * n;
	if (sort(&s, n, y, label, x, by_place) < 2)
		goto out;
	uint32_t labelled = s.start[labels];
	if (!queries)
		queries = (uint32_t)fmin(fmax(DISTANCES / ((double)labelled + 8.0 * labels), 64), labelled);
	queries = queries < labelled ? queries : labelled;
#pragma omp parallel for schedule(dynamic, 8)
	for (uint32_t q = 0; q < queries; q++) {
		uint32_t i = sl__quality_query(q, queries, labelled);
		share[q] = width(&s, i, by_place[i]);
	}
	double sum = 0;
	for (uint32_t q = 0; q < queries; q++)
		sum += share[q];
	*silhouette = sum / queries;
	*used = queries;
out:
	free(x);
	free(by_place);
	free(share);
	free(s.start);
	return rc;
}
