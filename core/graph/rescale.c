/* Finds each column's exponent, the root of F(gamma) = log sum_i p_i^gamma - log lambda. F is convex and falls from
 * log(k / lambda) at 0 to -log lambda at 1. So Newton's method from 0 stays left of the root and converges without
 * overshooting, in 3 to 5 evaluations; bisection would need 20. If rounding moves a step out of the bracket of the
 * root, bisection replaces it.
 *
 * All arithmetic is in double precision with logarithms of weights, so weights of 1e38 and 1e-38 in one column neither
 * overflow nor vanish. */
#include "core/graph/rescale.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/graph/vector_math.h"

#define TOLERANCE 1e-7  /* on the sum, relative to lambda */
#define MAX_STEPS 100

double sl__rescale_exponent(const double *l, uint64_t k, double lambda)
{
	if ((double)k <= lambda)
		return 0;
	double low = 0, high = 1, gamma = 0, sum = (double)k, slope = 0;
	for (uint64_t i = 0; i < k; i++)
		slope += l[i];
	for (int step = 0; step < MAX_STEPS; step++) {
		if (sum > lambda)
			low = gamma;
		else
			high = gamma;
		double next = gamma - log(sum / lambda) * sum / slope;
		gamma = next > low && next < high ? next : 0.5 * (low + high);
		sl__sum_exp(l, k, gamma, &sum, &slope);
		if (fabs(sum - lambda) <= TOLERANCE * lambda)
			break;
	}
	return gamma;
}

/* Writes the logarithms of the weights of column j to l, without left-out nodes; returns their number. */
static uint64_t read_column(const struct sl__half *columns, const uint8_t *left_out, uint32_t j, double *l)
{
	uint64_t from = columns->start[j], k = columns->start[j + 1] - from;
	if (!left_out) {
		sl__log_float(columns->weight + from, k, l);
		return k;
	}
	uint64_t kept = 0;
	for (uint64_t e = 0; e < k; e++)
		if (!left_out[columns->node[from + e]])
			l[kept++] = log(columns->weight[from + e]);
	return kept;
}

static uint64_t count_column(const struct sl__half *columns, const uint8_t *left_out, uint32_t j)
{
	uint64_t from = columns->start[j], to = columns->start[j + 1], kept = 0;
	if (!left_out)
		return to - from;
	for (uint64_t e = from; e < to; e++)
		kept += !left_out[columns->node[e]];
	return kept;
}

/* l: scratch for the column's logarithms, unused without weights. Returns the column's number of entries. */
static uint64_t rescale_column(const struct sl__half *columns, const uint8_t *left_out, double lambda,
			       uint32_t j, double *l, struct sl__column *out)
{
	*out = (struct sl__column){0, 0};
	if (left_out && left_out[j])
		return 0;
	uint64_t k = columns->weight ? read_column(columns, left_out, j, l) : count_column(columns, left_out, j);
	if (!k)
		return 0;
	out->shift = log((double)k);
	if (!columns->weight || (lambda > 1 && (double)k <= lambda))
		return k;  /* equal weights for any gamma */

	double largest = l[0], sum, slope;
	for (uint64_t i = 1; i < k; i++)
		largest = l[i] > largest ? l[i] : largest;
	for (uint64_t i = 0; i < k; i++)
		l[i] -= largest;
	sl__sum_exp(l, k, 1, &sum, &slope);
	double norm = log(sum);
	out->gamma = 1;
	if (lambda > 1) {
		for (uint64_t i = 0; i < k; i++)
			l[i] -= norm;
		out->gamma = sl__rescale_exponent(l, k, lambda);
		sl__sum_exp(l, k, out->gamma, &sum, &slope);
		out->shift = log(sum) + out->gamma * (largest + norm);
	} else {
		out->shift = norm + largest;
	}
	return k;
}

int sl__rescale_columns(const struct sl__half *columns, const uint8_t *left_out, double lambda,
			struct sl__column *column, uint32_t *unreachable, uint32_t *filled)
{
	uint64_t longest = 0;
	for (uint32_t j = 0; j < columns->n; j++) {
		uint64_t k = columns->start[j + 1] - columns->start[j];
		longest = k > longest ? k : longest;
	}
	uint32_t missed = 0, used = 0;
	int failed = 0;
#pragma omp parallel reduction(+ : missed, used) reduction(| : failed)
	{
		double *l = columns->weight ? malloc((longest + 1) * sizeof *l) : NULL;
		failed = columns->weight && !l;
#pragma omp for schedule(dynamic, 256)
		for (uint32_t j = 0; j < columns->n; j++) {
			if (failed)
				continue;
			uint64_t k = rescale_column(columns, left_out, lambda, j, l, &column[j]);
			used += k > 0;
			missed += k > 0 && lambda > 1 && (double)k <= lambda;
		}
		free(l);
	}
	*unreachable += missed;
	*filled += used;
	return failed ? SL_NOMEM : 0;
}
